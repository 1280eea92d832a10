// Loop interchange: which thread loops run tile by tile, and how.
//
// In an all-pairs loop each instance adds to element j in iteration j, so that all instances meet there. Run vector by
// vector, every vector would sum its lanes for every j. Instead a tile of many vectors goes through the loop together:
//
//   for each tile                               thread loop
//     for each vector                           a run: what comes before the loop
//     for j                                     the loop is opened
//       for each vector                         a run: the body; the lanes' contributions stay lanes
//       sum over the lanes, add to element j    once for the whole tile
//     for each vector                           a run: what comes after
//
// The loops and branches around such an addition are opened: gone through once for all vectors, which needs bounds that
// all instances share; of a branch on which they differ, each side is run under a mask. Everything else is in runs.
// Each instance still does everything in its own order. What one run computes and another reads is kept from the one to
// the other: values of all lanes in an array with a vector for each vector of the tile.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/uniformity.h"

#include <optional>
#include <vector>

namespace samite::codegen {

// At the end of a run, what a local that lives across runs becomes: all of them at once.
struct TileAssignment {
  ir::LocalId target;
  ir::Value value;
  bool masked;  // only of the lanes that the run is for; the others keep theirs
};

struct TileStep {
  std::optional<ir::Stmt> opened;         // a For or an If; without one, the step is a run
  std::vector<TileStep> body, otherwise;  // of `opened`: the loop's body, or the branch's sides
  ir::Block statements;                   // of a run
  std::vector<TileAssignment> leaves;     // of a run
};

struct TilePlan {
  std::vector<TileStep> steps;
  // By LocalId: where a kept local's vectors are. One number for a loop's value inside and after. None: not kept.
  std::vector<std::optional<ir::LocalId>> slot;
  std::vector<bool> shared;  // by LocalId: defined in a run, the same for all instances, and read outside of that run
  std::size_t slots = 0;     // how many vectors each vector of the tile keeps
};

// Nothing where no addition would gain by it, or where a local array would have to be kept from one run to another.
// `only_added_to` is by parameter: arrays that the kernel adds to and touches in no other way, so that nothing tells
// when that happens.
std::optional<TilePlan> plan_tiles(const ir::Kernel &kernel, const ir::For &thread_loop,
                                   const passes::Uniformity &uniformity, const std::vector<bool> &only_added_to);

}  // namespace samite::codegen
