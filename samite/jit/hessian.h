// Second derivatives: the product of the Hessian of an objective with a direction.
//
//   HessianVectorProduct h = hessian_vector_product([&] { energy.launch({n}, sum, x); }, {x}, {v}, sum);
//   h.product[0]                        // (d² sum / dx²) v
//
// The forward sweep computes tangents along with values, by the tangent of each kernel that the work launches; a tape
// differentiates that (B. A. Pearlmutter, Fast Exact Multiplication by the Hessian, 1994). The cost is a few times that
// of the gradient, independent of the number of inputs.
#pragma once

#include "samite/jit/gradient_report.h"
#include "samite/jit/work.h"

namespace samite {

struct HessianVectorProduct {
  std::vector<std::vector<double>> product;   // by input: the Hessian's rows for it, times the direction
  std::vector<std::vector<double>> gradient;  // by input, as a by-product
  double slope = 0;                           // the derivative of the objective along the direction
};

// The Hessian of `objective`, one element, with respect to `inputs`, times `directions`, which have one number for each
// element of each input. `work` is as in jit/work.h, with forward launches only. Contents are restored; gradients are
// overwritten. UserError if an array tracks no gradient, the objective has several elements, a direction has another
// size than its input, or a kernel has no tangent, and as in Tape::backward.
HessianVectorProduct hessian_vector_product(FunctionRef<void()> work, std::vector<Buffer<double>> inputs,
                                            const std::vector<std::vector<double>> &directions,
                                            const Buffer<double> &objective,
                                            SourceLocation where = std::source_location::current());

// For one launch of a kernel, whose parameter number `Objective` is the objective: with respect to all other arguments
// that track gradients, in order.
template <std::size_t Objective, class... Ps>
HessianVectorProduct hessian_vector_product(const Kernel<void(Ps...)> &kernel, const LaunchExtents &extents,
                                            const std::vector<std::vector<double>> &directions,
                                            const std::type_identity_t<jit::ArgumentFor<Ps>> &...arguments) {
  static_assert(Objective < sizeof...(Ps), "the kernel has no parameter of that index");
  auto views = jit::views_of<Ps...>(arguments...);
  static_assert(requires { std::get<Objective>(std::tie(arguments...)).buffer; }, "the objective is an array");
  Buffer<double> objective(*std::exchange(views[jit::argument_place<Objective, Ps...>()].buffer, nullptr));
  return hessian_vector_product([&] { kernel.launch(extents, arguments...); },
                                jit::differentiable_arguments(*kernel.definition(), views, extents.where()).inputs,
                                directions, objective, extents.where());
}

// Compares products with central differences of gradients along a random direction.
GradientReport hessian_check(FunctionRef<void()> work, std::vector<Buffer<double>> inputs,
                             const Buffer<double> &objective, const GradientCheckOptions &options = {},
                             SourceLocation where = std::source_location::current());

}  // namespace samite
