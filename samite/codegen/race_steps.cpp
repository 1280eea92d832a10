#include "samite/codegen/race_steps.h"

#include "samite/ir/visit.h"
#include "samite/passes/threads/check_races.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

using Definitions = std::unordered_map<LocalId, const Operation *>;

bool is_step(const Operation &operation) {
  const Value &value = operation.operands.back();
  if (operation.op == Op::AtomicOr) return true;
  return operation.op == Op::AtomicCompareExchange &&
         operation.operands[operation.operands.size() - 2].is_constant(0) && value.type() == ScalarType::Int64;
}

const Operation *defined(const Definitions &known, const Value &value, Op op) {
  const auto found = value.is_local() ? known.find(value.id()) : known.end();
  return found == known.end() || found->second->op != op ? nullptr : found->second;
}

// The instance with which the check compares the word: word == 0 | word >> bits == instance.
std::optional<Value> compared(const Definitions &known, const Check &check, const Value &word) {
  const Operation *either = defined(known, check.condition, Op::Or);
  const Operation *none = either ? defined(known, either->operands[0], Op::Equal) : nullptr;
  const Operation *own = either ? defined(known, either->operands[1], Op::Equal) : nullptr;
  const Operation *by = own ? defined(known, own->operands[0], Op::ShiftRight) : nullptr;
  if (!none || !by || none->operands[0] != word || !none->operands[1].is_constant(0) || by->operands[0] != word ||
      !by->operands[1].is_constant(passes::RaceWord::access_bits))
    return std::nullopt;
  return own->operands[1];
}

}  // namespace

RaceSteps::RaceSteps(const Kernel &kernel) {
  std::vector<int> uses(kernel.local_count, 0);
  bool any = false;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    for_each_operand(stmt, [&](const Value &value) { uses[value.is_local() ? value.id() : 0] += value.is_local(); });
    const auto *check = stmt.as<Check>();
    any = any || (check && check->race);
  });
  if (!any) return;
  read(kernel.body, uses);
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const If *branch = stmt.as<If>()) {
      read(branch->then_block, uses);
      read(branch->else_block, uses);
    } else if (const For *loop = stmt.as<For>()) {
      read(loop->body, uses);
    } else if (const While *repeated = stmt.as<While>()) {
      read(repeated->condition_block, uses);
      read(repeated->body, uses);
    }
  });
}

void RaceSteps::read(const Block &block, const std::vector<int> &uses) {
  Definitions known;
  for (const Stmt &stmt : block) {
    if (const Let *let = stmt.as<Let>()) known.insert_or_assign(let->local, &let->value);
    const Check *check = stmt.as<Check>();
    if (!check || !check->race || check->message.values.size() < 2) continue;
    const Value &access = check->message.values[0], &word = check->message.values[1];
    const auto made = word.is_local() ? known.find(word.id()) : known.end();
    if (made == known.end() || !is_step(*made->second) || !access.is_constant()) continue;
    const std::optional<Value> instance = compared(known, *check, word);
    if (!instance) continue;
    const Operation &either = *known.at(check->condition.id());
    const Operation &own = *known.at(either.operands[1].id());
    std::vector<LocalId> condition{check->condition.id(), either.operands[0].id(), either.operands[1].id(),
                                   own.operands[0].id()};
    if (std::ranges::any_of(condition, [&](LocalId local) { return uses[local] != 1; })) continue;
    steps_.insert_or_assign(word.id(), RaceStep{check, access.as_int(), *instance, std::move(condition)});
  }
}

const RaceStep *RaceSteps::find(LocalId word) const {
  const auto found = steps_.find(word);
  return found == steps_.end() ? nullptr : &found->second;
}

void RaceSteps::write(const RaceStep &step) {
  checks_.insert(step.check);
  conditions_.insert(step.condition.begin(), step.condition.end());
}

}  // namespace samite::codegen
