// The operations that were computed in the open scopes, to be found again by their operands.
//
// `a * b` and `b * a` are one value. To leave a scope, `shrink` to the size from before it: what was added last goes
// first.
#pragma once

#include "samite/ir/stmt.h"

#include <optional>

namespace samite::passes {

class Computed {
 public:
  // `epoch`: for loads, of the memory that they read.
  std::optional<ir::LocalId> find(const ir::Operation &operation, std::uint32_t epoch) const;

  // Keeps a pointer to the operation, which must outlive its entry.
  void add(const ir::Operation &operation, std::uint32_t epoch, ir::LocalId local);

  std::size_t size() const { return entries_.size(); }
  void shrink(std::size_t size);

 private:
  static constexpr std::uint32_t none = ~0u;

  struct Entry {
    std::size_t hash;
    const ir::Operation *operation;
    std::uint32_t epoch;
    ir::LocalId local;
    std::uint32_t next;  // with the same head
  };
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> heads_ = std::vector<std::uint32_t>(1024, none);  // by hash: the last entry
};

}  // namespace samite::passes
