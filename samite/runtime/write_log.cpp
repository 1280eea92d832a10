#include "samite/runtime/write_log.h"

#include "samite/runtime/shared_elements.h"

#include <algorithm>
#include <exception>
#include <tuple>

namespace samite {
namespace {

// A program that writes single elements has as many regions as elements.
constexpr std::size_t most_regions = 4096;

}  // namespace

bool operator<(const ElementRegion &a, const ElementRegion &b) noexcept {
  const auto key = [](const ElementRegion &region) {
    std::array<std::int64_t, maximum_rank> extents{};
    std::ranges::copy(region.extents, extents.begin());
    return std::tuple(reinterpret_cast<std::uintptr_t>(region.data), extents, region.strides, region.element_bytes,
                      region.extents.rank());
  };
  return key(a) < key(b);
}

void WriteLog::note(std::uint64_t version, const ElementRegion &region) noexcept {
  std::lock_guard lock(mutex_);
  try {
    auto [latest, is_new] = latest_.try_emplace(region, version);
    if (!is_new) by_version_.erase(std::exchange(latest->second, std::max(version, latest->second)));
    by_version_.emplace(latest->second, region);
    if (latest_.size() <= most_regions) return;
  } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
    // Without memory for the regions, all elements count as written.
  }
  latest_.clear();
  by_version_.clear();
  all_written_ = std::max(all_written_, version);
}

std::vector<std::uint64_t> WriteLog::writes(const ElementRegion &region, std::uint64_t since) const {
  std::vector<std::uint64_t> versions;
  std::lock_guard lock(mutex_);
  if (all_written_ > since) versions.push_back(all_written_);
  for (auto write = by_version_.upper_bound(since); write != by_version_.end(); ++write)
    if (share_elements(write->second, region)) versions.push_back(write->first);
  return versions;
}

void WriteLog::clear() noexcept {
  std::lock_guard lock(mutex_);
  latest_.clear();
  by_version_.clear();
  all_written_ = 0;
}

}  // namespace samite
