#include "samite/autodiff/adjoint.h"

#include "samite/autodiff/deriver.h"
#include "samite/autodiff/refusal.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/inline_primals.h"
#include "samite/passes/privatise.h"
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
    if (let && reads_before(let->value, adjoint)) arrays.push_back(let->value.array);
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

// The arrays that the adjoint reads as the forward run has left them, and those that it writes.
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
    if (!let || let->value.op != Op::Load || let->value.attribute != load_afterwards) return;
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

// The sets of a and of b, by parameter.
std::vector<bool> both(std::vector<bool> a, const std::vector<bool> &b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
  return a;
}
std::vector<bool> without(std::vector<bool> a, const std::vector<bool> &b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] && !b[i];
  return a;
}
bool any(const std::vector<bool> &set) { return std::find(set.begin(), set.end(), true) != set.end(); }

// The adjoint with all that it needs of this kernel kept.
void derive(Adjoint &adjoint, const Kernel &primal, const std::vector<bool> &active, Notes *notes) {
  Keep keep{std::vector<bool>(primal.local_count), std::vector<bool>(primal.local_array_count)};
  for (;;) {
    if (notes) notes->sites.clear();
    Deriver deriver(primal, active, keep, notes);
    adjoint.kernel = passes::simplify(passes::promote(deriver.run()));
    adjoint.gradient_of = deriver.gradient_of();
    // What is kept must be computed, which may ask for more: of an outer loop, for instance.
    const std::vector<std::int32_t> missing = missing_values(adjoint.kernel);
    if (missing.empty()) break;
    for (std::int32_t name : missing) {
      refuse_old_value(primal, static_cast<LocalId>(name));
      internal_check(!keep.add(name), "a value is kept and still missing");
    }
  }
  adjoint.kept = describe_kept(primal, keep.local);
}

Adjoint derive_adjoint(const Kernel &structured, const std::vector<bool> &active, bool may_alias, Notes *notes) {
  const Kernel forward = passes::inline_primals(structured);
  refuse_unordered_atomics(forward, active);
  refuse_hidden_operands(structured, active);
  refuse_stores_in_conditions(forward);
  // Arrays that the adjoint cannot follow as they are, and those of them that are made local instead. Where arrays may
  // be one, an element is no instance's own.
  const std::vector<bool> moving = moving_elements(forward, active), lost = lost_gradients(forward, active);
  std::vector<bool> hard = both(moving, lost);
  passes::Privatised primal{structured, std::vector<bool>(active.size())};
  Adjoint adjoint;
  for (;;) {
    if (any(hard) && !may_alias) primal = passes::privatise(structured, hard);
    refuse_moving_elements(forward, without(moving, primal.done));
    refuse_lost_gradients(forward, without(lost, primal.done));
    derive(adjoint, primal.kernel, active, notes);
    // An array that is made local is read before anything is written to it.
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

Adjoint derive_adjoint(const Kernel &structured, const std::vector<bool> &active, bool may_alias) {
  return derive_adjoint(structured, active, may_alias, nullptr);
}

Adjoint derive_noting_adjoint(const Kernel &structured, const std::vector<bool> &active, bool may_alias, Notes &notes) {
  return derive_adjoint(structured, active, may_alias, &notes);
}

}  // namespace samite::autodiff
