#include "samite/jit/launch_copies.h"

#include <array>
#include <cstring>
#include <utility>

namespace samite::jit {
namespace {

constexpr std::int64_t alignment = 256, unit_bytes = most_growth_of_copy, line_bytes = 128, lines_of_long_row = 8;

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// Memory is read by cache lines; short rows are not padded that much.
std::int64_t row_elements(std::int64_t elements, std::int64_t element_bytes) {
  const std::int64_t bytes = elements * element_bytes;
  return rounded_up(bytes, bytes < lines_of_long_row * line_bytes ? unit_bytes : line_bytes) / element_bytes;
}

class Places {
 public:
  Places(const Variant &variant, std::byte *arguments, std::uintptr_t address)
      : variant_(variant), arguments_(arguments), address_(address) {}

  void add(std::uint32_t parameter, std::uint32_t array, std::size_t element_bytes, bool swapped) {
    const int rank = variant_.parameters[array].rank;
    std::array<std::int64_t, ir::maximum_rank> extents{};
    const std::span used = std::span(extents).first(static_cast<std::size_t>(rank));
    std::memcpy(extents.data(), arguments_ + variant_.layout.offsets[array] + Layout::extent_offset(0),
                used.size_bytes());
    if (swapped) std::swap(used[used.size() - 2], used.back());
    add(parameter, used, element_bytes);
  }
  void add(std::uint32_t parameter, std::span<const std::int64_t> used, std::size_t element_bytes) {
    const auto rank = static_cast<int>(used.size());
    std::byte *place = arguments_ + variant_.layout.offsets[parameter];
    const auto put = [&](std::size_t offset, auto word) { std::memcpy(place + offset, &word, sizeof word); };
    put(Layout::data_offset(), address_ + static_cast<std::uintptr_t>(bytes_));
    for (int d = 0; d < rank; ++d) {
      put(Layout::extent_offset(d), used[static_cast<std::size_t>(d)]);
      put(Layout::stride_offset(rank, d),
          d == rank - 1 ? 1 : copy_elements(used.subspan(static_cast<std::size_t>(d) + 1), element_bytes));
    }
    bytes_ += rounded_up(copy_elements(used, element_bytes) * static_cast<std::int64_t>(element_bytes), alignment);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  using Layout = codegen::ArgumentLayout;

  const Variant &variant_;
  std::byte *arguments_;
  std::uintptr_t address_;
  std::int64_t bytes_ = 0;
};

}  // namespace

std::int64_t copy_elements(std::span<const std::int64_t> extents, std::size_t element_bytes) {
  std::int64_t count = row_elements(extents.back(), static_cast<std::int64_t>(element_bytes));
  for (const std::int64_t extent : extents.first(extents.size() - 1)) count *= extent;
  return count;
}

std::size_t place_copies(const Variant &variant, const Extents &launch, std::byte *arguments, std::uintptr_t address) {
  Places places(variant, arguments, address);
  for (const passes::CotangentCopy &copy : variant.arrays.copies)
    places.add(copy.parameter, copy.array, size_of(copy.type), /*swapped=*/false);
  const std::span extents(launch.begin(), static_cast<std::size_t>(launch.rank()));
  for (const passes::PartialSums &sums : variant.arrays.sums)
    places.add(sums.parameter, passes::extents_of(sums, extents, variant.key.shape.sum_parts), size_of(sums.type));
  for (const ArrayCopy &copy : variant.arrays.factor_copies)
    places.add(copy.parameter, copy.array, size_of(variant.parameters[copy.array].type), copy.swapped);
  return static_cast<std::size_t>(places.bytes());
}

}  // namespace samite::jit
