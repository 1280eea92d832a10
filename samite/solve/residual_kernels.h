// The kernels of one function of residuals, over its observations.
#pragma once

#include "samite/jit/launch.h"
#include "samite/solve/least_squares.h"

namespace samite::solvers::detail {

struct ResidualKernels {
  std::shared_ptr<jit::KernelDefinition> residuals, jacobians;

  // For blocks on these manifolds, followed by arrays of observations.
  ResidualKernels(const std::string &name, const ResidualFunction &function, const std::vector<Manifold> &manifolds,
                  Loss::Kind loss, SourceLocation where);

  struct Arguments {
    std::vector<AnyBuffer> values;   // of the blocks, and then the observations: rows x numbers
    std::vector<AnyBuffer> indices;  // of the blocks
    Loss loss;
    Buffer<double> residuals;  // observations x residuals
    Buffer<double> costs;      // of each observation, rho / 2
    Buffer<double> jacobian;   // observations x (residuals x steps of all blocks); empty: residuals alone
  };
  // With a Jacobian, it and the residuals are scaled by sqrt(rho').
  void launch(std::int64_t count, const Arguments &arguments, SourceLocation where) const;
};

}  // namespace samite::solvers::detail
