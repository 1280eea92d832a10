// Information about launches for a trace (base/trace.h).
#pragma once

#include "samite/base/trace.h"
#include "samite/jit/variant.h"

#include <cstdint>
#include <string>

namespace samite::jit {

// "scale (forward) on cpu"
std::string traced_name(const Variant &variant, const std::string &kernel, const std::string &device);

// The bytes of the launch's arrays, in the block of its arguments.
std::uint64_t traced_bytes(const Variant &variant, const std::byte *arguments);

}  // namespace samite::jit
