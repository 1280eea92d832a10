// Loop interchange: which thread loops run tile by tile, and how.
//
// In an all-pairs loop each instance adds to element j in iteration j: all instances add to the same element. Run
// vector by vector, every vector would sum its lanes for every j. Instead many vectors go through the loop together.
// Here these vectors are called a tile; it has nothing to do with the values of a tile kernel.
//
//   for each tile                               thread loop
//     for each vector                           a run: what comes before the loop
//     for j                                     the loop is opened
//       for each vector                         a run: the body; the lanes' contributions stay lanes
//       sum over the lanes, add to element j    once for the whole tile
//     for each vector                           a run: what comes after
//
// The loops and branches around such an addition are opened: they run once for all vectors of the tile. So the bounds
// of an opened loop must be the same for all instances. Where instances differ on an opened branch, each side runs
// under a mask. Everything else is in runs. Each instance still does everything in its own order. A value that one run
// computes and another reads is kept in an array, with a vector for each vector of the tile.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/uniformity.h"

#include <optional>
#include <vector>

namespace samite::codegen {

// At the end of a run, the new value of a local that lives across runs. All of them are assigned at once.
struct TileAssignment {
  ir::LocalId target;
  ir::Value value;
  bool masked;  // only in the active lanes of the run; the others keep their value
};

struct TileStep {
  std::optional<ir::Stmt> opened;         // a For or an If; without one, the step is a run
  std::vector<TileStep> body, otherwise;  // of `opened`: the loop's body, or the branch's sides
  ir::Block statements;                   // of a run
  std::vector<TileAssignment> leaves;     // of a run
};

struct TilePlan {
  std::vector<TileStep> steps;
  // By LocalId: the slot of a kept local. A value that a loop carries has one slot, inside of the loop and after it.
  // None: not kept.
  std::vector<std::optional<ir::LocalId>> slot;
  std::vector<bool> shared;  // by LocalId: defined in a run, the same for all instances, and read outside of that run
  std::size_t slots = 0;     // how many vectors each vector of the tile keeps
};

// Nothing where no addition would gain, or where a local array would have to be kept from one run to another.
// `only_added_to` is by parameter: arrays that the kernel adds to and accesses in no other way, so that nothing depends
// on when it adds.
std::optional<TilePlan> plan_tiles(const ir::Kernel &kernel, const ir::For &thread_loop,
                                   const passes::Uniformity &uniformity, const std::vector<bool> &only_added_to);

}  // namespace samite::codegen
