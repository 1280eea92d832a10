// Values as they are written where they are read.
//
// Inside a thread loop of a target with explicit lanes, a local is written by its shape (`passes/uniformity.h`):
// Uniform as a scalar, Linear as the scalar of its first lane, Varying as a vector. On any other target every local is
// Uniform.
#pragma once

#include "samite/ir/value.h"
#include "samite/passes/uniformity.h"

#include <string>
#include <vector>

namespace samite::codegen {

class Values {
 public:
  using Shape = passes::Shape;

  Values(passes::Uniformity uniformity, bool explicit_lanes)
      : uniformity_(std::move(uniformity)), explicit_lanes_(explicit_lanes) {}

  Shape shape(const ir::Value &value) const { return uniformity_.of(value); }
  Shape shape(ir::LocalId local) const { return uniformity_.of(local); }
  bool varying(const ir::Value &value) const { return shape(value) == Shape::Varying; }
  std::string name(ir::LocalId local) const;
  static std::string type(ScalarType type, Shape shape);
  std::string scalar(const ir::Value &value) const;  // of a Linear value: its first lane's
  std::string vector(const ir::Value &value) const;
  std::string mixed(const ir::Value &value) const;  // as an operand beside a vector
  std::string as(const ir::Value &value, Shape shape) const;

  bool explicit_lanes() const { return explicit_lanes_; }
  bool in_lanes() const { return !mask_.empty(); }
  // The lanes that are active where the emitter stands. Code is reached only if at least one of them is, except in a
  // branch that is flattened (see `control_flow.cpp`).
  const std::string &mask() const { return mask_; }

 protected:
  const passes::Uniformity uniformity_;
  const bool explicit_lanes_;
  std::string mask_;          // empty outside of lanes
  int copy_ = -1;             // of vectors that go side by side, which one is written; -1: none
  std::vector<bool> copied_;  // by LocalId: whether each of them has its own
};

}  // namespace samite::codegen
