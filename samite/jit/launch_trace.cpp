#include "samite/jit/launch_trace.h"

#include "samite/jit/options.h"

#include <fmt/format.h>

#include <cstring>

namespace samite::jit {

std::string traced_name(const Variant &variant, const std::string &kernel, const std::string &device) {
  return fmt::format("{} ({}) on {}", kernel, name(variant.key.direction), device);
}

std::uint64_t traced_bytes(const Variant &variant, const std::byte *arguments) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < variant.parameters.size(); ++i) {
    const ir::Parameter &parameter = variant.parameters[i];
    if (!parameter.is_array()) continue;
    std::uint64_t of_array = size_of(parameter.type);
    for (int d = 0; d < parameter.rank; ++d) {
      std::uint64_t extent = 0;
      std::memcpy(&extent, arguments + variant.layout.offsets[i] + codegen::ArgumentLayout::extent_offset(d),
                  sizeof extent);
      of_array *= extent;
    }
    bytes += of_array;
  }
  return bytes;
}

}  // namespace samite::jit
