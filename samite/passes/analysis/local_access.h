// The element of a local array that a statement itself loads or stores.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>

namespace samite::passes {

struct LocalAccess {
  ir::LocalArrayId array;
  ir::Value index;
};

inline std::optional<LocalAccess> local_access(const ir::Stmt &stmt) {
  if (const auto *store = stmt.as<ir::LocalStore>()) return LocalAccess{store->array, store->index};
  const auto *let = stmt.as<ir::Let>();
  if (!let || let->value.op != ir::Op::LocalLoad) return std::nullopt;
  return LocalAccess{let->value.array, let->value.operands[0]};
}

}  // namespace samite::passes
