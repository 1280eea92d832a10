#include "samite/solve/implicit.h"

#include "samite/base/error.h"
#include "samite/jit/tape.h"
#include "samite/jit/tape_access.h"
#include "samite/jit/tape_function.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/vector_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace samite::solvers {
namespace {

// One run of F on a tape, at the kept values of x.
class Linearised {
 public:
  Linearised(const ImplicitFunction &f, const AnyBuffer &x, const std::vector<AnyBuffer> &parameters,
             SourceLocation where)
      : x_(x.device(), x.type(), x.extents(), Gradient::tracked),
        f_(x.device(), x.type(), x.extents(), Gradient::tracked),
        parameters_(parameters) {
    x_.copy_from(x);
    tape_.record([&] { f(x_, f_); });
    for (const AnyBuffer &input : jit::TapeAccess::tracked_inputs(tape_)) {
      const auto is_input = [&](const AnyBuffer &known) { return known.storage() == input.storage(); };
      if (!is_input(x_) && !is_input(f_) && std::ranges::none_of(parameters, is_input))
        throw UserError(where, "implicit: the function reads " +
                                   (input.name().empty() ? input.to_string() : "'" + input.name() + "'") +
                                   ", which tracks a gradient and is not among the parameters, so that its gradient "
                                   "would be lost; add it to them");
    }
  }

  // y = transpose(F_x) v. The gradients of the parameters do not change.
  void transposed_product(const AnyBuffer &v, const AnyBuffer &y) {
    std::vector<AnyBuffer> kept;
    for (const AnyBuffer &parameter : parameters_)
      kept.push_back(parameter.tracks_gradient() ? parameter.gradient().clone() : AnyBuffer());
    add_products(v);
    AnyBuffer(y).copy_from(x_.gradient());
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i].valid()) parameters_[i].gradient().copy_from(kept[i]);
  }

  // Adds transpose(F_p) v to the gradients of the parameters.
  void add_products(const AnyBuffer &v) {
    x_.zero_gradient();
    tape_.backward({{f_, v}});
  }

 private:
  AnyBuffer x_, f_;
  std::vector<AnyBuffer> parameters_;
  Tape tape_;
};

void check(const ImplicitFunction &f, const AnyBuffer &x, const ImplicitOptions &options, SourceLocation where) {
  if (!f) throw UserError(where, "implicit: no function is given");
  if (!x.valid() || x.rank() != 1)
    throw UserError(where, "implicit: x is a vector, " + (x.valid() ? x.to_string() : std::string("an empty buffer")) +
                               " is given");
  detail::with_floating_type(x.type(), "implicit: the elements of x", where, [](auto) {});
  if (!(options.root_tolerance >= 0) || !(options.tolerance > 0) || options.iterations < 1 || options.restart < 1)
    throw UserError(where, "implicit: positive tolerances, iterations and restart are expected");
}

void add_gradients(const ImplicitFunction &f, const std::vector<AnyBuffer> &parameters, const ImplicitOptions &options,
                   double residual, const FunctionGradients &of, SourceLocation where) {
  if (!(residual <= options.root_tolerance))
    throw UserError(where,
                    fmt::format("backward: the gradient of implicit would be wrong, since x is no root: the norm "
                                "of F is {:.3g}, and {:.3g} at most is expected",
                                residual, options.root_tolerance));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].data() != of.input_values[i].data())
      throw UserError(where, "backward: parameter " + std::to_string(i) + " of implicit, " + parameters[i].to_string() +
                                 ", was overwritten since, and the gradient needs F as it was; write the new values "
                                 "to another array");
  const AnyBuffer x = of.output_values[0];
  Linearised linearised(f, x, parameters, where);
  const auto apply = [&](const AnyBuffer &v, const AnyBuffer &y) { linearised.transposed_product(v, y); };
  const LinearOperator transposed(x.count(), x.count(), x.type(), x.device(),
                                  {.apply = apply, .symmetric = options.symmetric}, where);
  const detail::VectorSpace space(x.device(), x.type(), x.count(), where);
  const AnyBuffer multiplier = space.vector(), negative = space.vector();
  const SolveOptions solve{
      .tolerance = options.tolerance, .iterations = options.iterations, .restart = options.restart};
  SolveReport report = options.symmetric ? minres(transposed, of.outputs[0], multiplier, solve, where)
                                         : gmres(transposed, of.outputs[0], multiplier, solve, where);
  report.solver += " of the transposed derivative";
  if (options.on_adjoint) options.on_adjoint(report);
  if (!report.converged())
    throw UserError(where, "backward: the gradient of implicit would be wrong: " + report.to_string());
  space.combine(-1, multiplier, 0, negative);
  linearised.add_products(negative);
}

}  // namespace

double implicit(const ImplicitFunction &f, const AnyBuffer &x, const std::vector<AnyBuffer> &parameters,
                const std::function<void()> &find, const ImplicitOptions &options, SourceLocation where) {
  check(f, x, options, where);
  const auto residual = std::make_shared<double>(0);
  TapeFunction function;
  function.outputs = {x}, function.inputs = parameters;
  function.options.name = "implicit";
  function.forward = [&] {
    if (find) find();
    const detail::VectorSpace space(x.device(), x.type(), x.count(), where);
    const AnyBuffer value = space.vector();
    f(x, value);
    *residual = space.norm(value);
  };
  function.backward = [f, parameters, options, residual, where](const FunctionGradients &of) {
    add_gradients(f, parameters, options, *residual, of, where);
  };
  run_on_tape(function, where);
  return *residual;
}

}  // namespace samite::solvers
