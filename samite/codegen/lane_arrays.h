// Local arrays of the CPU: where they lie, and how their elements are reached.
//
// In lanes, each lane has an array of its own, and element i of all lanes lies in vector i: an index that all lanes
// share is one vector, any other a gather or scatter. Outside of lanes an array is one of scalars.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/lane_access.h"

#include <optional>

namespace samite::codegen {

class LaneArrays {
 public:
  LaneArrays(Emission &emission, const LaneValues &values, Failures &failures);

  void allocate(const ir::Allocate &allocate, SourceLocation where);
  std::string load(const ir::Operation &operation, SourceLocation where);
  void store(const ir::LocalStore &store, SourceLocation where);
  // Whether an access does nothing where no lane is active.
  bool harmless_without_lanes(ir::LocalArrayId array, const ir::Value &index) const;

 private:
  struct LocalArray {
    ScalarType type;
    ir::Value size;
    bool in_lanes;  // its elements are vectors
    bool of_block;  // its elements are those of an array
    bool of_strip;  // an element for each instance of a strip: its elements are vectors of neighbours
  };
  const LocalArray &array_of(ir::LocalArrayId array) const;
  static bool surely_inside(const ir::Value &index, const LocalArray &array);
  std::string mask_of(const ir::Value &index, const LocalArray &array, SourceLocation where);
  LaneElements elements_of_block(ir::LocalArrayId array, const ir::Value &index) const;
  void store_of_block(const ir::LocalStore &store, ScalarType type);
  void store_outside_of_lanes(const ir::LocalStore &store, const LocalArray &array, SourceLocation where);
  void allocate_in_workspace(const ir::Allocate &allocate, std::string_view element, SourceLocation where);

  Emission &emission_;
  const LaneValues &values_;
  Failures &failures_;
  std::vector<std::optional<LocalArray>> arrays_;  // by LocalArrayId, once it is allocated
};

}  // namespace samite::codegen
