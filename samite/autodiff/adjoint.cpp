#include "samite/autodiff/adjoint.h"

#include "samite/autodiff/deriver.h"
#include "samite/autodiff/refusal.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/adjoint/inline_primals.h"
#include "samite/passes/adjoint/relax_atomics.h"
#include "samite/passes/simplify/dead_code.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/threads/privatise.h"
#include "samite/passes/tiles/forward_stores.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

namespace samite::autodiff {
namespace {

using namespace ir;

std::vector<std::uint32_t> arrays_read(const Kernel &adjoint) {
  std::vector<std::uint32_t> arrays;
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && reads_before(let->value, adjoint)) arrays.push_back(let->value.array);
  });
  std::sort(arrays.begin(), arrays.end());
  arrays.erase(std::unique(arrays.begin(), arrays.end()), arrays.end());
  return arrays;
}

// The values that the adjoint still needs after dead-code removal, by the numbers of Keep.
std::vector<std::int32_t> missing_values(const Kernel &adjoint) {
  std::vector<std::int32_t> missing;
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && let->value.op == Op::Unavailable) missing.push_back(let->value.attribute);
  });
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

// The planned memories that are read: those whose local arrays survive dead-code removal.
std::vector<Deriver::Planned> needed(const Deriver &deriver, const Kernel &alive) {
  std::vector<Deriver::Planned> needed;
  if (deriver.planned().empty()) return needed;
  std::set<LocalArrayId> left;
  for_each_statement(alive.body, [&](const Stmt &stmt) {
    if (auto *allocate = stmt.as<Allocate>()) left.insert(allocate->array);
  });
  for (const Deriver::Planned &planned : deriver.planned())
    if (left.contains(planned.array)) needed.push_back(planned);
  return needed;
}

// Gives checkpoints to the loops that may store more than the limit. Returns whether there are any.
bool add_checkpoints(Keep &keep, const std::vector<Deriver::Planned> &planned, std::int64_t limit) {
  struct Sum {
    std::int64_t each = 0;  // known bytes of an iteration
    std::optional<std::int64_t> length;
  };
  std::unordered_map<const std::vector<Carried> *, Sum> sums;
  std::vector<const std::vector<Carried> *> loops;  // in a fixed order
  for (const auto &[array, loop, value] : planned) {
    if (value.kept_for != KeptFor::iterations) continue;
    auto [entry, is_new] = sums.try_emplace(loop);
    if (is_new) loops.push_back(loop);
    Sum &sum = entry->second;
    sum.each += static_cast<std::int64_t>(size_of(value.type)) * value.elements.value_or(Keep::some_elements);
    sum.length = value.length;
  }
  bool added = false;
  for (const auto *loop : loops) {
    const Sum &sum = sums.at(loop);
    const std::int64_t iterations = limit / std::max<std::int64_t>(sum.each, 1);
    if (sum.length && *sum.length <= iterations) continue;
    added = keep.checkpoints.try_emplace(loop, sum.length ? 0 : iterations).second || added;
  }
  return added;
}

std::vector<LoopRuns> count_runs(const Kernel &primal, const Kernel &adjoint, const Keep &keep) {
  std::unordered_map<std::string, int> runs_of;  // by the loop's source location
  for_each_statement(adjoint.body, [&](const Stmt &run) {
    if (run.as<For>() || run.as<While>()) ++runs_of[run.where().to_string()];
  });
  std::vector<LoopRuns> loops;
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    const std::vector<Carried> *carried = nullptr;
    if (auto *loop = stmt.as<For>()) carried = &loop->carried;
    if (auto *loop = stmt.as<While>()) carried = &loop->carried;
    if (!carried || !stmt.where().known()) return;
    LoopRuns runs{stmt.where(), runs_of[stmt.where().to_string()], {}};
    if (auto known = keep.checkpoints.find(carried); known != keep.checkpoints.end())
      runs.checkpoints_beyond = known->second;
    if (runs.runs > 0) loops.push_back(runs);
  });
  return loops;
}

// Records the arrays that the adjoint reads as left by the forward run, and those that it writes.
void note_what_custom_adjoints_do(Adjoint &adjoint) {
  auto add = [](std::vector<std::uint32_t> &arrays, std::uint32_t array) {
    if (std::find(arrays.begin(), arrays.end(), array) == arrays.end()) arrays.push_back(array);
  };
  std::vector<Parameter> &parameters = adjoint.kernel.parameters;
  for_each_statement(adjoint.kernel.body, [&](const Stmt &stmt) {
    if (auto array = array_written(stmt); array && parameters[*array].role == Role::Primal) {
      add(adjoint.written, *array);
      parameters[*array].read_only = false;
    }
    auto *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load || (let->value.attribute & load_afterwards) == 0) return;
    add(adjoint.values_after, let->value.array);
    const auto &before = adjoint.values_read;
    if (std::find(before.begin(), before.end(), let->value.array) != before.end())
      throw UserError(stmt.where(), "the adjoint needs the elements of array '" + parameters[let->value.array].name +
                                        "' as the kernel has left them here, and as it found them elsewhere. Mend it "
                                        "by two arrays");
  });
}

}  // namespace

std::string derived_name(const std::vector<Parameter> &parameters, const Parameter &parameter,
                         const std::string &suffix) {
  std::string base = parameter.name + suffix, name = base;
  auto taken = [&](const Parameter &other) { return other.name == name; };
  for (int number = 2; std::any_of(parameters.begin(), parameters.end(), taken); ++number)
    name = base + "_" + std::to_string(number);
  return name;
}

namespace {

// The union of a and b, by parameter.
std::vector<bool> both(std::vector<bool> a, const std::vector<bool> &b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
  return a;
}
std::vector<bool> without(std::vector<bool> a, const std::vector<bool> &b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] && !b[i];
  return a;
}
bool any(const std::vector<bool> &set) { return std::find(set.begin(), set.end(), true) != set.end(); }

// Derives the adjoint repeatedly, until it stores all values that it needs.
void derive(Adjoint &adjoint, const Kernel &primal, const std::vector<bool> &active,
            std::optional<std::int64_t> memory_limit, Notes *notes) {
  Keep keep{std::vector<bool>(primal.local_count),
            std::vector<bool>(primal.local_array_count),
            {},
            memory_limit.value_or(usual_memory_limit)};
  const std::vector<bool> old = old_values(primal);
  for (;;) {
    if (notes) notes->sites.clear();
    Deriver deriver(primal, active, keep, notes);
    // Dead-code removal shows which values are missing. Simplify later: the kernel may be derived once more.
    const Kernel alive = passes::remove_dead_code(passes::promote(deriver.run()));
    // Computing stored values may need further values, such as those of an outer loop.
    std::vector<std::int32_t> missing = missing_values(alive);
    auto is_old = [&](std::int32_t name) {
      const auto number = static_cast<std::size_t>(name);
      return number < old.size() && old[number];
    };
    if (std::ranges::any_of(missing, is_old)) missing = missing_values(passes::simplify(alive));
    for (std::int32_t name : missing) {
      if (is_old(name)) refuse_old_value(primal, static_cast<LocalId>(name));
      internal_check(!keep.add(name), "a value is kept and still missing");
    }
    if (!missing.empty()) continue;
    const std::vector<Deriver::Planned> planned = needed(deriver, alive);
    if (add_checkpoints(keep, planned, keep.tape_limit)) continue;
    adjoint.kept.clear();
    for (const Deriver::Planned &known : planned) adjoint.kept.push_back(known.value);
    adjoint.kernel = passes::simplify_adjoint(alive);
    adjoint.gradient_of = deriver.gradient_of();
    break;
  }
  adjoint.loops = count_runs(primal, adjoint.kernel, keep);
}

Adjoint derive_with(const Kernel &captured, const std::vector<bool> &active, bool may_alias,
                    std::optional<std::int64_t> memory_limit, Notes *notes) {
  const Kernel structured = may_alias ? captured : passes::forward_stores(captured);
  const Kernel forward = passes::inline_primals(structured);
  refuse_unordered_atomics(forward, active);
  refuse_hidden_operands(structured, active);
  refuse_stores_in_conditions(forward);
  // `hard`: arrays that the adjoint cannot reverse directly. `primal.done`: those of them that are made local. None are
  // if two arrays may share memory: then no element belongs to one instance.
  const std::vector<bool> moving = moving_elements(forward, active), lost = lost_gradients(forward, active);
  std::vector<bool> hard = both(moving, lost);
  passes::Privatised primal{structured, std::vector<bool>(active.size())};
  Adjoint adjoint;
  for (;;) {
    if (any(hard) && !may_alias) primal = passes::privatise(structured, hard);
    refuse_moving_elements(forward, without(moving, primal.done));
    refuse_lost_gradients(forward, without(lost, primal.done));
    derive(adjoint, primal.kernel, active, memory_limit, notes);
    // A localised array is loaded before the kernel writes to it.
    const Kernel run = passes::inline_primals(primal.kernel);
    const std::vector<bool> late = without(values_read_late(run, adjoint.kernel), primal.done);
    if (!any(late)) break;
    if (may_alias || !any(without(late, hard))) refuse_values_read_late(run, late);
    hard = both(hard, late);
  }
  refuse_values_changed_by_atomics(forward, adjoint.kernel);
  adjoint.values_before = overwritten_values(forward, adjoint.kernel);
  if (!may_alias) adjoint.kernel = passes::relax_atomics(adjoint.kernel);
  adjoint.values_read = arrays_read(adjoint.kernel);
  note_what_custom_adjoints_do(adjoint);
  adjoint.empty = adjoint.kernel.body.empty();
  return adjoint;
}

}  // namespace

Adjoint derive_adjoint(const Kernel &structured, const std::vector<bool> &active, bool may_alias,
                       std::optional<std::int64_t> memory_limit) {
  return derive_with(structured, active, may_alias, memory_limit, nullptr);
}

Adjoint derive_noting_adjoint(const Kernel &structured, const std::vector<bool> &active, bool may_alias, Notes &notes) {
  return derive_with(structured, active, may_alias, std::nullopt, &notes);
}

}  // namespace samite::autodiff
