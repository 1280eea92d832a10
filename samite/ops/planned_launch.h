// One of the library's kernels with the blocks to launch it over, for bindings that choose types and extents at run
// time. It is launched, recorded and differentiated like any kernel.
#pragma once

#include "samite/jit/definition.h"
#include "samite/jit/launch.h"

#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
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
                           SourceLocation where) {
  jit::launch_once(planned.kernel, LaunchExtents(planned.blocks, where), {}, std::span(arguments));
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
