#include "samite/jit/graph_contents.h"

#include "samite/ir/visit.h"
#include "samite/jit/cuda_launch.h"
#include "samite/jit/launch_access.h"

namespace samite {
namespace {

using Contents = Graph::Contents;

Contents::Block copied(const Contents::Block &block) {
  Contents::Block copy;
  copy.reserve(block.size());
  for (const Contents::Part &part : block)
    std::visit(ir::Overloaded{[&](const std::unique_ptr<Contents::Condition> &condition) {
                                copy.emplace_back(std::make_unique<Contents::Condition>(Contents::Condition{
                                    condition->value, condition->repeats, copied(condition->body)}));
                              },
                              [&](const std::unique_ptr<Contents> &inner) { copy.emplace_back(inner->snapshot()); },
                              [&](const auto &one) { copy.emplace_back(one); }},
               part);
  return copy;
}

// Includes the parts of conditions.
void for_each_part(const Contents::Block &block, const std::function<void(const Contents::Part &)> &f) {
  for (const Contents::Part &part : block) {
    f(part);
    if (const auto *condition = std::get_if<std::unique_ptr<Contents::Condition>>(&part))
      for_each_part((*condition)->body, f);
  }
}

}  // namespace

void Graph::Contents::Step::write_into(driver::Graph &into) const {
  if (enabled)
    jit::LaunchAccess::cuda(launch)->put_in(into, nodes, jit::LaunchAccess::arguments(launch));
  else
    jit::LaunchAccess::cuda(launch)->put_nothing_in(into, nodes);
}

std::unique_ptr<Contents> Graph::Contents::snapshot() const {
  auto copy = std::make_unique<Contents>();
  for (const Step &step : steps) copy->steps.push_back({step.launch, {}, step.enabled});
  copy->block = copied(block);
  copy->has_conditions = has_conditions;
  copy->has_work_of_others = has_work_of_others;
  copy->kept = kept;
  return copy;
}

void Graph::Contents::for_each_step(const std::function<void(const Step &)> &f) const {
  for (const Step &step : steps) f(step);
  for_each_part(block, [&](const Part &part) {
    if (const auto *inner = std::get_if<std::unique_ptr<Contents>>(&part)) (*inner)->for_each_step(f);
  });
}

void Graph::Contents::for_each_written(FunctionRef<void(Storage &, const AnyBuffer &)> f) const {
  for (const Step &step : steps)
    if (step.enabled) jit::LaunchAccess::for_each_written(step.launch, f);
  for_each_part(block, [&](const Part &part) {
    if (const auto *operation = std::get_if<HostOperation>(&part)) f(*operation->target.storage(), operation->target);
    if (const auto *call = std::get_if<Call>(&part))
      for (const AnyBuffer &written : call->written) f(*written.storage(), written);
    if (const auto *inner = std::get_if<std::unique_ptr<Contents>>(&part)) (*inner)->for_each_written(f);
  });
}

}  // namespace samite
