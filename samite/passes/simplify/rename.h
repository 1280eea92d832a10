// Copies statements with new names for their locals: from one kernel to another, or to a second place in the same
// kernel.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>

namespace samite::passes {

struct Renaming {
  std::function<ir::Value(const ir::Value &)> value;  // for values that are read
  std::function<ir::LocalId(ir::LocalId)> local;      // for locals that are defined or assigned
  std::function<ir::LocalArrayId(ir::LocalArrayId)> local_array;
  // Replaces a renamed statement without blocks, given the old one. If empty, the renamed one stays.
  std::function<ir::Block(const ir::Stmt &before, ir::Stmt renamed)> statement = {};
};

// Statements of the structured form, without custom adjoints.
ir::Block renamed(const ir::Block &block, const Renaming &renaming);

// A statement of the lowered form, without its nested ones, with other tiles of the block: in loads and stores of
// elements, and in calls.
ir::Stmt on_tiles(const ir::Stmt &stmt, const std::function<ir::LocalArrayId(ir::LocalArrayId)> &tile);

}  // namespace samite::passes
