// Updates of several values that belong together, and may be done in parts: the greatest value and its place, and the
// product of complex numbers.
#pragma once

#include "samite/schedule/algorithm.h"

#include <optional>
#include <vector>

namespace samite::schedules {

struct JointStep {
  enum class Kind : std::uint8_t {
    // f(i) = all of the new values where the first one compares so with the old one, or else the old ones. Of equal
    // ones the first that comes is kept, so that the parts have to follow each other as the whole does.
    chosen,
    // f(i) = the complex number f(i) times another one
    complex_product,
  } kind;
  ir::Op comparison;            // of what is chosen: less or greater, of the new and the old value
  std::vector<ir::Value> with;  // the new values; the real and the imaginary part of the factor
};

// The update's, if it is one.
std::optional<JointStep> joint_step_of(const Function &function, const Definition &update);

// What the step leaves as it is; nothing where the type has no such number.
std::optional<std::vector<ir::Value>> identity_of(const JointStep &step, const std::vector<ScalarType> &types);

// The same step of `own` with other values.
std::vector<ir::Value> step_with(const JointStep &step, const std::vector<ir::Value> &own,
                                 const std::vector<ir::Value> &with, ir::Block &block, ir::LocalId &next,
                                 SourceLocation where);

}  // namespace samite::schedules
