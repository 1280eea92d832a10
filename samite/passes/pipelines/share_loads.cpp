#include "samite/passes/pipelines/share_loads.h"

#include "samite/ir/load_ahead.h"
#include "samite/ir/visit.h"

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace samite::passes {
namespace {

using namespace ir;

class LoadSharer {
 public:
  LoadSharer(const Kernel &kernel, const FactsOfArrays &arrays) : constant_(kernel.parameters.size()) {
    for (std::uint32_t p = 0; p < constant_.size(); ++p) constant_[p] = facts_of(arrays, p).unaliased;
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const auto array = array_written(stmt)) constant_[*array] = false;
    });
  }

  Block shared(const Block &block) {
    const std::size_t outer = added_.size();
    Block made;
    for (const Stmt &stmt : block) add(stmt, made);
    forget(outer);
    return made;
  }

 private:
  using Key = std::vector<std::uint64_t>;

  void forget(std::size_t from) {
    while (added_.size() > from) {
      known_.erase(added_.back());
      added_.pop_back();
    }
  }

  Value replaced(const Value &value) const {
    const auto found = value.is_local() ? replaced_.find(value.id()) : replaced_.end();
    return found == replaced_.end() ? value : found->second;
  }

  bool constant_load(const Operation &operation) const {
    return operation.op == Op::Load && constant_[operation.array] && !elements_ahead(operation);
  }

  // Loads of memory of the block or of a thread that this thread loop does not store to.
  bool steady_load(const Operation &operation) const {
    return operation.op == Op::LocalLoad && stored_ && !stored_->contains(operation.array);
  }
  Block shared_of_threads(const For &loop) {
    std::set<LocalArrayId> stored;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      if (const LocalStore *store = stmt.as<LocalStore>()) stored.insert(store->array);
      if (const Allocate *allocate = stmt.as<Allocate>()) stored.insert(allocate->array);
    });
    stored_ = std::move(stored);
    Block body = shared(loop.body);
    stored_.reset();
    return body;
  }

  void add(const Stmt &stmt, Block &made) {
    if (const Let *let = stmt.as<Let>()) return add_operation(*let, stmt.where(), made);
    if (const For *loop = stmt.as<For>()) return add_loop(*loop, stmt.where(), made);
    if (const If *branch = stmt.as<If>()) {
      If copy = *branch;
      copy.condition = replaced(copy.condition);
      copy.then_block = shared(branch->then_block);
      copy.else_block = shared(branch->else_block);
      made.emplace_back(std::move(copy), stmt.where());
      return;
    }
    made.push_back(map_operands(stmt, [&](const Value &value) { return replaced(value); }));
  }

  void add_operation(const Let &let, SourceLocation where, Block &made) {
    Let copy = let;
    for (Value &operand : copy.value.operands) operand = replaced(operand);
    if (constant_load(copy.value) || steady_load(copy.value) || info(copy.value.op).pure) {
      Key key{static_cast<std::uint64_t>(copy.value.op), static_cast<std::uint64_t>(copy.value.type.element()),
              copy.value.array, static_cast<std::uint64_t>(copy.value.attribute)};
      for (const Value &operand : copy.value.operands) {
        key.push_back(static_cast<std::uint64_t>(operand.kind()) << 8 |
                      static_cast<std::uint64_t>(operand.type().element()));
        key.push_back(operand.is_constant() ? operand.bits()
                      : operand.is_local()  ? operand.id()
                                            : operand.parameter_index());
      }
      if (const auto found = known_.find(key); found != known_.end()) {
        replaced_.insert_or_assign(let.local, found->second);
        return;
      }
      added_.push_back(known_.emplace(std::move(key), Value::local(copy.value.type, let.local)).first);
    }
    made.emplace_back(std::move(copy), where);
  }

  void add_loop(const For &loop, SourceLocation where, Block &made) {
    For copy = loop;
    copy.begin = replaced(copy.begin);
    copy.end = replaced(copy.end);
    copy.step = replaced(copy.step);
    const bool runs = copy.kind == LoopKind::Serial && copy.begin.is_constant() && copy.end.is_constant() &&
                      copy.step.is_constant() && copy.step.as_int() > 0 && copy.begin.as_int() < copy.end.as_int();
    const Block body = loop.kind == LoopKind::Thread ? shared_of_threads(loop) : shared(loop.body);
    copy.body.clear();
    std::set<LocalId> of_loop{loop.index};
    for (const Stmt &stmt : body)
      for_each_statement(Block{stmt}, [&](const Stmt &inner) {
        for_each_definition(inner, [&](LocalId local, const Type &) { of_loop.insert(local); });
      });
    for (const Stmt &stmt : body) {
      const Let *let = stmt.as<Let>();
      bool same = runs && let && (constant_load(let->value) || info(let->value.op).pure);
      if (same)
        for (const Value &operand : let->value.operands)
          same = same && !(operand.is_local() && of_loop.contains(operand.id()));
      if (!same) {
        copy.body.push_back(stmt);
        continue;
      }
      of_loop.erase(let->local);
      add_operation(*let, stmt.where(), made);
    }
    // A hoisted operation may equal an earlier one there.
    if (runs) copy.body = map_operands(copy.body, [&](const Value &value) { return replaced(value); });
    made.emplace_back(std::move(copy), where);
  }

  std::vector<bool> constant_;  // by parameter
  std::map<Key, Value> known_;
  std::vector<std::map<Key, Value>::iterator> added_;
  std::unordered_map<LocalId, Value> replaced_;
  std::optional<std::set<LocalArrayId>> stored_;  // in the thread loop
};

}  // namespace

Kernel share_loads(Kernel kernel, const FactsOfArrays &arrays) {
  kernel.body = LoadSharer(kernel, arrays).shared(kernel.body);
  return kernel;
}

}  // namespace samite::passes
