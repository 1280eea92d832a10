// The text of values where they are read.
//
// Here every local is a scalar: a thread runs each instance, or the code is in a CPU's kernel outside of its thread
// loops. `codegen/lane_values.h` is for lanes.
#pragma once

#include "samite/ir/value.h"

#include <string>
#include <string_view>

namespace samite::codegen {

class Values {
 public:
  virtual ~Values() = default;

  virtual std::string name(ir::LocalId local) const;
  // A scalar; for a value that increases by one from lane to lane, that of the first lane.
  std::string scalar(const ir::Value &value) const;
  // The type of a variable for a local, and the text assigned to it.
  virtual std::string_view type(ScalarType type, ir::LocalId local) const;
  virtual std::string assigned(const ir::Value &value, ir::LocalId local) const;
};

}  // namespace samite::codegen
