// Finds thread loops of a block that leave each element of shared memory to one thread, so that no barrier is needed
// between them.
//
// Iteration t of every thread loop runs on the same thread. If no two iterations with different t access the same
// element, each thread accesses only its own elements, in program order. Indices are known if they depend only on the
// iteration, on the thread's own loops with constant bounds, and on constants.
#pragma once

#include "samite/ir/kernel.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace samite::passes {

class OwnElements {
 public:
  // By element: the iteration that accesses it.
  using Owners = std::unordered_map<std::int64_t, std::int64_t>;

  // Whether each element of the array that the two thread loops access belongs to one iteration. They may be one loop.
  bool apart(const ir::For &a, const ir::For &b, ir::LocalArrayId array);

 private:
  // Empty if an element belongs to several iterations, or is unknown.
  const std::optional<Owners> &owners(const ir::For &loop, ir::LocalArrayId array);

  std::map<std::pair<ir::LocalId, ir::LocalArrayId>, std::optional<Owners>> owners_;  // by the loop's index
};

}  // namespace samite::passes
