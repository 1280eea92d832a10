// The Schur complement of eliminated blocks in the normal equations: for
//
//   [ B  E^T ] [ y ]   [ b ]
//   [ E   C  ] [ z ] = [ c ],   with C block diagonal,
//
// (B - E^T C^-1 E) y = b - E^T C^-1 c, and then z = C^-1 (c - E y).
#pragma once

#include "samite/solve/normal_equations.h"

#include <memory>

namespace samite::solvers::detail {

class SchurComplement {
 public:
  // UserError if a residual depends on two eliminated blocks.
  SchurComplement(const LeastSquaresProblem &problem, const Columns &columns, const NormalEquations &equations,
                  SourceLocation where);
  ~SchurComplement();

  // The step for a right-hand side and damping of all columns. Empty if the matrix is not positive definite.
  std::vector<double> solve(const NormalEquations &equations, const std::vector<double> &right,
                            const std::vector<double> &damping);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace samite::solvers::detail
