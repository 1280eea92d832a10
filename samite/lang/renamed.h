// Statements of the captured form under other names.
//
// A value that was moved to another object of C++ is that object's until the object that it came from is assigned to.
// What was captured in between, in blocks that are still open, names the one local or local array of both: from then on
// it names the local of the object that has the value.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::lang {

// The same statements, which read and assign `to` in the place of the local `from`. None of them defines it.
ir::Block renamed_local(const ir::Block &block, ir::LocalId from, ir::LocalId to);
// The same for a local array whose elements they load and store.
ir::Block renamed_local_array(const ir::Block &block, ir::LocalArrayId from, ir::LocalArrayId to);

}  // namespace samite::lang
