// Local arrays on the CPU: their storage and the access to their elements.
//
// In lanes, each lane has its own array, and vector i holds element i of all lanes: an index that all lanes share
// accesses one vector, any other is a gather or scatter. Outside of lanes an array has scalars.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/lane_access.h"

#include <optional>

namespace samite::codegen {

class LaneArrays {
 public:
  // `index_sums` must outlive this.
  LaneArrays(Emission &emission, const LaneValues &values, Failures &failures, const IndexSums &index_sums);

  void allocate(const ir::Allocate &allocate, SourceLocation where);
  std::string load(const ir::Operation &operation, SourceLocation where);
  void store(const ir::LocalStore &store, SourceLocation where);
  // In memory, outside of lanes.
  std::string_view element_type(ir::LocalArrayId array) const;
  // Whether an access is harmless if no lane is active.
  bool harmless_without_lanes(ir::LocalArrayId array, const ir::Value &index) const;

 private:
  struct LocalArray {
    ScalarType type;
    ir::Value size;
    bool in_lanes;       // its elements are vectors
    bool of_block;       // its elements are an array's
    bool of_strip;       // an element for each instance of a strip: its elements are vectors of neighbours
    std::string mask{};  // of the lanes that it is allocated for, if it is in lanes
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
  const IndexSums &index_sums_;
  std::vector<std::optional<LocalArray>> arrays_;  // by LocalArrayId, once it is allocated
};

}  // namespace samite::codegen
