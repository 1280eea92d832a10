// Copies statements with new names for their locals: from one kernel to another, or to a second place in the same
// kernel.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>

namespace samite::passes {

struct Renaming {
  std::function<ir::Value(const ir::Value &)> value;  // of what is read
  std::function<ir::LocalId(ir::LocalId)> local;      // of what is defined or assigned
  std::function<ir::LocalArrayId(ir::LocalArrayId)> local_array;
  // Replaces a renamed statement without blocks, given the old one. Without this function the renamed one stays.
  std::function<ir::Block(const ir::Stmt &before, ir::Stmt renamed)> statement = {};
};

// Statements of the structured form, without custom adjoints.
ir::Block renamed(const ir::Block &block, const Renaming &renaming);

// A statement of the lowered form, but for those inside of it, on other tiles of the block: loads and stores of their
// elements, and calls.
ir::Stmt on_tiles(const ir::Stmt &stmt, const std::function<ir::LocalArrayId(ir::LocalArrayId)> &tile);

}  // namespace samite::passes
