#include "samite/autodiff/adjoint.h"

#include "samite/autodiff/deriver.h"
#include "samite/autodiff/refusal.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/promote.h"
#include "samite/passes/relax_atomics.h"
#include "samite/passes/simplify.h"

#include <algorithm>

namespace samite::autodiff {
namespace {

using namespace ir;

std::vector<std::uint32_t> arrays_read(const Kernel &adjoint) {
  std::vector<std::uint32_t> arrays;
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && let->value.op == Op::Load && adjoint.parameters[let->value.array].role == Role::Primal)
      arrays.push_back(let->value.array);
  });
  std::sort(arrays.begin(), arrays.end());
  arrays.erase(std::unique(arrays.begin(), arrays.end()), arrays.end());
  return arrays;
}

// What the adjoint still asks for, now that dead code is gone: by the names of Keep.
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

std::vector<KeptValue> describe_kept(const Kernel &primal, const std::vector<bool> &kept) {
  std::vector<SourceLocation> defined(primal.local_count);
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, ScalarType) { defined[local] = stmt.where(); });
  });
  std::vector<KeptValue> values;
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    auto add = [&](const std::vector<Carried> &carried) {
      for (const Carried &c : carried)
        if (kept[c.inner])
          values.push_back({stmt.where(), c.next.is_local() ? defined[c.next.id()] : stmt.where(), c.type});
    };
    if (auto *loop = stmt.as<For>()) add(loop->carried);
    if (auto *loop = stmt.as<While>()) add(loop->carried);
  });
  return values;
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

Adjoint derive_adjoint(const Kernel &structured, const std::vector<bool> &active, bool may_alias) {
  refuse_moving_elements(structured, active);
  refuse_unordered_atomics(structured, active);
  refuse_lost_gradients(structured, active);
  refuse_stores_in_conditions(structured);
  Adjoint adjoint;
  Keep keep{std::vector<bool>(structured.local_count), std::vector<bool>(structured.local_array_count)};
  for (;;) {
    Deriver deriver(structured, active, keep);
    adjoint.kernel = passes::simplify(passes::promote(deriver.run()));
    adjoint.gradient_of = deriver.gradient_of();
    // What is kept must be computed, which may ask for more: of an outer loop, for instance.
    const std::vector<std::int32_t> missing = missing_values(adjoint.kernel);
    if (missing.empty()) break;
    for (std::int32_t name : missing) {
      refuse_old_value(structured, static_cast<LocalId>(name));
      internal_check(!keep.add(name), "a value is kept and still missing");
    }
  }
  refuse_values_changed_by_atomics(structured, adjoint.kernel);
  adjoint.values_before = overwritten_values(structured, adjoint.kernel);
  if (!may_alias) adjoint.kernel = passes::relax_atomics(adjoint.kernel);
  adjoint.values_read = arrays_read(adjoint.kernel);
  adjoint.kept = describe_kept(structured, keep.local);
  adjoint.empty = adjoint.kernel.body.empty();
  return adjoint;
}

}  // namespace samite::autodiff
