#include "samite/codegen/lane_sums.h"

#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <set>
#include <utility>

namespace samite::codegen {

using namespace ir;
using passes::Shape;

std::size_t LaneSums::open(const For &loop) {
  const std::size_t outer = open_.count();
  for (Sum &sum : sums_of(loop)) {
    emission_.out.line("{0} {1} = {0}(0);", vector_name(sum.first->value.type()), sum.name);
    emission_.out.line("bool {}_used = false;", sum.name);
    open_.open(std::move(sum));
  }
  return outer;
}

std::vector<Sum> LaneSums::sums_of(const For &loop) const {
  std::vector<Sum> sums;
  // Checks name the instance, which is known at the addition alone.
  if (emission_.options.debug && !is_tile_kernel(emission_.kernel)) return sums;
  std::set<std::vector<std::uint64_t>> elements;
  std::set<LocalId> inside{loop.index};
  for (const Carried &carried : loop.carried) inside.insert(carried.inner);
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, ScalarType) { inside.insert(local); });
  });
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    const Accumulate *candidate = stmt.as<Accumulate>();
    if (!candidate || !emission_.only_added_to(candidate->array) || of(*candidate)) return;
    for (const Value &index : candidate->indices)
      if (values_.shape(index) != Shape::Uniform || (index.is_local() && inside.contains(index.id()))) return;
    if (elements.insert(element_of(*candidate)).second)
      sums.push_back({candidate, stmt.where(), fmt::format("sum{}", open_.count() + sums.size())});
  });
  return sums;
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
