// Which elements of a storage were written when: kept while somebody watches the storage.
//
// The version of a storage counts its writes. A tape has to know of each element whether it was written since, so that
// a write of one row disturbs nothing that concerns another. Regions that are written again and again take one place.
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

// Every function may be called from any thread.
class WriteLog {
 public:
  // A write that made the storage's version this.
  void note(std::uint64_t version, const ElementRegion &region) noexcept;
  // The versions above `since` of writes to elements of the region, in order; of several writes to the same region, the
  // last one. It may name writes to other elements, where to tell would take long.
  std::vector<std::uint64_t> writes(const ElementRegion &region, std::uint64_t since) const;
  void clear() noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, ElementRegion> by_version_;
  std::map<ElementRegion, std::uint64_t> latest_;
  std::uint64_t all_written_ = 0;  // a write that may have been to any element
};

}  // namespace samite
