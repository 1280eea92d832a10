// Tells whether two instances of a launch can touch the same element of an array.
//
// An index separates instances if it is a multiple of thread_index(k) plus a part that all instances share, and no two
// multiples wrap around to the same number. The origin of a tile separates blocks if it is a multiple of
// thread_index(k) that is no smaller than the tile. Suppose one index has the same form in all accesses to an array.
// Then two instances that meet at an element have the same thread_index(k), whatever the other indices are. If that
// holds for every dimension of the launch, no two instances meet.
//
// It only compares the results of passes/analysis/index_forms.h for each index (`Along`).
#pragma once

#include "samite/passes/analysis/index_forms.h"

#include <optional>
#include <vector>

namespace samite::passes {

// The accesses to one array, as far as they distinguish instances.
class Accesses {
 public:
  // Adds an access to an element of type `element`, or to a tile.
  void add(const std::vector<ir::Value> &indices, const ir::Type &element, const IndexForms &forms);

  // Whether no two instances access the same element. True if nothing was added.
  bool one_to_one(int launch_rank) const;

  // Whether the index in this place is equal in all accesses of an instance.
  bool fixed(std::size_t place) const { return places_[place].fixed; }

 private:
  struct Place {
    ir::Value index;             // of the first access
    std::optional<Along> along;  // of all accesses, if it is equal
    bool fixed;
    std::int64_t extent = 1;  // of the tiles along this dimension of the array
  };

  std::vector<Place> places_;
};

}  // namespace samite::passes
