// Inverts the indices of a call: finds the variables of the caller for which it reads a given element. Internal to the
// adjoints of pipelines.
#pragma once

#include "samite/schedule/forms.h"

#include <optional>
#include <vector>

namespace samite::autodiff {

// The index in one dimension, clamped(coefficient * variable + rest, low, high), solved for the variable. The rest has
// other variables only if the coefficient is 1 or -1 and nothing is clamped.
struct Inverse {
  std::size_t dimension;
  ir::LocalId variable;
  std::int64_t coefficient;
  passes::Affine rest;
  std::optional<passes::Affine> low = {}, high = {};

  bool is_clamped() const { return low || high; }
};

// In an order in which each rest has only variables that are not solved for, or were before. No variable is solved for
// twice; `variables` lists the preferred ones first. Dimensions without an entry have indices that cannot be inverted.
std::vector<Inverse> invert(const schedules::Forms &forms, const std::vector<ir::Value> &indices,
                            const std::vector<ir::LocalId> &variables);

}  // namespace samite::autodiff
