#include "samite/codegen/sums.h"

#include "samite/ir/visit.h"

#include <set>
#include <utility>

namespace samite::codegen {

using namespace ir;
using passes::Shape;

const Sum *Sums::of(const Accumulate &accumulate) const {
  if (sums_.empty()) return nullptr;
  auto found = number_of_.find(element_of(accumulate));
  return found == number_of_.end() ? nullptr : &sums_[found->second];
}

void Sums::declare_in_lanes(const For &loop) {
  for (Sum &sum : lanes_of(loop)) {
    emission_.out.line("{0} {1} = {0}(0);", vector_name(sum.first->value.type()), sum.name);
    emission_.out.line("bool {}_used = false;", sum.name);
    open(std::move(sum));
  }
}

std::vector<Sum> Sums::lanes_of(const For &loop) const {
  std::vector<Sum> sums;
  // Checks name the instance, which is known at the addition alone.
  if (emission_.options.debug && !is_tile_kernel(emission_.kernel)) return sums;
  std::set<Element> elements;
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
      sums.push_back({candidate, stmt.where(), fmt::format("sum{}", sums_.size() + sums.size())});
  });
  return sums;
}

void Sums::add_lanes(std::size_t outer) {
  const std::vector<Sum> done(sums_.begin() + static_cast<std::ptrdiff_t>(outer), sums_.end());
  sums_.resize(outer);
  for (const Sum &sum : done) number_of_.erase(element_of(*sum.first));
  for (const Sum &sum : done) {
    const auto element = scalar_name(sum.first->value.type()), memory = memory_name(sum.first->value.type());
    const Access to = memory_.access(sum.first->array, sum.first->indices, sum.where);
    const std::string guard = to.in_bounds.empty() ? "" : " && " + to.in_bounds;
    const std::string lanes = fmt::format("sum_lanes<{}>(all_lanes(), {})", element, sum.name);
    if (emission_.facts(sum.first->array).worker_private)
      emission_.out.line("if ({}_used{}) {} += {};", sum.name, guard, to.element, lanes);
    else
      emission_.out.line("if ({}_used{}) atomic_add<{}>(&{}, {});", sum.name, guard, memory, to.element, lanes);
  }
}

void Sums::declare_of_launch(const For &outermost) {
  for_each_statement(outermost.body, [&](const Stmt &stmt) {
    auto *add = stmt.as<Accumulate>();
    if (!add || !add->over_launch || of(*add)) return;
    Sum sum{add, stmt.where(), fmt::format("sum{}", sums_.size())};
    emission_.out.line("{0} {1} = {0}(0);", scalar_name(add->value.type()), sum.name);
    emission_.out.line("bool {}_used = false;", sum.name);
    open(std::move(sum));
  });
}

void Sums::add_of_blocks() {
  const std::vector<Sum> sums = std::exchange(sums_, {});
  number_of_.clear();
  for (const Sum &sum : sums) {
    emission_.out.open("if (any_of_block({}_used)) {{", sum.name);
    const Access to = memory_.access(sum.first->array, sum.first->indices, sum.where);
    emission_.out.line("{}add_sum_of_block<{}>(&{}, {});",
                       to.in_bounds.empty() ? "" : fmt::format("if ({}) ", to.in_bounds),
                       memory_name(sum.first->value.type()), to.element, sum.name);
    emission_.out.close();
  }
}

void Sums::open(Sum sum) {
  number_of_[element_of(*sum.first)] = sums_.size();
  sums_.push_back(std::move(sum));
}

Sums::Element Sums::element_of(const Accumulate &accumulate) {
  Element element{accumulate.array};
  for (const Value &index : accumulate.indices) {
    element.push_back(static_cast<std::uint64_t>(index.kind()));
    element.push_back(static_cast<std::uint64_t>(index.type().element()));
    element.push_back(index.bits());
  }
  return element;
}

}  // namespace samite::codegen
