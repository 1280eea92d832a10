// Values in the lanes of vectors: inside a thread loop of the CPU a local's shape (`passes/analysis/uniformity.h`)
// determines its text: Uniform is a scalar, Linear the scalar of its first lane, Varying a vector.
#pragma once

#include "samite/codegen/values.h"
#include "samite/passes/analysis/lane_steps.h"
#include "samite/passes/analysis/uniformity.h"

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
        in_pairs_(passes::in_pairs_of_lanes(kernel, steps_)),
        clamped_(passes::clamped_lanes(kernel, uniformity_)) {}

  std::string name(ir::LocalId local) const override;
  std::string_view type(ScalarType type, ir::LocalId local) const override;
  std::string assigned(const ir::Value &value, ir::LocalId local) const override;

  const passes::Uniformity &uniformity() const { return uniformity_; }
  Shape shape(const ir::Value &value) const { return uniformity_.of(value); }
  Shape shape(ir::LocalId local) const { return uniformity_.of(local); }
  bool varying(const ir::Value &value) const { return shape(value) == Shape::Varying; }
  // Whether lanes step over every second element.
  bool every_second(const ir::Value &value) const { return value.is_local() && steps_[value.id()] == 2; }
  // Whether two consecutive lanes share each element.
  bool each_twice(const ir::Value &value) const { return value.is_local() && in_pairs_[value.id()]; }
  // For an index of neighbours that is clamped: the index before; otherwise null.
  const ir::Value *before_clamps(const ir::Value &value) const {
    return value.is_local() && clamped_[value.id()] ? &*clamped_[value.id()] : nullptr;
  }
  static std::string_view type(ScalarType type, Shape shape);
  std::string vector(const ir::Value &value) const;
  std::string beside_vector(const ir::Value &value) const;  // as an operand
  std::string as(const ir::Value &value, Shape shape) const;

  bool in_lanes() const { return !mask_.empty(); }
  // The currently active lanes. Code is reached only if at least one of them is active, except in a flattened branch
  // (see `codegen/divergence.cpp`).
  const std::string &mask() const { return mask_; }
  // Sets the current mask, empty outside of lanes. Returns the previous one.
  std::string enter(std::string mask) { return std::exchange(mask_, std::move(mask)); }

  // In unroll and jam, each vector has its own copy of these locals, by LocalId. One copy is current; -1: none.
  void copy_locals(std::vector<bool> copied) { copied_ = std::move(copied); }
  void enter_copy(int copy) { copy_ = copy; }

 private:
  const passes::Uniformity uniformity_;
  const std::vector<std::optional<std::int64_t>> steps_;  // by LocalId
  const std::vector<bool> in_pairs_;                      // by LocalId
  const std::vector<std::optional<ir::Value>> clamped_;   // by LocalId
  std::string mask_;
  int copy_ = -1;
  std::vector<bool> copied_;
};

}  // namespace samite::codegen
