// Local arrays: where they lie, and how their elements are reached.
//
// In lanes, each lane has an array of its own, and element i of all lanes lies in vector i: an index that all lanes
// share is one vector, any other a gather or scatter. Outside of lanes an array is one of scalars.
#pragma once

#include "samite/codegen/element_loops.h"
#include "samite/codegen/emission.h"
#include "samite/codegen/memory_access.h"
#include "samite/codegen/tile_places.h"

#include <optional>

namespace samite::codegen {

class LocalArrays {
 public:
  LocalArrays(Emission &emission, const Values &values, Failures &failures, const TilePlaces &places,
              const ElementLoops &element_loops);

  // What a block takes from the workspace is given back where the block ends, however it is left.
  void open_scope(const ir::Block &block);
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
    bool shared;    // by all threads of a block: its elements are those of an array
    bool of_strip;  // an element for each instance of a strip: its elements are vectors of neighbours
  };
  const LocalArray &array_of(ir::LocalArrayId array) const;
  std::string mask_of(const ir::Value &index, const LocalArray &array, SourceLocation where);
  Access shared_access(ir::LocalArrayId array, const ir::Value &index) const;

  Emission &emission_;
  const Values &values_;
  Failures &failures_;
  const TilePlaces &places_;
  const ElementLoops &element_loops_;
  std::vector<std::optional<LocalArray>> arrays_;  // by LocalArrayId, once it is allocated
};

}  // namespace samite::codegen
