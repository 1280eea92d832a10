// The arguments of a launch as callers pass them and as recorded launches and tapes keep them.
#pragma once

#include "samite/runtime/any_buffer.h"

#include <cstdint>
#include <vector>

namespace samite::jit {

// One argument of the caller: a buffer, or the bits of a scalar of the parameter's type.
struct Argument {
  const AnyBuffer *buffer = nullptr;
  std::uint64_t scalar = 0;
  // The elements to read, if not those of `buffer`: a copy from before they were overwritten. The gradient is still the
  // buffer's.
  const AnyBuffer *values = nullptr;

  const AnyBuffer &elements() const { return values ? *values : *buffer; }
};

// An argument that a launch or a tape keeps.
struct OwnedArgument {
  AnyBuffer buffer;  // invalid for a scalar
  std::uint64_t scalar = 0;
  AnyBuffer values = {};  // see Argument::values; invalid if there is no copy

  Argument view() const {
    if (!buffer.valid()) return {nullptr, scalar, nullptr};
    return {&buffer, 0, values.valid() ? &values : nullptr};
  }
};

std::vector<Argument> views(const std::vector<OwnedArgument> &arguments);

}  // namespace samite::jit
