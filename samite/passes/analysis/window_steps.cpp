#include "samite/passes/analysis/window_steps.h"

namespace samite::passes {

using namespace ir;

std::optional<std::array<std::int64_t, 2>> window_step(std::span<const Value> indices, const Type &window,
                                                       const For &loop, const IndexForms &forms) {
  const std::size_t rank = indices.size(), of_window = window.shape().rank() == 2 ? 2 : 1;
  std::array<std::int64_t, 2> step{};
  for (std::size_t d = 0; d < rank; ++d) {
    const auto own = forms.slope(indices[d], loop);
    if (!own || (*own != 0 && d < rank - of_window)) return std::nullopt;
    if (d >= rank - of_window) step[d + 2 - rank] = *own * loop.step.as_int();
  }
  return step;
}

}  // namespace samite::passes
