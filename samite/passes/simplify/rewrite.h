// Rebuilds a block by applying a function to each statement, which is what most passes do.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>

namespace samite::passes {

// Nested blocks are rebuilt first, so that `made` gets the statement with its new blocks.
ir::Block rewrite(const ir::Block &block, const std::function<ir::Stmt(const ir::Stmt &)> &made);

// A branch or a loop with each of its blocks replaced; any other statement as it is.
ir::Stmt with_blocks(const ir::Stmt &stmt, const std::function<ir::Block(const ir::Block &)> &made);

// As `rewrite` above, if several statements, or none, may replace one: they are appended.
ir::Block rewrite(const ir::Block &block, const std::function<void(const ir::Stmt &, ir::Block &)> &append);

}  // namespace samite::passes
