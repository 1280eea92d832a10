// The operations that were computed in the scopes that are open, so that one is found again by its operands.
//
// `a * b` and `b * a` are one value. What was last added goes first, as scopes do: `shrink` to the size from before a
// scope leaves it.
#pragma once

#include "samite/ir/stmt.h"

#include <optional>

namespace samite::passes {

class Computed {
 public:
  // `epoch` is that of the memory that is read, for loads.
  std::optional<ir::LocalId> find(const ir::Operation &operation, std::uint32_t epoch) const;

  // The operation must stay where it is until it is gone from here.
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
