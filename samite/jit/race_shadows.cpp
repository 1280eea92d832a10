#include "samite/jit/race_shadows.h"

#include "samite/base/error.h"

#include <algorithm>
#include <cstring>

namespace samite::jit {
namespace {

using Layout = codegen::ArgumentLayout;

constexpr std::size_t word_bytes = sizeof(std::int64_t);

std::int64_t word_at(const std::byte *place) {
  std::int64_t word = 0;
  std::memcpy(&word, place, sizeof word);
  return word;
}

}  // namespace

RaceShadows::RaceShadows(const Variant &variant, const std::byte *arguments, const Extents &extents)
    : variant_(variant), block_(arguments, arguments + variant.layout.bytes) {
  for (std::size_t i = 0; i < variant.races.launch_extents.size(); ++i) {
    const std::int64_t extent = extents[static_cast<int>(i) + 1];
    std::memcpy(block_.data() + variant.layout.offsets[variant.races.launch_extents[i]], &extent, sizeof extent);
  }
  for (const passes::Shadow &shadow : variant.races.shadows)
    if (shadow.slot == 0) regions_.push_back(region_of(shadow.array, shadow.slots));
  std::ranges::sort(regions_, in_order);
  std::vector<Region> apart;
  for (const Region &region : regions_) {
    if (!apart.empty() && apart.back().kind() == region.kind() && region.begin < apart.back().end)
      apart.back().end = std::max(apart.back().end, region.end);
    else
      apart.push_back(region);
  }
  regions_ = std::move(apart);
  for (Region &region : regions_) {
    region.offset = bytes_;
    bytes_ += region.elements() * static_cast<std::size_t>(region.slots) * word_bytes;
  }
}

RaceShadows::Region RaceShadows::region_of(std::uint32_t array, int slots) const {
  const ir::Parameter &parameter = variant_.parameters[array];
  const std::byte *place = block_.data() + variant_.layout.offsets[array];
  const auto size = static_cast<std::int64_t>(size_of(parameter.type));
  const auto data = static_cast<std::uintptr_t>(word_at(place + Layout::data_offset()));
  std::int64_t below = 0, above = size;
  for (int d = 0; d < parameter.rank; ++d) {
    const std::int64_t last = word_at(place + Layout::extent_offset(d)) - 1;
    if (last < 0) return {data, data, static_cast<std::size_t>(size), slots};
    const std::int64_t span = last * word_at(place + Layout::stride_offset(parameter.rank, d)) * size;
    (span < 0 ? below : above) += span;
  }
  return {data + static_cast<std::uintptr_t>(below), data + static_cast<std::uintptr_t>(above),
          static_cast<std::size_t>(size), slots};
}

const RaceShadows::Region &RaceShadows::around(const Region &part) const {
  return *std::prev(std::ranges::upper_bound(regions_, part, in_order));
}

const std::byte *RaceShadows::block(std::uintptr_t address) {
  for (const passes::Shadow &shadow : variant_.races.shadows) {
    const Region part = region_of(shadow.array, shadow.slots), &region = around(part);
    const std::byte *array = block_.data() + variant_.layout.offsets[shadow.array];
    const int rank = variant_.parameters[shadow.array].rank;
    const auto data = static_cast<std::uintptr_t>(word_at(array + Layout::data_offset()));
    const std::size_t element = (data - region.begin) / region.element_bytes;
    const std::uintptr_t first =
        address + region.offset + (static_cast<std::size_t>(shadow.slot) * region.elements() + element) * word_bytes;
    std::byte *place = block_.data() + variant_.layout.offsets[shadow.parameter];
    std::memcpy(place, array, Layout::stride_offset(rank, rank));  // extents and strides are the array's
    std::memcpy(place + Layout::data_offset(), &first, sizeof first);
  }
  return block_.data();
}

}  // namespace samite::jit
