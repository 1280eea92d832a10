// Implicit differentiation: the gradient of an x with F(x, p) = 0 with respect to p, however x was found.
//
//   tape.record([&] {
//     implicit([&](const AnyBuffer &x, const AnyBuffer &f) { balance.launch({n}, f, x, p); },
//              x, {p}, [&] { newton(x, p); });
//     loss_of.launch({n}, loss, x);
//   });
//   tape.backward(loss);                          // goes through x to p
//
// F is a function that launches kernels; its derivatives are those of the kernels, by a tape over one run of it. By the
// implicit function theorem dx / dp = -F_x^-1 F_p: `backward` solves transpose(F_x) l = x_gradient without forming F_x,
// by products with its transpose, and adds -transpose(F_p) l to the gradients of the parameters. `find` is not
// differentiated, and may run on the host. For
//
//   a root          F is what vanishes
//   a fixed point   F = g(x, p) - x
//   a minimiser     F is the gradient of the objective with respect to x, .symmetric
//
// The error of the gradient is that of x and of the solve. `backward` refuses, with a UserError, an x whose |F| is
// above the tolerance, and a solve that has not converged, as for a singular F_x.
#pragma once

#include "samite/solve/solver.h"

#include <functional>
#include <vector>

namespace samite::solvers {

struct ImplicitOptions {
  bool symmetric = false;                                    // F_x is symmetric: minres solves, else gmres
  double root_tolerance = 1e-6;                              // the largest norm of F that counts as zero
  double tolerance = 1e-10;                                  // of the solve in `backward`, relative
  std::int64_t iterations = 1000, restart = 30;              // of that solve
  std::function<void(const SolveReport &)> on_adjoint = {};  // gets the report of that solve
};

// Writes F at x into f, which is like x. It reads the parameters, and no other array that tracks a gradient.
using ImplicitFunction = std::function<void(const AnyBuffer &x, const AnyBuffer &f)>;

// Runs `find`, which writes x, unless it is empty; returns the norm of F. On a tape, x gets a gradient by
// `parameters`. UserError if x is not a vector of f32 or f64, and in `backward` for parameters overwritten since, as
// for a LinearOperator.
double implicit(const ImplicitFunction &f, const AnyBuffer &x, const std::vector<AnyBuffer> &parameters,
                const std::function<void()> &find = {}, const ImplicitOptions &options = {},
                SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
