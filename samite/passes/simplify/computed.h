// A table of the operations that were computed in the open scopes, looked up by their operands. Used to share repeated
// operations.
//
// `a * b` and `b * a` count as the same operation. To leave a scope, `shrink` the table to the size that it had before
// the scope: entries are removed in reverse order.
#pragma once

#include "samite/ir/stmt.h"

#include <optional>

namespace samite::passes {

class Computed {
 public:
  // `epoch`: for loads, that of the memory that they read.
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
    std::uint32_t next;  // the next with the same head
  };
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> heads_ = std::vector<std::uint32_t>(1024, none);  // by hash: the last entry
};

}  // namespace samite::passes
