#include "samite/passes/pipelines/equal_loops.h"

#include "samite/ir/print.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/uniformity.h"
#include "samite/passes/pipelines/loop_functions.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

// Fewer loops compile as fast with their constants, and run faster. More parameters would be in memory.
constexpr std::size_t fewest_equal_loops = 4, most_passed_locals = 16;

bool is_passable(Type type) { return type == ScalarType::Int32 || type == ScalarType::Int64; }

// The locals that are only added to others, subtracted from them, or used as indices of local arrays. The pointers to
// such elements are the same for a constant and for a local of its value; in other operations a constant says more.
std::vector<bool> offsets_of_arrays(const Kernel &kernel) {
  std::vector<const Let *> definitions(kernel.local_count, nullptr);
  std::vector<bool> offset(kernel.local_count, true);
  const auto adds = [](const Operation &operation) { return operation.op == Op::Add || operation.op == Op::Sub; };
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (let && adds(let->value)) definitions[let->local] = let;
    if (let && (adds(let->value) || let->value.op == Op::LocalLoad)) return;
    const LocalStore *store = stmt.as<LocalStore>();
    for_each_operand(stmt, [&](const Value &value) {
      if (value.is_local() && !(store && value == store->index && value != store->value)) offset[value.id()] = false;
    });
  });
  // Operands are defined before the sum.
  for (LocalId local = kernel.local_count; local-- > 0;) offset[local] = offset[local] && definitions[local] != nullptr;
  for (bool changed = true; changed;) {
    changed = false;
    for (LocalId local = 0; local < kernel.local_count; ++local) {
      if (!definitions[local] || offset[local]) continue;
      for (const Value &operand : definitions[local]->value.operands) {
        if (!operand.is_local() || !offset[operand.id()]) continue;
        offset[operand.id()] = false;
        changed = true;
      }
    }
  }
  return offset;
}

// A loop without its names, and without the constants that may become locals, which are listed.
struct LoopForm {
  std::string rest;
  std::vector<Value> constants;
};

class EqualLoops {
 public:
  explicit EqualLoops(const Kernel &kernel)
      : kernel_(kernel),
        functions_(kernel),
        uniformity_(uniformity(kernel)),
        offsets_(offsets_of_arrays(kernel)),
        types_(local_types(kernel)),
        arrays_(kernel.local_array_count),
        next_(kernel.local_count) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const Allocate *allocate = stmt.as<Allocate>()) arrays_[allocate->array] = allocate;
    });
  }

  Kernel made() {
    std::vector<Member> members;
    collect(kernel_.body, members);
    plan(members);
    if (plans_.empty()) return kernel_;
    Kernel copy = kernel_;
    copy.body = with_locals(kernel_.body);
    copy.local_count = next_;
    return copy;
  }

 private:
  struct Member {
    const For *loop;
    LoopForm form;
  };
  // For each constant of a loop, the local that replaces it; none if it remains.
  struct Plan {
    std::vector<std::optional<std::size_t>> local;
    std::size_t locals = 0;
  };

  void collect(const Block &block, std::vector<Member> &members) {
    for (const Stmt &stmt : block) {
      if (const If *branch = stmt.as<If>()) {
        collect(branch->then_block, members);
        collect(branch->else_block, members);
      }
      const For *loop = stmt.as<For>();
      if (!loop) continue;
      if (functions_.written_by(*loop))
        members.push_back({loop, form_of(stmt)});
      else
        collect(loop->body, members);
    }
  }

  bool may_be_local(const Let &let) const {
    const Operation &operation = let.value;
    if (!is_passable(operation.type)) return false;
    switch (operation.op) {
      case Op::Add:
      case Op::Sub:
        if (offsets_[let.local]) return true;
        [[fallthrough]];
      case Op::Mul:
      case Op::Min:
      case Op::Max:
        return std::ranges::all_of(operation.operands,
                                   [&](const Value &value) { return uniformity_.of(value) == Shape::Uniform; });
      default: return false;
    }
  }

  // The statement with `replaced(constant)` for each constant that may become a local, always in the same order.
  Block with_constants(const Stmt &stmt, const std::function<Value(const Value &)> &replaced) const {
    return rewrite({stmt}, [&](const Stmt &each) -> Stmt {
      if (const Let *let = each.as<Let>(); let && may_be_local(*let)) {
        Let copy = *let;
        for (Value &operand : copy.value.operands)
          if (operand.is_constant()) operand = replaced(operand);
        return {std::move(copy), each.where()};
      }
      const For *loop = each.as<For>();
      if (!loop || !is_passable(loop->type)) return each;
      For copy = *loop;
      for (Value *bound : {&copy.begin, &copy.end})
        if (bound->is_constant()) *bound = replaced(*bound);
      return {std::move(copy), each.where()};
    });
  }

  LoopForm form_of(const Stmt &stmt) const {
    LoopForm form;
    const auto constant = static_cast<std::uint32_t>(kernel_.parameters.size());
    std::vector<Parameter> parameters = kernel_.parameters;
    parameters.push_back({"constant", ScalarType::Int64});
    const Block block = with_constants(stmt, [&](const Value &value) {
      form.constants.push_back(value);
      return Value::parameter(value.type(), constant);
    });
    std::map<LocalId, LocalId> locals;
    std::map<LocalArrayId, LocalArrayId> arrays;
    std::string outside;
    const auto local = [&](LocalId id) {
      return locals.try_emplace(id, static_cast<LocalId>(locals.size())).first->second;
    };
    const auto local_array = [&](LocalArrayId id) {
      const auto [found, added] = arrays.try_emplace(id, static_cast<LocalArrayId>(arrays.size()));
      if (added && arrays_[id])
        outside +=
            fmt::format("${} {} {}\n", found->second, name(arrays_[id]->type), static_cast<int>(arrays_[id]->space));
      return found->second;
    };
    const auto value = [&](const Value &old) {
      if (!old.is_local()) return old;
      const auto known = locals.size();
      const LocalId id = local(old.id());
      if (locals.size() > known) outside += fmt::format("%{} {}\n", id, name(types_[old.id()]));
      return Value::local(old.type(), id);
    };
    const Block same_names = renamed(block, {value, local, local_array});
    form.rest = to_string(same_names, parameters) + outside;
    return form;
  }

  void plan(const std::vector<Member> &members) {
    std::map<std::string, std::vector<const Member *>> groups;
    for (const Member &member : members) groups[member.form.rest].push_back(&member);
    for (const auto &[rest, group] : groups) {
      if (group.size() < fewest_equal_loops) continue;
      const Plan found = plan_for(group);
      if (found.locals == 0 || found.locals > most_passed_locals) continue;
      for (const Member *member : group) plans_.emplace(member->loop, found);
    }
  }

  // Constants that are equal to each other in each loop share a local.
  static Plan plan_for(const std::vector<const Member *> &group) {
    Plan plan;
    std::map<std::pair<bool, std::vector<std::uint64_t>>, std::size_t> known;  // by the loops' values
    for (std::size_t i = 0; i < group[0]->form.constants.size(); ++i) {
      std::vector<std::uint64_t> values;
      values.reserve(group.size());
      for (const Member *member : group) values.push_back(member->form.constants[i].bits());
      const bool equal = std::ranges::all_of(values, [&](std::uint64_t bits) { return bits == values[0]; });
      const std::pair key(group[0]->form.constants[i].type() == ScalarType::Int64, std::move(values));
      plan.local.push_back(equal ? std::nullopt : std::optional(known.try_emplace(key, known.size()).first->second));
    }
    plan.locals = known.size();
    return plan;
  }

  Block with_locals(const Block &block) {
    Block made;
    for (const Stmt &stmt : block) {
      if (const If *branch = stmt.as<If>()) {
        If copy = *branch;
        copy.then_block = with_locals(branch->then_block);
        copy.else_block = with_locals(branch->else_block);
        made.emplace_back(std::move(copy), stmt.where());
      } else if (const For *loop = stmt.as<For>(); loop && plans_.contains(loop)) {
        with_locals(stmt, plans_.at(loop), made);
      } else if (loop) {
        For copy = *loop;
        copy.body = with_locals(loop->body);
        made.emplace_back(std::move(copy), stmt.where());
      } else {
        made.push_back(stmt);
      }
    }
    return made;
  }

  void with_locals(const Stmt &loop, const Plan &plan, Block &made) {
    const LocalId first = next_;
    next_ += static_cast<LocalId>(plan.locals);
    std::vector<bool> defined(plan.locals, false);
    std::size_t number = 0;
    const Block changed = with_constants(loop, [&](const Value &constant) {
      const std::optional<std::size_t> &local = plan.local[number++];
      if (!local) return constant;
      const auto id = static_cast<LocalId>(first + *local);
      if (!defined[*local]) made.emplace_back(Let{id, {Op::Copy, constant.type(), {constant}}}, loop.where());
      defined[*local] = true;
      return Value::local(constant.type(), id);
    });
    made.insert(made.end(), changed.begin(), changed.end());
  }

  const Kernel &kernel_;
  const LoopFunctions functions_;
  const Uniformity uniformity_;
  const std::vector<bool> offsets_;       // by LocalId
  const std::vector<Type> types_;         // by LocalId
  std::vector<const Allocate *> arrays_;  // by LocalArrayId
  std::map<const For *, Plan> plans_;
  LocalId next_;
};

}  // namespace

Kernel equal_loops(Kernel scheduled) {
  if (!has_many_loops(scheduled)) return scheduled;
  return EqualLoops(scheduled).made();
}

}  // namespace samite::passes
