// The elements of a block's array that the ranks of a grid send each other, and the parts of a block that need them.
//
// One message goes to the neighbour in each direction, diagonal ones included, so that all ghosts arrive together. At
// an end of the whole grid, messages along it include its boundary values.
#pragma once

#include "samite/distributed/grid_part.h"
#include "samite/runtime/extents.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace samite::distributed {

// The elements [begin, end) of an array, in each of its dimensions.
struct Box {
  int rank = 0;
  std::array<std::int64_t, maximum_rank> begin{}, end{};

  std::int64_t extent(int dimension) const {
    const auto d = static_cast<std::size_t>(dimension);
    return end[d] - begin[d];
  }
  std::int64_t count() const;
};

// The elements of a box that travel to or from a rank, from element `first` of the packed memory on.
struct GhostMessage {
  int rank;
  Box box;
  std::int64_t first;
};

struct GhostPlan {
  // Messages of two ranks are in the same order on both.
  std::vector<GhostMessage> sent, received;
  std::int64_t sent_count = 0, received_count = 0;  // elements
  Box own;                                          // has all elements that are sent
  std::vector<Box> ghosts;                          // has all elements that are received, each once
  std::optional<GridPart> interior;                 // empty: every element needs ghosts
  std::vector<GridPart> border;
};

// The inputs of a plan.
struct BlockShape {
  Extents block;
  std::vector<int> ghosts;
  // Whether there is a neighbour before and after the block, in each dimension.
  std::vector<std::array<bool, 2>> neighbours;
  // The rank of the neighbour in this direction, of -1, 0 or 1 in each dimension.
  std::function<int(const std::vector<int> &direction)> rank_in;
};
GhostPlan ghost_plan(const BlockShape &shape);

}  // namespace samite::distributed
