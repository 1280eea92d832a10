#include "samite/passes/analysis/own_elements.h"

#include "samite/ir/visit.h"

#include <limits>
#include <unordered_set>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

// Runs the integers of a thread loop for each of its iterations, and notes the elements of one array that it touches.
class Run {
 public:
  Run(const For &loop, LocalArrayId array) : loop_(loop), array_(array) {}

  std::optional<OwnElements::Owners> owners() {
    // A loop of one iteration may be run by all threads.
    constexpr std::int64_t most_threads = 1024;
    const bool counted = loop_.kind == LoopKind::Thread && loop_.begin.is_constant() && loop_.begin.as_int() == 0 &&
                         loop_.end.is_constant() && loop_.end.as_int() > 1 && loop_.end.as_int() <= most_threads &&
                         loop_.step.is_constant() && loop_.step.as_int() == 1;
    if (!counted || !is_plain(loop_.body)) return std::nullopt;
    find_needed();
    for (thread_ = 0; thread_ < loop_.end.as_int(); ++thread_) {
      values_[loop_.index] = thread_;
      if (!run(loop_.body)) return std::nullopt;
    }
    if (owners_.empty()) return std::nullopt;
    return std::move(owners_);
  }

 private:
  // Finds the values from which indices of the array, and bounds of loops around its accesses, are computed.
  void find_needed() {
    std::unordered_map<LocalId, const Let *> lets;
    std::vector<LocalId> open;
    const auto need = [&](const Value &value) {
      if (value.is_local() && needed_.insert(value.id()).second) open.push_back(value.id());
    };
    for_each_statement(loop_.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      if (let) lets.emplace(let->local, let);
      if (const For *loop = stmt.as<For>(); loop && touches(loop->body))
        for (const Value &bound : {loop->begin, loop->end, loop->step}) need(bound);
      if (local_array_touched(stmt) != array_) return;
      need(let ? let->value.operands[0] : stmt.as<LocalStore>()->index);
    });
    while (!open.empty()) {
      const auto let = lets.find(open.back());
      open.pop_back();
      if (let == lets.end()) continue;
      for (const Value &operand : let->second->value.operands) need(operand);
    }
  }

  // Whether the threads go through it without waiting for each other.
  bool is_plain(const Block &block) const {
    bool plain = true;
    for_each_statement(block, [&](const Stmt &stmt) { plain = plain && !stmt.as<Barrier>(); });
    return plain;
  }

  std::optional<std::int64_t> value(const Value &value) const {
    if (value.is_constant()) {
      if (is_floating(value.type())) return std::nullopt;
      return value.as_int();
    }
    if (!value.is_local()) return std::nullopt;
    const auto found = values_.find(value.id());
    return found == values_.end() ? std::nullopt : found->second;
  }

  static std::optional<std::int64_t> computed(Op op, std::int64_t a, std::int64_t b) {
    switch (op) {
      case Op::Add: return a + b;
      case Op::Sub: return a - b;
      case Op::Mul: return a * b;
      case Op::Min: return a < b ? a : b;
      case Op::Max: return a > b ? a : b;
      case Op::And: return a & b;
      case Op::ShiftLeft: return b >= 0 && b < 31 ? std::optional(a << b) : std::nullopt;
      case Op::ShiftRight: return b >= 0 && b < 31 ? std::optional(a >> b) : std::nullopt;
      case Op::Div: return b > 0 ? std::optional(a / b) : std::nullopt;
      case Op::Rem: return b > 0 ? std::optional(a % b) : std::nullopt;
      default: return std::nullopt;
    }
  }

  std::optional<std::int64_t> computed(const Operation &operation) const {
    if (operation.type != ScalarType::Int32 && operation.type != ScalarType::Int64) return std::nullopt;
    const auto &operands = operation.operands;
    if (operation.op == Op::Copy || operation.op == Op::Cast) return value(operands[0]);
    if (operands.size() != 2) return std::nullopt;
    const auto a = value(operands[0]), b = value(operands[1]);
    if (!a || !b) return std::nullopt;
    const auto result = computed(operation.op, *a, *b);
    // A number that wraps around is not an element, and is not followed.
    const bool fits = result && *result >= std::numeric_limits<std::int32_t>::min() &&
                      *result <= std::numeric_limits<std::int32_t>::max();
    return fits ? result : std::nullopt;
  }

  bool touch(const Value &index) {
    const auto element = value(index);
    if (!element) return false;
    const auto [owner, is_new] = owners_.emplace(*element, thread_);
    return is_new || owner->second == thread_;
  }

  // Both sides of a branch, which may be taken or not. Returns whether all that is touched is known, and this thread's.
  bool run(const Block &block) {
    constexpr int most_steps = 1 << 17;
    for (const Stmt &stmt : block) {
      if (++steps_ > most_steps) return false;
      if (const Let *let = stmt.as<Let>()) {
        if (let->value.op == Op::LocalLoad && let->value.array == array_ && !touch(let->value.operands[0]))
          return false;
        if (needed_.contains(let->local)) values_[let->local] = computed(let->value);
      } else if (const LocalStore *store = stmt.as<LocalStore>()) {
        if (store->array == array_ && !touch(store->index)) return false;
      } else if (const If *branch = stmt.as<If>()) {
        if (!run(branch->then_block) || !run(branch->else_block)) return false;
        for (const BranchResult &result : branch->results) values_[result.local] = std::nullopt;
      } else if (const For *loop = stmt.as<For>()) {
        if (!run(*loop)) return false;
      } else if (const While *loop = stmt.as<While>();
                 loop && (touches(loop->condition_block) || touches(loop->body))) {
        return false;
      }
    }
    return true;
  }

  bool touches(const Block &block) const {
    bool touches = false;
    for_each_statement(block, [&](const Stmt &stmt) { touches = touches || local_array_touched(stmt) == array_; });
    return touches;
  }

  bool run(const For &loop) {
    if (!touches(loop.body)) return true;
    const auto begin = value(loop.begin), end = value(loop.end), step = value(loop.step);
    if (!begin || !end || !step || *step < 1) return false;
    for (const Carried &carried : loop.carried) values_[carried.inner] = std::nullopt;
    for (std::int64_t i = *begin; i < *end; i += *step) {
      values_[loop.index] = i;
      if (!run(loop.body)) return false;
    }
    return true;
  }

  const For &loop_;
  const LocalArrayId array_;
  std::int64_t thread_ = 0;
  int steps_ = 0;
  std::unordered_set<LocalId> needed_;
  std::unordered_map<LocalId, std::optional<std::int64_t>> values_;
  OwnElements::Owners owners_;
};

}  // namespace

const std::optional<OwnElements::Owners> &OwnElements::owners(const For &loop, LocalArrayId array) {
  const std::pair key(loop.index, array);
  const auto known = owners_.find(key);
  return known != owners_.end() ? known->second : owners_.emplace(key, Run(loop, array).owners()).first->second;
}

bool OwnElements::apart(const For &a, const For &b, LocalArrayId array) {
  const auto &of_a = owners(a, array);
  if (!of_a) return false;
  const auto &of_b = owners(b, array);
  if (!of_b) return false;
  for (const auto &[element, thread] : *of_a) {
    const auto other = of_b->find(element);
    if (other != of_b->end() && other->second != thread) return false;
  }
  return true;
}

}  // namespace samite::passes
