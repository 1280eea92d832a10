#include "samite/jit/pipeline_derivative.h"

#include "samite/base/error.h"
#include "samite/jit/tape_access.h"
#include "samite/jit/tape_function.h"

#include <algorithm>

namespace samite::jit {

DerivedPipeline derived_pipeline(const std::shared_ptr<PipelineDefinition> &definition, const PipelineOptions &options,
                                 std::span<const Argument> arguments) {
  if (options.direction == Direction::tangent)
    throw UserError(definition->where(), "pipeline '" + definition->name() +
                                             "' has no tangent: launch it with Direction::adjoint, or write the step "
                                             "as a Kernel or TileKernel");
  const Callee callee = definition->callee();
  DerivedPipeline derived{{}, options, {}};
  derived.options.direction = Direction::forward;
  std::uint64_t active = 0;
  std::vector<OwnedArgument> gradients;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument &argument = arguments[i];
    if (definition->parameters()[i].is_array()) check_buffer(callee, i, *argument.buffer);
    derived.arguments.push_back(argument.buffer ? OwnedArgument{argument.elements(), 0}
                                                : OwnedArgument{{}, argument.scalar});
    if (!argument.buffer || !argument.buffer->tracks_gradient()) continue;
    active |= std::uint64_t{1} << i;
    gradients.push_back({argument.buffer->gradient(), 0});
  }
  if (active == 0)
    throw UserError(definition->where(), "pipeline '" + definition->name() +
                                             "' is launched with Direction::adjoint, and none of its arguments tracks "
                                             "its gradient; construct buffers with Gradient::tracked");
  derived.definition = definition->adjoint(active);
  derived.arguments.insert(derived.arguments.end(), gradients.begin(), gradients.end());
  // The pipeline's schedules do not apply to its adjoint, which has a default one.
  derived.options.schedule.clear();
  return derived;
}

bool belongs_on_tape(std::span<const Argument> arguments) {
  return TapeAccess::recording() != nullptr && std::ranges::any_of(arguments, [](const Argument &argument) {
           return argument.buffer && argument.buffer->tracks_gradient();
         });
}

void launch_on_tape(const std::shared_ptr<PipelineDefinition> &definition, const PipelineOptions &options,
                    std::span<const Argument> arguments, std::uint64_t written, const std::function<void()> &run,
                    SourceLocation where) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (definition->arrays_read() & written & std::uint64_t{1} << i)
      throw UserError(definition->where(),
                      "pipeline '" + definition->name() + "' fills and reads " + describe(definition->parameters(), i) +
                          ", which a tape does not differentiate; let it fill another array, or write the step as a "
                          "Kernel or TileKernel");
  TapeFunction function;
  std::vector<OwnedArgument> scalars(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].buffer)
      (written >> i & 1 ? function.outputs : function.inputs).push_back(arguments[i].elements());
    else
      scalars[i].scalar = arguments[i].scalar;
  }
  PipelineOptions adjoint = options;
  adjoint.schedule.clear();  // the adjoint has one of its own
  function.options = {.name = definition->name(), .reads_outputs = false, .differentiable_backward = true};
  function.forward = run;
  function.backward = [definition, adjoint, scalars, written](const FunctionGradients &of) {
    std::vector<OwnedArgument> values = scalars, gradients;
    std::uint64_t active = 0;
    std::size_t output = 0, input = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!definition->parameters()[i].is_array()) continue;
      const bool is_output = written >> i & 1;
      const std::size_t number = is_output ? output++ : input++;
      values[i].buffer = is_output ? of.output_values[number] : of.input_values[number];
      const AnyBuffer &gradient = is_output ? of.outputs[number] : of.inputs[number];
      if (!gradient.valid()) continue;
      active |= std::uint64_t{1} << i;
      gradients.push_back({gradient, 0});
    }
    values.insert(values.end(), gradients.begin(), gradients.end());
    launch_pipeline(definition->adjoint(active), adjoint, views(values), {});
  };
  run_on_tape(function, where);
}

}  // namespace samite::jit
