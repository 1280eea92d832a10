// The loops over a lowered kernel's launch.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

// The first dimension first. Empty for a kernel without such loops, because it became empty.
inline std::vector<const ir::For *> launch_loops(const ir::Block &body, int rank) {
  std::vector<const ir::For *> loops;
  const ir::Block *block = &body;
  while (static_cast<int>(loops.size()) < rank) {
    const ir::For *next = nullptr;
    for (const ir::Stmt &stmt : *block)
      if (const auto *loop = stmt.as<ir::For>()) next = loop;
    if (!next) return {};
    loops.push_back(next);
    block = &next->body;
  }
  return loops;
}

}  // namespace samite::passes
