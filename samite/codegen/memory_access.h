// The address of an access to an array, and its instructions: one element for all lanes, a whole vector of neighbours,
// or an element for each lane.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/failures.h"
#include "samite/codegen/values.h"

#include <span>

namespace samite::codegen {

struct Access {
  passes::Shape shape = passes::Shape::Uniform;  // Uniform: one element; Linear: neighbours, one a lane; Varying: any
  std::string element;                           // Uniform: an lvalue
  std::string pointer, offsets;   // else: a pointer for the first lane; Varying: and each lane's distance from it
  std::string mask;               // the lanes that may touch memory
  std::string in_bounds;          // Uniform in debug mode: a bool
  std::string arguments() const;  // mask, pointer and offsets, for the prelude's functions
};

class MemoryAccess {
 public:
  MemoryAccess(Emission &emission, const Values &values, Failures &failures);

  Access access(std::uint32_t array, std::span<const ir::Value> indices, SourceLocation where);
  // Where a thread runs each instance: how many elements from the array's first one.
  std::string thread_offset(std::uint32_t array, std::span<const ir::Value> indices) const;

  std::string load(const ir::Operation &operation, const Access &from) const;
  std::string exchange(const ir::Operation &operation, SourceLocation where);
  std::string atomic(const ir::Operation &operation, SourceLocation where);

  // Whether a local, where a thread runs each instance, is only used to index: its arithmetic need not wrap around.
  bool only_indexes(ir::LocalId local) const { return only_index_[local]; }

 private:
  std::string index(const ir::Value &value) const;
  void check_bounds(Access &access, std::uint32_t array, std::span<const ir::Value> indices, SourceLocation where);

  Emission &emission_;
  const Values &values_;
  Failures &failures_;
  // Where a thread runs each instance, by LocalId: of what it is the sum or difference, and whether it only indexes.
  std::vector<const ir::Operation *> sum_of_;
  std::vector<bool> only_index_;
};

}  // namespace samite::codegen
