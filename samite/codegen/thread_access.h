// Accesses to arrays if a thread runs each instance: one element.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/failures.h"

#include <span>

namespace samite::codegen {

struct ThreadElement {
  std::string lvalue;
  std::string in_bounds;      // in debug mode: a bool
  std::string guard() const;  // the prefix of a statement
};

class ThreadAccess {
 public:
  ThreadAccess(Emission &emission, Failures &failures);

  ThreadElement element(std::uint32_t array, std::span<const ir::Value> indices, SourceLocation where);
  // The distance from the array's first element, in elements.
  std::string offset(std::uint32_t array, std::span<const ir::Value> indices) const;

  std::string load(const ir::Operation &operation, const ThreadElement &from) const;
  std::string exchange(const ir::Operation &operation, SourceLocation where);
  std::string atomic(const ir::Operation &operation, SourceLocation where);

  // Whether a local only serves to index: its arithmetic need not wrap around.
  bool only_indexes(ir::LocalId local) const { return only_index_[local]; }

 private:
  std::string index(const ir::Value &value) const;

  Emission &emission_;
  Failures &failures_;
  // By LocalId: the sum or difference that it is, and whether it only indexes.
  std::vector<const ir::Operation *> sum_of_;
  const std::vector<bool> only_index_;
};

}  // namespace samite::codegen
