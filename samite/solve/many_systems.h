// Many sparse linear systems of one pattern, solved together.
//
//   // A_s x_s = b_s for all systems s: values are entries x systems, b and x rows x systems.
//   ManySolvesReport report = conjugate_gradients_of_many(a, values, b, x, {.tolerance = 1e-10});
//   if (!report.converged()) std::cout << report.to_string() << '\n';
//
// One instance of one launch solves a system, by conjugate gradients with the inverse of its diagonal as the
// preconditioner, and ends by itself: neighbouring instances read neighbouring numbers, and nothing waits for the host
// before all have ended. For systems of a few thousand rows at most, as many as a device has lanes or threads; larger
// ones are better solved one after another (solver.h).
//
// The matrices are symmetric and positive definite, of numbers, f32 or f64. x holds the initial guesses, and then the
// solutions. A system ends when the norm of b - A x, computed anew, is at most max(tolerance |b|, absolute_tolerance),
// after so many iterations, at a direction in which A is not positive definite, or at a number that is not finite.
//
// On a tape the gradients of b and of the values come from solving again, as in solver.h. `backward` refuses, with a
// UserError, systems that have not converged, in either direction. Errors are UserErrors.
#pragma once

#include "samite/solve/sparse_matrix.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace samite::solvers {

// By system.
struct ManySolvesReport {
  std::vector<double> residuals, targets;
  std::vector<std::int32_t> iterations;

  // Systems whose residual is above its target, or not finite.
  std::vector<std::int64_t> unsolved() const;
  bool converged() const { return unsolved().empty(); }
  // "127 of 128 systems converged; system 3 has a residual of 0.1, of at most 1e-6, after 1000 iterations"
  std::string to_string() const;
};

struct ManySolvesOptions {
  double tolerance = 1e-6;  // relative to the norm of b
  double absolute_tolerance = 0;
  std::int64_t iterations = 1000;                                 // at most
  std::function<void(const ManySolvesReport &)> on_adjoint = {};  // gets the report of the solve in `backward`
};

// `a` is for the pattern; its own values are not read. UserError for blocks, a rectangular matrix, arrays that do not
// fit, and options out of range.
ManySolvesReport conjugate_gradients_of_many(const SparseMatrix &a, const AnyBuffer &values, const AnyBuffer &b,
                                             const AnyBuffer &x, const ManySolvesOptions &options = {},
                                             SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
