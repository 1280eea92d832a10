// The solvers' view of a least squares problem: parameters, residuals, and the columns of the steps.
#pragma once

#include "samite/solve/residual_kernels.h"

#include <optional>
#include <vector>

namespace samite::solvers::detail {

struct Parameters {
  std::string name;
  Buffer<double> values;  // blocks x numbers
  Manifold manifold;
  std::vector<bool> fixed;
  bool eliminated;
  std::vector<double> lower, upper;
  std::shared_ptr<jit::KernelDefinition> step;  // see take_step()

  std::int64_t blocks() const { return values.extents()[0]; }
};

struct Residuals {
  struct Block {
    std::size_t parameters;
    Buffer<std::int32_t> index;
    std::vector<std::int32_t> host_index;
    int column;  // of a row of the Jacobian
  };

  std::string name;
  std::int64_t count;
  int rows, columns;  // of an observation's Jacobian
  std::vector<Block> blocks;
  std::vector<AnyBuffer> observations;
  Loss loss;
  ResidualKernels kernels;
};

// The columns of a step that belong to each block. Eliminated blocks come last; fixed ones have none, -1.
struct Columns {
  std::int64_t kept = 0, all = 0;
  std::vector<std::vector<std::int32_t>> of;  // by parameters and block
  std::vector<Buffer<std::int32_t>> on_device;
  // Blocks that are not fixed, by their columns.
  struct Owner {
    std::size_t parameters;
    std::int32_t block;
  };
  std::vector<Owner> owners;
  std::vector<std::vector<std::int32_t>> number;  // by parameters and block: its place in owners, -1 if fixed
};

class LeastSquaresProblem {
 public:
  std::vector<Parameters> parameters;
  std::vector<Residuals> residuals;

  Device device() const { return parameters.front().values.device(); }
  std::int64_t residual_count() const;
  // UserError for blocks without residuals, and without blocks to find.
  Columns columns(SourceLocation where) const;
  // "block 7 of 'points'"
  std::string name_of(const Columns &columns, std::int64_t column) const;
};

// Residuals, Jacobians and costs of a problem.
struct Linearisation {
  std::vector<Buffer<double>> residuals, costs, jacobians;  // by residuals

  Linearisation(const LeastSquaresProblem &problem, bool derives);
  // The cost at these values, with Jacobians if requested.
  double compute(const LeastSquaresProblem &problem, const std::vector<Buffer<double>> &values, bool derives,
                 SourceLocation where);
  // UserError that names the first number that is not finite.
  void refuse_not_finite(const LeastSquaresProblem &problem, bool derives, SourceLocation where) const;
};

// The kernel that steps: writes to `stepped`, clamped to the bounds.
std::shared_ptr<jit::KernelDefinition> step_kernel(const std::string &name, const Manifold &manifold,
                                                   SourceLocation where);
void take_step(const Parameters &of, const Buffer<std::int32_t> &columns, const Buffer<double> &step,
               const Buffer<double> &stepped, SourceLocation where);

}  // namespace samite::solvers::detail
