// The linear part of an iteration of least squares: d with (J^T J + D) d = -J^T r.
#pragma once

#include "samite/solve/schur_complement.h"

namespace samite::solvers::detail {

// Gradient and diagonal at the point of a linearisation.
struct NormalVectors {
  std::vector<double> gradient, diagonal;  // J^T r, and that of J^T J
};

class StepFinder {
 public:
  StepFinder(const LeastSquaresProblem &problem, const Columns &columns, const LeastSquaresOptions &options,
             SourceLocation where);

  StepSolver kind() const { return kind_; }
  // Reads the Jacobians of `of`, which is kept for the next calls.
  NormalVectors prepare(const Linearisation &of);
  // Empty if the matrix is not positive definite, or the step not finite.
  std::vector<double> step(const NormalVectors &at, const std::vector<double> &damping);
  // The same with other residuals in place of r.
  std::vector<double> step_for(const std::vector<Buffer<double>> &residuals, const NormalVectors &at,
                               const std::vector<double> &damping);
  // |J v|^2.
  double squared_product(const std::vector<double> &v);
  // J v, by residuals; valid until the next call.
  const std::vector<Buffer<double>> &product(const std::vector<double> &v);

 private:
  std::vector<double> step_by_qr(const std::vector<double> &damping) const;
  void keep_residuals(const std::vector<Buffer<double>> &residuals);
  std::vector<double> step_by_elimination(const NormalVectors &at, const std::vector<double> &damping);
  std::vector<double> step_by_conjugate_gradients(const NormalVectors &at, const std::vector<double> &damping);
  double squared_norm(const std::vector<Buffer<double>> &products) const;

  const LeastSquaresProblem &problem_;
  const Columns &columns_;
  const LeastSquaresOptions &options_;
  SourceLocation where_;
  StepSolver kind_;
  NormalEquations equations_;
  std::unique_ptr<SchurComplement> schur_;
  std::unique_ptr<SymmetricSystem> system_;
  const Linearisation *at_ = nullptr;
  TallMatrix jacobian_ = {};       // for QR
  std::vector<double> residuals_;  // as its rows
  std::vector<Buffer<double>> products_;
};

// J of all residuals, and the residuals, on the host.
TallMatrix jacobian_on_host(const LeastSquaresProblem &problem, const Columns &columns, const Linearisation &of);

}  // namespace samite::solvers::detail
