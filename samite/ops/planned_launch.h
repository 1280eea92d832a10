// One of the library's kernels with the blocks to launch it over, for bindings that choose types and extents at run
// time. It is launched, recorded and differentiated like any kernel.
#pragma once

#include "samite/jit/definition.h"
#include "samite/jit/operation.h"

#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

namespace samite::ops {

struct PlannedLaunch {
  std::shared_ptr<jit::KernelDefinition> kernel;
  Extents blocks;
  // Whether scales of a and of b must be passed with their last two dimensions exchanged.
  std::array<bool, 2> exchanged_scales = {};
};

namespace detail {

inline void launch_planned(const PlannedLaunch &planned, std::initializer_list<jit::Argument> arguments,
                           SourceLocation where, const std::optional<Stream> &stream = {}) {
  jit::launch_once(planned.kernel, LaunchExtents(planned.blocks, where), {.stream = stream}, std::span(arguments));
}

// The same as a part of an operation's adjoint.
inline jit::AdjointLaunch adjoint_launch(const PlannedLaunch &planned, std::initializer_list<jit::Argument> arguments) {
  jit::AdjointLaunch launch{planned.kernel, planned.blocks, {}};
  for (const jit::Argument &argument : arguments)
    launch.arguments.push_back(argument.buffer ? jit::OwnedArgument{*argument.buffer, 0}
                                               : jit::OwnedArgument{{}, argument.scalar});
  return launch;
}

// A number for a parameter of type double, or else float.
inline jit::Argument number(double value, ScalarType type) {
  const auto narrow = static_cast<float>(value);
  jit::Argument argument;
  if (type == ScalarType::Float64)
    std::memcpy(&argument.scalar, &value, sizeof value);
  else
    std::memcpy(&argument.scalar, &narrow, sizeof narrow);
  return argument;
}

}  // namespace detail

}  // namespace samite::ops
