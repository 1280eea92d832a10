#include "samite/jit/derivative_launch.h"

#include "samite/jit/arguments.h"
#include "samite/jit/tangent_launches.h"
#include "samite/jit/tape_access.h"

namespace samite::jit {
namespace {

void launch_forward(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                    const LaunchOptions &options, std::span<const Argument> arguments,
                    const std::function<void()> &run) {
  if (TangentLaunches *tangents = TangentLaunches::current())
    return tangents->launch(definition, extents, options, arguments);
  TapeAccess::append(*TapeAccess::recording(), definition, extents, options, arguments, run);
}

}  // namespace

void launch_for_derivatives(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                            const LaunchOptions &options, std::span<const Argument> arguments,
                            const std::function<void()> &run) {
  if (options.direction == Direction::forward) return launch_forward(definition, extents, options, arguments, run);
  std::uint64_t active = 0;
  std::vector<OwnedArgument> all, gradients;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument &argument = arguments[i];
    all.push_back(argument.buffer ? OwnedArgument{argument.elements(), 0} : OwnedArgument{{}, argument.scalar});
    if (!argument.buffer || !argument.buffer->tracks_gradient()) continue;
    active |= std::uint64_t{1} << i;
    gradients.push_back({argument.buffer->gradient(), 0});
  }
  all.insert(all.end(), gradients.begin(), gradients.end());
  const std::shared_ptr<KernelDefinition> derivative =
      options.direction == Direction::adjoint ? definition->adjoint_kernel(active) : definition->tangent_kernel(active);
  LaunchOptions forward = options;
  forward.direction = Direction::forward;
  const std::vector<Argument> given = views(all);
  check_arguments(*derivative, given);
  launch_forward(derivative, extents, forward, given, run);
}

}  // namespace samite::jit
