// Accesses to arrays in lanes: one element for all lanes, a whole vector of neighbours, or an element for each lane.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/failures.h"
#include "samite/codegen/index_sums.h"
#include "samite/codegen/lane_values.h"

#include <span>

namespace samite::codegen {

struct LaneElements {
  passes::Shape shape = passes::Shape::Uniform;  // Uniform: one element; Linear: neighbours, one per lane; Varying: any
  std::string element;                           // Uniform: an lvalue
  std::string pointer, offsets;  // else: a pointer for the first lane; Varying: and each lane's offset from it
  bool every_second =
      false;  // Varying: the lanes' elements have a stride of two, and the same form in registers and memory
  bool each_twice = false;        // Varying: two consecutive lanes share each such element
  std::string unclamped;          // Varying: the first lane's offset before clamping, if lanes are neighbours there
  std::string mask;               // the lanes that may access memory
  std::string in_bounds;          // Uniform in debug mode: a bool
  std::string load() const;       // of a vector
  std::string arguments() const;  // mask, pointer and offsets, for the prelude's functions
  std::string guard() const;      // Uniform: the prefix of a statement
};

class LaneAccess {
 public:
  LaneAccess(Emission &emission, const LaneValues &values, Failures &failures)
      : emission_(emission), values_(values), failures_(failures), index_sums_(emission, values) {}

  LaneElements elements(std::uint32_t array, std::span<const ir::Value> indices, SourceLocation where);

  std::string load(const ir::Operation &operation, SourceLocation where);
  std::string exchange(const ir::Operation &operation, SourceLocation where);
  std::string atomic(const ir::Operation &operation, SourceLocation where);

  const IndexSums &index_sums() const { return index_sums_; }

 private:
  std::string offset_of_lane(const ir::Value &index, bool wide) const;
  void check_bounds(LaneElements &elements, std::uint32_t array, std::span<const ir::Value> indices,
                    SourceLocation where);
  std::string or_zero(const LaneElements &at, const std::string &text, ScalarType type) const;

  Emission &emission_;
  const LaneValues &values_;
  Failures &failures_;
  const IndexSums index_sums_;
};

}  // namespace samite::codegen
