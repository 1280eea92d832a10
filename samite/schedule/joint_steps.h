// Updates of several values that belong together, and can be computed in parts: the greatest value and its place, and
// the product of complex numbers.
#pragma once

#include "samite/schedule/algorithm.h"

#include <optional>
#include <vector>

namespace samite::schedules {

struct JointStep {
  enum class Kind : std::uint8_t {
    // f(i) = all of the new values if the comparison of the first one with the old one holds, or else the old ones. The
    // first of equal values is kept, so the parts must be in the order of the whole.
    chosen,
    // f(i) = the complex number f(i) times another one
    complex_product,
  } kind;
  ir::Op comparison;            // chooses: less or greater, of the new and the old value
  std::vector<ir::Value> with;  // the new values; the real and the imaginary part of the factor
};

// The joint step of an update, if it is one.
std::optional<JointStep> joint_step_of(const Function &function, const Definition &update);

// The values that the step leaves unchanged; nothing if the type has no such number.
std::optional<std::vector<ir::Value>> identity_of(const JointStep &step, const std::vector<ScalarType> &types);

// The same step of `own` with other values.
std::vector<ir::Value> step_with(const JointStep &step, const std::vector<ir::Value> &own,
                                 const std::vector<ir::Value> &with, ir::Block &block, ir::LocalId &next,
                                 SourceLocation where);

}  // namespace samite::schedules
