// Which thread loops of a block leave each element of shared memory to one thread, so that no thread waits for another
// between them.
//
// Iteration t of every thread loop runs on the same thread. Where no two iterations, be they of one loop or of both,
// touch one element, each thread reads and writes elements of its own, in the order of its program. Indices are known
// where they depend on the iteration, on the thread's own loops with constant bounds, and on constants.
#pragma once

#include "samite/ir/kernel.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace samite::schedules {

class OwnElements {
 public:
  // By element: the iteration that touches it.
  using Owners = std::unordered_map<std::int64_t, std::int64_t>;

  // Whether what two thread loops touch of the array belongs to one iteration element by element. They may be one loop.
  bool apart(const ir::For &a, const ir::For &b, ir::LocalArrayId array);

 private:
  // Nothing where an element belongs to several, or is not known.
  const std::optional<Owners> &owners(const ir::For &loop, ir::LocalArrayId array);

  std::map<std::pair<ir::LocalId, ir::LocalArrayId>, std::optional<Owners>> owners_;  // by the loop's index
};

}  // namespace samite::schedules
