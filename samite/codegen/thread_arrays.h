// Local arrays of CUDA's threads, and memory of their blocks: their storage and the access to their elements.
#pragma once

#include "samite/codegen/element_loops.h"
#include "samite/codegen/emission.h"
#include "samite/codegen/failures.h"
#include "samite/codegen/tile_places.h"

#include <map>
#include <optional>
#include <set>

namespace samite::codegen {

class ThreadArrays {
 public:
  ThreadArrays(Emission &emission, Failures &failures, const TilePlaces &places, const ElementLoops &element_loops);

  void allocate(const ir::Allocate &allocate, SourceLocation where);
  std::string load(const ir::Operation &operation, SourceLocation where);
  void store(const ir::LocalStore &store, SourceLocation where);

 private:
  struct LocalArray {
    ScalarType type;
    ir::Value size;
    bool of_block;
  };
  const LocalArray &array_of(ir::LocalArrayId array) const;
  bool checks(const ir::Value &index, const ir::Value &size) const;
  std::string in_bounds(const ir::Value &index, const ir::Value &size, SourceLocation where);

  Emission &emission_;
  Failures &failures_;
  const TilePlaces &places_;
  const ElementLoops &element_loops_;
  std::vector<std::optional<LocalArray>> arrays_;  // by LocalArrayId, once it is allocated
  // Factors in registers that only products read. Products round pairs of numbers at once, so a store takes the operand
  // of a cast to 16 bits instead of its result: by the cast, its operand.
  std::set<ir::LocalArrayId> rounded_when_multiplied_;
  std::map<ir::LocalId, ir::Value> rounded_;
};

}  // namespace samite::codegen
