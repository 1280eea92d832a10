#include "samite/schedule/open_loops.h"

#include <algorithm>

namespace samite::schedules {

bool depends_on_threads(const OpenLoops &open, const Symbols &symbols, const passes::Affine &form, bool or_inside) {
  return symbols.depends_on(form, [&](const passes::Symbol &symbol) {
    return std::ranges::any_of(open.all, [&](const OpenLoop &loop) {
      return (loop.thread || (or_inside && loop.inside)) && loop.symbol == symbol;
    });
  });
}

}  // namespace samite::schedules
