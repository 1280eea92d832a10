#include "samite/codegen/lane_sums.h"

#include "samite/codegen/spelling.h"
#include "samite/passes/threads/sum_over_lanes.h"

namespace samite::codegen {

using namespace ir;

std::size_t LaneSums::open(const For &loop) {
  const std::size_t outer = open_.count();
  // Checks name the instance, which may be known only at the addition.
  if (emission_.options.debug && !failures_.in_instance()) return outer;
  for (const passes::KeptSum &kept : passes::sums_kept_by(loop, values_.uniformity(), emission_.only_added_to())) {
    if (of(*kept.first)) continue;  // an enclosing loop keeps it
    const std::string name = fmt::format("sum{}", open_.count());
    emission_.out.line("{0} {1} = {0}(0);", vector_name(kept.first->value.type()), name);
    emission_.out.line("bool {}_used = false;", name);
    open_.open({kept.first, kept.where, name});
  }
  return outer;
}

void LaneSums::close(std::size_t outer) {
  for (const Sum &sum : open_.close(outer)) {
    const auto element = scalar_name(sum.first->value.type()), memory = memory_name(sum.first->value.type());
    const LaneElements to = access_.elements(sum.first->array, sum.first->indices, sum.where);
    const std::string guard = to.in_bounds.empty() ? "" : " && " + to.in_bounds;
    const std::string lanes = fmt::format("sum_lanes<{}>(all_lanes(), {})", element, sum.name);
    if (emission_.facts(sum.first->array).worker_private)
      emission_.out.line("if ({}_used{}) {} += {};", sum.name, guard, to.element, lanes);
    else
      emission_.out.line("if ({}_used{}) atomic_add<{}>(&{}, {});", sum.name, guard, memory, to.element, lanes);
  }
}

}  // namespace samite::codegen
