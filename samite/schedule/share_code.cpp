#include "samite/schedule/share_code.h"

#include "samite/ir/print.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace samite::schedules {
namespace {

using namespace ir;

// More would cost a launch more than a compile is worth.
constexpr std::size_t most_passed = 16;
constexpr std::size_t most_parameters = 64;

void for_each_launch(Steps &steps, const std::function<void(KernelLaunch &)> &f) {
  for (Step &step : steps) {
    if (auto *launch = std::get_if<KernelLaunch>(&step.kind)) f(*launch);
    if (auto *loop = std::get_if<HostLoop>(&step.kind)) for_each_launch(loop->body, f);
    if (auto *branch = std::get_if<HostBranch>(&step.kind)) {
      for_each_launch(branch->then_steps, f);
      for_each_launch(branch->else_steps, f);
    }
  }
}

// Whether the operation means the same for a constant and for a parameter of its value. A division by a constant is
// simpler than one by a parameter, which may be 0.
bool may_pass(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::ShiftLeft:
    case Op::ShiftRight: return true;
    default: return false;
  }
}

// The kernel with `replaced(constant, number)` for each constant that may become a parameter, numbered in the order of
// the text: operands of 32-bit integers that are the same for all instances.
Block with_bounds(const Kernel &kernel, const std::function<Value(const Value &, std::size_t)> &replaced) {
  std::vector<bool> uniform(kernel.local_count, false);
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.type != ScalarType::Int32) return;
    const bool computes = may_pass(let->value.op) || let->value.op == Op::Neg || let->value.op == Op::Extent;
    uniform[let->local] = computes && std::ranges::all_of(let->value.operands, [&](const Value &operand) {
                            return !operand.is_local() || uniform[operand.id()];
                          });
  });
  std::size_t number = 0;
  return passes::rewrite(kernel.body, [&](const Stmt &stmt) -> Stmt {
    const Let *let = stmt.as<Let>();
    if (!let || !uniform[let->local] || !may_pass(let->value.op)) return stmt;
    Let copy = *let;
    for (Value &operand : copy.value.operands)
      if (operand.is_constant()) operand = replaced(operand, number++);
    return {std::move(copy), stmt.where()};
  });
}

struct Bounds {
  std::string rest;  // the kernel without its names and these constants
  std::vector<Value> constants;
};

Bounds bounds_of(const Kernel &kernel) {
  Bounds found;
  Kernel nameless = kernel;
  nameless.name = "kernel";
  for (std::size_t p = 0; p < nameless.parameters.size(); ++p) nameless.parameters[p].name = fmt::format("p{}", p);
  const auto passed = static_cast<std::uint32_t>(nameless.parameters.size());
  nameless.parameters.push_back({"passed", ScalarType::Int32});
  nameless.body = with_bounds(kernel, [&](const Value &constant, std::size_t) {
    found.constants.push_back(constant);
    return Value::parameter(ScalarType::Int32, passed);
  });
  found.rest = to_string(nameless);
  return found;
}

struct Member {
  KernelLaunch *launch;
  std::vector<Value> constants;
};

// For each constant, the parameter that passes it; empty if all members have the same one.
using Passed = std::vector<std::optional<std::size_t>>;
struct Plan {
  Passed passed;
  std::size_t parameters = 0;
};

Plan plan_for(const std::vector<Member> &members) {
  Plan plan;
  std::map<std::vector<std::uint64_t>, std::size_t> known;  // by the members' values
  for (std::size_t i = 0; i < members[0].constants.size(); ++i) {
    std::vector<std::uint64_t> values;
    values.reserve(members.size());
    for (const Member &member : members) values.push_back(member.constants[i].bits());
    const bool equal = std::ranges::all_of(values, [&](std::uint64_t bits) { return bits == values[0]; });
    plan.passed.push_back(equal ? std::nullopt : std::optional(known.emplace(values, known.size()).first->second));
  }
  plan.parameters = known.size();
  return plan;
}

void pass(const Plan &plan, const Member &member) {
  Kernel &kernel = member.launch->kernel;
  const std::size_t own = kernel.parameters.size();
  kernel.body = with_bounds(kernel, [&](const Value &constant, std::size_t number) {
    const std::optional<std::size_t> &passed = plan.passed[number];
    return passed ? Value::parameter(constant.type(), static_cast<std::uint32_t>(own + *passed)) : constant;
  });
  kernel.parameters.resize(own + plan.parameters);
  member.launch->arguments.resize(own + plan.parameters, HostArgument{Value::constant(ScalarType::Int32, 0)});
  for (std::size_t i = 0; i < plan.passed.size(); ++i) {
    if (!plan.passed[i]) continue;
    const std::size_t parameter = own + *plan.passed[i];
    kernel.parameters[parameter] = {fmt::format("passed_{}", *plan.passed[i]), ScalarType::Int32};
    member.launch->arguments[parameter] = HostArgument{member.constants[i]};
  }
}

}  // namespace

void share_code(Program &program) {
  std::vector<KernelLaunch *> launches;
  for_each_launch(program.steps, [&](KernelLaunch &launch) { launches.push_back(&launch); });
  if (launches.size() < 2) return;
  std::vector<std::vector<Member>> groups;  // in the program's order
  std::map<std::string, std::size_t> known;
  for (KernelLaunch *launch : launches) {
    Bounds bounds = bounds_of(launch->kernel);
    const auto [group, added] = known.emplace(std::move(bounds.rest), groups.size());
    if (added) groups.emplace_back();
    groups[group->second].push_back({launch, std::move(bounds.constants)});
  }
  for (const std::vector<Member> &members : groups) {
    if (members.size() < 2) continue;
    const Plan plan = plan_for(members);
    const Kernel &first = members[0].launch->kernel;
    if (plan.parameters > most_passed || first.parameters.size() + plan.parameters > most_parameters) continue;
    for (const Member &member : members) pass(plan, member);
  }
}

}  // namespace samite::schedules
