// A copy of statements under other names: what a block of one kernel becomes in another, or in a second place of its
// own.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>

namespace samite::passes {

struct Renaming {
  std::function<ir::Value(const ir::Value &)> value;  // of what is read
  std::function<ir::LocalId(ir::LocalId)> local;      // of what is defined or assigned
  std::function<ir::LocalArrayId(ir::LocalArrayId)> local_array;
  // Of each renamed statement without blocks, given the old one: what stands there instead, if it is not itself.
  std::function<ir::Block(const ir::Stmt &before, ir::Stmt renamed)> statement = {};
};

// Statements of the structured form, without custom adjoints.
ir::Block renamed(const ir::Block &block, const Renaming &renaming);

}  // namespace samite::passes
