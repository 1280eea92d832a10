// Renames a local or a local array in captured statements.
//
// A moved value belongs to the new C++ object until the old object is assigned again. Statements captured in between,
// in blocks that are still open, name the one local or local array of both objects; from then on they must name the
// local of the object that has the value.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::lang {

// The same statements, reading and assigning `to` in place of the local `from`. None of them defines it.
ir::Block renamed_local(const ir::Block &block, ir::LocalId from, ir::LocalId to);
// The same for a local array that they load from and store to.
ir::Block renamed_local_array(const ir::Block &block, ir::LocalArrayId from, ir::LocalArrayId to);

}  // namespace samite::lang
