// Where the shadow arrays of debug mode lie (passes/check_races.h), for the arguments of one launch.
//
// A word belongs to an element of memory, whichever arguments have it: arrays that overlap share their shadows. Views
// have the words of the elements that they show, of what lies between those, and no others.
#pragma once

#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace samite::jit {

class RaceShadows {
 public:
  // Of a variant that looks for races; `arguments` is a block as its layout says.
  RaceShadows(const Variant &variant, const std::byte *arguments, const Extents &extents);

  // The memory that they take. It has to be zero when the launch begins, and lasts as long.
  std::size_t bytes() const { return bytes_; }

  // The arguments, with shadows in that memory, which begins at `address` and is not touched here.
  const std::byte *block(std::uintptr_t address);

 private:
  // Memory that some arrays take.
  struct Region {
    std::uintptr_t begin, end;
    std::size_t element_bytes;
    int slots;
    std::size_t offset = 0;  // of the first shadow

    std::size_t elements() const { return (end - begin) / element_bytes; }
    // Shadows are shared by arrays of one kind alone.
    std::pair<std::size_t, int> kind() const { return {element_bytes, slots}; }
  };
  static bool in_order(const Region &a, const Region &b) {
    return std::pair(a.kind(), a.begin) < std::pair(b.kind(), b.begin);
  }

  Region region_of(std::uint32_t array, int slots) const;
  const Region &around(const Region &part) const;

  const Variant &variant_;
  std::vector<std::byte> block_;
  std::vector<Region> regions_;  // in order; of one kind none overlap
  std::size_t bytes_ = 0;
};

}  // namespace samite::jit
