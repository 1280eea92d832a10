// Rebuilds a block by applying a function to each statement, which is what most passes do.
#pragma once

#include "samite/ir/kernel.h"

#include <functional>

namespace samite::passes {

// The blocks of a statement come first, so that `made` is given the statement with what became of them.
ir::Block rewrite(const ir::Block &block, const std::function<ir::Stmt(const ir::Stmt &)> &made);

// Likewise, where several statements, or none, may take the place of one: they are appended.
ir::Block rewrite(const ir::Block &block, const std::function<void(const ir::Stmt &, ir::Block &)> &append);

}  // namespace samite::passes
