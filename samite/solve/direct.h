// Direct solvers of symmetric sparse systems, on the host: A = L D transpose(L), or L transpose(L), by Eigen.
//
//   DirectSolver solver(a);                       // finds an order of elimination, and factors
//   SolveReport report = solver.solve(b, x);
//   solver.factor(a);                             // after a's values have changed; the order is kept
//
// LLT is for positive definite matrices; LDLT also factors others in which no pivot is zero. There is no pivoting, so
// that an indefinite matrix may lose digits. The report's residual shows how many; a solve whose residual is above 1e-8
// |b| in f64, or 1e-3 |b| in f32, has not converged.
//
// It factors in f64, also for f32. Arrays of a GPU are copied to the host and back.
//
// On a tape the gradients of b and of the matrix's values take one more solve with the same factor, as for the
// iterative solvers (solver.h): each stored entry has its own gradient. One thread uses a solver at a time. Errors are
// UserErrors.
#pragma once

#include "samite/solve/solver.h"

#include <memory>

namespace samite::solvers {

enum class Factorisation { ldlt, llt };

class DirectSolver {
 public:
  // UserError for a matrix that is rectangular, not symmetric (naming an entry), not finite, singular or, for LLT, not
  // positive definite (naming the pivot and its row).
  explicit DirectSolver(const SparseMatrix &a, Factorisation kind = Factorisation::ldlt,
                        SourceLocation where = std::source_location::current());

  // Factors again. UserError for a matrix of another pattern, and as above.
  void factor(const SparseMatrix &a, SourceLocation where = std::source_location::current());

  // b and x are vectors like A's rows. UserError if the values of A were written since they were factored.
  SolveReport solve(const AnyBuffer &b, const AnyBuffer &x,
                    SourceLocation where = std::source_location::current()) const;

 private:
  struct Factor;
  void check_values(const AnyBuffer &b, const AnyBuffer &x, SourceLocation where) const;

  Factorisation kind_;
  SparseMatrix a_;
  std::uint64_t version_ = 0;       // version of the factored values
  std::shared_ptr<Factor> factor_;  // shared with tapes, and then replaced rather than changed
};

}  // namespace samite::solvers
