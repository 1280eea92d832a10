// Which elements of an array can be touched by more than one instance of a launch.
//
// An index tells instances apart where it is a multiple of thread_index(k) and something that is the same for all of
// them, and no two multiples wrap around to one. So does where a tile begins, at a multiple of thread_index(k) that is
// no smaller than the tile. Where one of the indices is of the same form in all accesses to an array, two instances
// that meet at an element have the same thread_index(k), whatever the other indices are; where that holds for every
// dimension of the launch, no two instances meet.
//
// This compares what passes/index_forms.h says of each index (`Along`), and analyses nothing itself: the one access
// does not know the others.
#pragma once

#include "samite/passes/index_forms.h"

#include <optional>
#include <vector>

namespace samite::passes {

// The accesses to one array, as far as they tell instances apart.
class Accesses {
 public:
  // Of an element of type `element`, or of a tile.
  void add(const std::vector<ir::Value> &indices, const ir::Type &element, const IndexForms &forms);

  // Whether no two instances meet. Also where nothing was added.
  bool one_to_one(int launch_rank) const;

  // Whether the index in this place is the same in all accesses of an instance.
  bool fixed(std::size_t place) const { return places_[place].fixed; }

 private:
  struct Place {
    ir::Value index;             // of the first access
    std::optional<Along> along;  // of all of them, where it is the same
    bool fixed;
    std::int64_t extent = 1;  // of the tiles along this dimension of the array
  };

  std::vector<Place> places_;
};

}  // namespace samite::passes
