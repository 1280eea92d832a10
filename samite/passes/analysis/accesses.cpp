#include "samite/passes/analysis/accesses.h"

#include "samite/ir/tile_rules.h"

#include <algorithm>
#include <cstdlib>

namespace samite::passes {

using namespace ir;

namespace {

// If both are one-to-one, equal integers come from equal indices.
bool same(const Along &a, const Along &b) { return a.index == b.index && a.scale == b.scale && a.rest == b.rest; }

// The extent of a tile or an element along a dimension of an array with `rank` dimensions.
std::int64_t extent_along(const Type &element, std::size_t dimension, std::size_t rank) {
  const TileShape shape = element.shape();
  const auto from_last = static_cast<int>(rank - dimension);
  return from_last <= shape.rank() ? shape[shape.rank() - from_last] : 1;
}

}  // namespace

void Accesses::add(const std::vector<Value> &indices, const Type &element, const IndexForms &forms) {
  const bool gather = is_gather(indices);
  const bool first = places_.empty();
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto along = gather ? std::nullopt : forms.along(indices[d]);
    if (first) places_.push_back({indices[d], along, true});
    Place &place = places_[d];
    place.extent = std::max(place.extent, gather ? 1 : extent_along(element, d, indices.size()));
    place.fixed = place.fixed && forms.same(place.index, indices[d]);
    // Blocks may share an element of one tile.
    if (!along || !place.along || !same(*place.along, *along))
      place.along.reset();
    else
      place.along->one_to_one = place.along->one_to_one && along->one_to_one;
  }
}

bool Accesses::one_to_one(int launch_rank) const {
  for (int dimension = 0; dimension < launch_rank; ++dimension)
    if (std::ranges::none_of(places_, [&](const Place &place) {
          return place.along && place.along->index == Symbol::thread_index(dimension) && place.along->one_to_one &&
                 std::abs(place.along->scale) >= place.extent;
        }))
      return false;
  return true;
}

}  // namespace samite::passes
