#include "samite/jit/pipeline_derivative.h"

#include "samite/base/error.h"

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
  // A schedule of the pipeline's is none of the adjoint's, which has a default one.
  derived.options.schedule.clear();
  return derived;
}

}  // namespace samite::jit
