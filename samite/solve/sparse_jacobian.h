// Sparse Jacobians and Hessians of a kernel: where their entries are, and their values by a few tangents.
//
//   SparseJacobian jacobian = sparse_jacobian<1, 0>(residual, {n}, r, x);     // dr / dx: argument 0 by argument 1
//   SparseMatrix j = jacobian.matrix();
//   …                                                                        // x changes
//   jacobian.compute();                                                      // the same matrix, with new values
//
//   SparseJacobian hessian = sparse_hessian<1, 0>(energy, {n}, sum, x);       // d² sum / dx²
//
// The host finds once which elements of the output depend on which of the input, from the kernel's indices: they may be
// computed from thread and loop indices, extents, integer arguments and arrays of integers. Both sides of
// a branch on floating-point numbers count, so that the pattern holds wherever the input is. It holds for the contents
// that arrays of integers had then.
//
// Columns that no row has in common get one colour (Curtis, Powell and Reid, On the estimation of sparse Jacobian
// matrices, 1974), and one run of the kernel's tangent finds the entries of a colour. A Hessian is the tangent of the
// kernel's adjoint; symmetric, it needs fewer colours: a star colouring (Coleman and Moré, Estimation of sparse Hessian
// matrices and graph coloring problems, 1984).
//
// Rows are the output's elements in row-major order, columns the input's; both arrays are of f32, or both of f64. The
// kernel's arrays keep their contents, and the results are constants to tapes. Errors are UserErrors.
#pragma once

#include "samite/jit/kernel.h"
#include "samite/solve/sparse_matrix.h"

#include <memory>
#include <vector>

namespace samite::solvers {

class SparseJacobian {
 public:
  const SparseMatrix &matrix() const;
  // Computes the values again, at what the arguments hold now.
  const SparseMatrix &compute(SourceLocation where = std::source_location::current());
  // How many tangents that takes.
  int colours() const;

  // For the library.
  struct Plan;
  explicit SparseJacobian(std::shared_ptr<Plan> plan) : plan_(std::move(plan)) {}

 private:
  std::shared_ptr<Plan> plan_;
};

namespace detail {

SparseJacobian make_sparse_jacobian(const std::shared_ptr<jit::KernelDefinition> &kernel, const LaunchExtents &extents,
                                    std::vector<jit::OwnedArgument> arguments, std::size_t input, std::size_t output);
SparseJacobian make_sparse_hessian(const std::shared_ptr<jit::KernelDefinition> &kernel, const LaunchExtents &extents,
                                   std::vector<jit::OwnedArgument> arguments, std::size_t input, std::size_t objective);

}  // namespace detail

// The derivative of argument `Output` by argument `Input`, in one launch of the kernel. UserError if the kernel does
// not write the output, or writes the input; for arrays of other types; for indices and numbers of iterations that
// depend on floating-point numbers, with the line; and in a recording tape, if an argument tracks a gradient.
template <std::size_t Input, std::size_t Output, class... Ps>
SparseJacobian sparse_jacobian(const Kernel<void(Ps...)> &kernel, const LaunchExtents &extents,
                               const std::type_identity_t<jit::ArgumentFor<Ps>> &...arguments) {
  static_assert(Input < sizeof...(Ps) && Output < sizeof...(Ps), "the kernel has no parameter of that index");
  return detail::make_sparse_jacobian(kernel.definition(), extents, jit::owned<Ps...>(arguments...),
                                      jit::argument_place<Input, Ps...>(), jit::argument_place<Output, Ps...>());
}

// The second derivative of `Objective`, an array of one element, by `Input`. UserErrors are the same.
template <std::size_t Input, std::size_t Objective, class... Ps>
SparseJacobian sparse_hessian(const Kernel<void(Ps...)> &kernel, const LaunchExtents &extents,
                              const std::type_identity_t<jit::ArgumentFor<Ps>> &...arguments) {
  static_assert(Input < sizeof...(Ps) && Objective < sizeof...(Ps), "the kernel has no parameter of that index");
  return detail::make_sparse_hessian(kernel.definition(), extents, jit::owned<Ps...>(arguments...),
                                     jit::argument_place<Input, Ps...>(), jit::argument_place<Objective, Ps...>());
}

}  // namespace samite::solvers
