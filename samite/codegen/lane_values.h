// Values in the lanes of vectors: inside a thread loop of the CPU a local is written by its shape
// (`passes/uniformity.h`): Uniform as a scalar, Linear as the scalar of its first lane, Varying as a vector.
#pragma once

#include "samite/codegen/values.h"
#include "samite/passes/lane_steps.h"
#include "samite/passes/uniformity.h"

#include <string>
#include <utility>
#include <vector>

namespace samite::codegen {

class LaneValues final : public Values {
 public:
  using Shape = passes::Shape;

  explicit LaneValues(const ir::Kernel &kernel)
      : uniformity_(passes::uniformity(kernel)),
        steps_(passes::lane_steps(kernel, uniformity_)),
        in_pairs_(passes::in_pairs_of_lanes(kernel, steps_)) {}

  std::string name(ir::LocalId local) const override;
  std::string_view type(ScalarType type, ir::LocalId local) const override;
  std::string assigned(const ir::Value &value, ir::LocalId local) const override;

  const passes::Uniformity &uniformity() const { return uniformity_; }
  Shape shape(const ir::Value &value) const { return uniformity_.of(value); }
  Shape shape(ir::LocalId local) const { return uniformity_.of(local); }
  bool varying(const ir::Value &value) const { return shape(value) == Shape::Varying; }
  // Whether lanes go along every second element.
  bool every_second(const ir::Value &value) const { return value.is_local() && steps_[value.id()] == 2; }
  // Whether two lanes after each other have each element.
  bool each_twice(const ir::Value &value) const { return value.is_local() && in_pairs_[value.id()]; }
  static std::string_view type(ScalarType type, Shape shape);
  std::string vector(const ir::Value &value) const;
  std::string beside_vector(const ir::Value &value) const;  // as an operand
  std::string as(const ir::Value &value, Shape shape) const;

  bool in_lanes() const { return !mask_.empty(); }
  // The lanes that are active where the emitter stands. Code is reached only if at least one of them is, except in a
  // branch that is flattened (see `codegen/divergence.cpp`).
  const std::string &mask() const { return mask_; }
  // The mask from here on, empty outside of lanes. Returns the one before.
  std::string enter(std::string mask) { return std::exchange(mask_, std::move(mask)); }

  // Of vectors that go side by side each has its own of these locals, by LocalId. One of them is written from here on;
  // -1: none is.
  void copy_locals(std::vector<bool> copied) { copied_ = std::move(copied); }
  void enter_copy(int copy) { copy_ = copy; }

 private:
  const passes::Uniformity uniformity_;
  const std::vector<std::optional<std::int64_t>> steps_;  // by LocalId
  const std::vector<bool> in_pairs_;                      // by LocalId
  std::string mask_;
  int copy_ = -1;
  std::vector<bool> copied_;
};

}  // namespace samite::codegen
