// Finds the constant distance between the windows that a load reads in successive iterations.
#pragma once

#include "samite/passes/analysis/index_forms.h"

#include <array>
#include <optional>
#include <span>

namespace samite::passes {

// The rows and columns from each window of a loop to the next one, if constant.
std::optional<std::array<std::int64_t, 2>> window_step(std::span<const ir::Value> indices, const ir::Type &window,
                                                       const ir::For &loop, const IndexForms &forms);

}  // namespace samite::passes
