// The addresses of debug mode's shadow arrays (passes/threads/check_races.h), for the arguments of one launch.
//
// A word belongs to an element of memory, whichever argument names it: overlapping arrays share their shadows. A view
// has words only for its elements and the gaps between them.
#pragma once

#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace samite::jit {

class RaceShadows {
 public:
  // For a variant that looks for races; `arguments` is a block with its layout.
  RaceShadows(const Variant &variant, const std::byte *arguments, const Extents &extents);

  // The shadows' memory. It must be zero when the launch begins, and live as long.
  std::size_t bytes() const { return bytes_; }

  // The arguments, with shadows in that memory, which begins at `address` and is not accessed here.
  const std::byte *block(std::uintptr_t address);

 private:
  // The memory of some arrays.
  struct Region {
    std::uintptr_t begin, end;
    std::size_t element_bytes;
    int slots;
    std::size_t offset = 0;  // of the first shadow

    std::size_t elements() const { return (end - begin) / element_bytes; }
    // Only arrays of the same kind share shadows.
    std::pair<std::size_t, int> kind() const { return {element_bytes, slots}; }
  };
  static bool in_order(const Region &a, const Region &b) {
    return std::pair(a.kind(), a.begin) < std::pair(b.kind(), b.begin);
  }

  Region region_of(std::uint32_t array, int slots) const;
  const Region &around(const Region &part) const;

  const Variant &variant_;
  std::vector<std::byte> block_;
  std::vector<Region> regions_;  // in order; regions of a kind do not overlap
  std::size_t bytes_ = 0;
};

}  // namespace samite::jit
