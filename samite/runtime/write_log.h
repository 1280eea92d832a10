// The log of writes to a storage's elements, while the storage is watched.
//
// The version of a storage counts its writes. A tape must know for each element whether it was written since, so that a
// write of one row does not affect another. Repeated writes of a region take one entry.
#pragma once

#include "samite/runtime/extents.h"
#include "samite/runtime/strided.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace samite {

// The elements of a view: an address, and strides in elements.
struct ElementRegion {
  const std::byte *data;
  Extents extents;
  Strides strides;
  std::size_t element_bytes;

  friend bool operator==(const ElementRegion &, const ElementRegion &) = default;
  friend bool operator<(const ElementRegion &a, const ElementRegion &b) noexcept;
};

// Thread-safe.
class WriteLog {
 public:
  // Records a write that set the storage's version to this.
  void note(std::uint64_t version, const ElementRegion &region) noexcept;
  // The versions above `since` of writes to elements of the region, in order; for several writes to the same region,
  // the last one. It may include writes to other elements, if an exact answer would take long.
  std::vector<std::uint64_t> writes(const ElementRegion &region, std::uint64_t since) const;
  void clear() noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, ElementRegion> by_version_;
  std::map<ElementRegion, std::uint64_t> latest_;
  std::uint64_t all_written_ = 0;  // the last write that may have been to any element
};

}  // namespace samite
