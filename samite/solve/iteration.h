// Common code of the iterative solvers: one round of a method, from the current x on, until the method considers itself
// converged or cannot continue. solver.cpp computes the residual after each round, and starts another round if needed.
#pragma once

#include "samite/solve/solver.h"
#include "samite/solve/vector_space.h"

namespace samite::solvers::detail {

// A system that is being solved; the report grows.
class System {
 public:
  System(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x, const SolveOptions &options,
         SolveReport &report, SourceLocation where);

  const LinearOperator &a;
  const AnyBuffer &b, &x;
  const SolveOptions &options;
  SolveReport &report;
  VectorSpace space;

  // r = b - A x; returns its norm.
  double residual(const AnyBuffer &r) const;
  void precondition(const AnyBuffer &r, const AnyBuffer &z) const;

  // Notes the residual's norm after an iteration; returns whether the round ends. That is so if the norm is small
  // enough or not finite, if this was the last iteration, or if the program stops it.
  bool ends(double norm);
  // The same for a method that cannot continue.
  void break_down(const std::string &reason);
};

// Rounds: from r = b - A x, whose norm is not zero, to a better x. `r` may be overwritten.
void conjugate_gradients_round(System &system, const AnyBuffer &r);
void minres_round(System &system, const AnyBuffer &r);
void bicgstab_round(System &system, const AnyBuffer &r);
void gmres_round(System &system, const AnyBuffer &r);

}  // namespace samite::solvers::detail
