// Values as they are written where they are read.
//
// As they are here, every local is a scalar: where a thread runs each instance, and in a CPU's kernel outside of its
// thread loops. `codegen/lane_values.h` has those in lanes.
#pragma once

#include "samite/ir/value.h"

#include <string>
#include <string_view>

namespace samite::codegen {

class Values {
 public:
  virtual ~Values() = default;

  virtual std::string name(ir::LocalId local) const;
  // A scalar: of a value that differs from lane to lane by one, that of the first lane.
  std::string scalar(const ir::Value &value) const;
  // The type of a variable that is a local, and what is assigned to that.
  virtual std::string_view type(ScalarType type, ir::LocalId local) const;
  virtual std::string assigned(const ir::Value &value, ir::LocalId local) const;
};

}  // namespace samite::codegen
