#include "samite/codegen/inside.h"

#include "samite/ir/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace samite::codegen {

using namespace ir;

namespace {

class Reader {
 public:
  explicit Reader(const For &loop) : loop_(loop) {
    for (const Stmt &stmt : loop.body)
      for_each_definition(stmt, [&](LocalId local, Type) { own_[local] = stmt.as<Let>(); });
  }

  // Adds the limits of a condition; false for any other condition.
  bool read(const Value &condition, Inside &inside) const {
    if (is_before(condition)) {
      inside.conditions.push_back(condition);
      return true;
    }
    const Let *let = definition(condition);
    if (!let) return false;
    const std::vector<Value> &of = let->value.operands;
    if (let->value.op == Op::And) return read(of[0], inside) && read(of[1], inside);
    if (let->value.op != Op::GreaterEqual && let->value.op != Op::Less) return false;
    const std::optional<Value> first = before_index(of[0]);
    if (!first || !is_before(of[1])) return false;
    (let->value.op == Op::GreaterEqual ? inside.least : inside.below).push_back({*first, of[1]});
    return true;
  }

 private:
  bool is_before(const Value &value) const {
    return !value.is_local() || (value.id() != loop_.index && !own_.contains(value.id()));
  }
  const Let *definition(const Value &value) const {
    const auto found = value.is_local() ? own_.find(value.id()) : own_.end();
    return found == own_.end() ? nullptr : found->second;
  }
  // The value added to the loop's index.
  std::optional<Value> before_index(const Value &value) const {
    if (class_of(value.type()) != ScalarClass::Signed) return std::nullopt;
    if (value.is_local() && value.id() == loop_.index) return Value::zero(value.type());
    const Let *let = definition(value);
    if (!let || let->value.op != Op::Add) return std::nullopt;
    const std::vector<Value> &of = let->value.operands;
    const auto is_index = [&](const Value &term) { return term.is_local() && term.id() == loop_.index; };
    if (is_index(of[1]) && is_before(of[0])) return of[0];
    if (is_index(of[0]) && is_before(of[1])) return of[1];
    return std::nullopt;
  }

  const For &loop_;
  std::unordered_map<LocalId, const Let *> own_;  // definitions in the body; null unless by one of its Lets
};

}  // namespace

bool Inside::of(const If &branch) const { return std::ranges::find(branches, &branch) != branches.end(); }

std::string Inside::count(std::int64_t count, const std::function<std::string(const Value &)> &scalar) const {
  std::string all = fmt::format("i64({})", count);
  for (const Limit &limit : below)
    all = fmt::format("up_to({}, {}, {})", all, scalar(limit.bound), scalar(limit.first));
  std::string asked;
  const auto ask = [&](const std::string &text) { asked += (asked.empty() ? "" : " && ") + text; };
  for (const Value &condition : conditions) ask(scalar(condition));
  for (const Limit &limit : least) ask(fmt::format("i64({}) >= i64({})", scalar(limit.first), scalar(limit.bound)));
  return asked.empty() ? all : fmt::format("{} ? {} : 0", asked, all);
}

Inside inside_of(const For &loop) {
  Inside inside;
  if (!loop.begin.is_constant(0.0) || !loop.step.is_constant(1.0)) return inside;
  const Reader reader(loop);
  for (const Stmt &stmt : loop.body) {
    const If *branch = stmt.as<If>();
    if (!branch || branch->then_block.empty() || !branch->else_block.empty()) continue;
    Inside with_branch = inside;
    if (!reader.read(branch->condition, with_branch)) continue;
    with_branch.branches.push_back(branch);
    inside = std::move(with_branch);
  }
  return inside;
}

}  // namespace samite::codegen
