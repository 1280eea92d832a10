#include "samite/jit/launch_copies.h"

#include <array>
#include <cstring>

namespace samite::jit {
namespace {

constexpr std::int64_t element_bytes = 2, unit_bytes = 16, alignment = 256;

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::int64_t copy_elements(std::span<const std::int64_t> extents) {
  std::int64_t count = rounded_up(extents.back(), unit_bytes / element_bytes);
  for (const std::int64_t extent : extents.first(extents.size() - 1)) count *= extent;
  return count;
}

std::size_t place_copies(const Variant &variant, std::byte *arguments, std::uintptr_t address) {
  using Layout = codegen::ArgumentLayout;
  std::int64_t bytes = 0;
  for (const passes::CastCopy &copy : variant.copies) {
    const int rank = variant.parameters[copy.array].rank;
    std::array<std::int64_t, ir::maximum_rank> extents{};
    const std::span used = std::span(extents).first(static_cast<std::size_t>(rank));
    std::memcpy(extents.data(), arguments + variant.layout.offsets[copy.array] + Layout::extent_offset(0),
                used.size_bytes());
    std::byte *place = arguments + variant.layout.offsets[copy.parameter];
    const auto put = [&](std::size_t offset, auto word) { std::memcpy(place + offset, &word, sizeof word); };
    put(Layout::data_offset(), address + static_cast<std::uintptr_t>(bytes));
    for (int d = 0; d < rank; ++d) {
      put(Layout::extent_offset(d), extents[static_cast<std::size_t>(d)]);
      put(Layout::stride_offset(rank, d),
          d == rank - 1 ? 1 : copy_elements(used.subspan(static_cast<std::size_t>(d) + 1)));
    }
    bytes += rounded_up(copy_elements(used) * element_bytes, alignment);
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace samite::jit
