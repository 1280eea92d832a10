// Recognises plain exchanges, with which an adjoint takes a gradient element that no other thread accesses
// (passes/adjoint/relax_atomics.h).
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

inline bool is_plain_exchange(const ir::Operation &operation) {
  return operation.op == ir::Op::Exchange && operation.attribute == 1;
}

// The load of an exchange, without its store.
inline ir::Operation as_load(ir::Operation exchange) {
  exchange.op = ir::Op::Load;
  exchange.attribute = 0;
  return exchange;
}

}  // namespace samite::passes
