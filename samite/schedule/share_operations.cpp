#include "samite/schedule/share_operations.h"

#include "samite/ir/visit.h"

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

namespace samite::schedules {
namespace {

using namespace ir;

class Sharer {
 public:
  Block shared(const Block &block) {
    const std::size_t outer = added_.size();
    Block made;
    for (const Stmt &stmt : block) add(stmt, made);
    while (added_.size() > outer) {
      known_.erase(added_.back());
      added_.pop_back();
    }
    return made;
  }

 private:
  using Key = std::vector<std::uint64_t>;

  Value replaced(const Value &value) const {
    const auto found = value.is_local() ? replaced_.find(value.id()) : replaced_.end();
    return found == replaced_.end() ? value : found->second;
  }

  static Key key_of(const Operation &operation) {
    Key key{static_cast<std::uint64_t>(operation.op), static_cast<std::uint64_t>(operation.type.element()),
            operation.array, static_cast<std::uint64_t>(operation.attribute)};
    for (const Value &operand : operation.operands) {
      key.push_back(static_cast<std::uint64_t>(operand.kind()) << 8 |
                    static_cast<std::uint64_t>(operand.type().element()));
      key.push_back(operand.is_constant() ? operand.bits()
                    : operand.is_local()  ? operand.id()
                                          : operand.parameter_index());
    }
    return key;
  }

  void add(const Stmt &stmt, Block &made) {
    if (const Let *let = stmt.as<Let>()) {
      Let copy = *let;
      for (Value &operand : copy.value.operands) operand = replaced(operand);
      if (copy.value.op == Op::Copy) {
        replaced_.insert_or_assign(let->local, copy.value.operands[0]);
        return;
      }
      if (info(copy.value.op).pure) {
        Key key = key_of(copy.value);
        if (const auto found = known_.find(key); found != known_.end()) {
          replaced_.insert_or_assign(let->local, found->second);
          return;
        }
        added_.push_back(known_.emplace(std::move(key), Value::local(copy.value.type, let->local)).first);
      }
      made.emplace_back(std::move(copy), stmt.where());
    } else if (const For *loop = stmt.as<For>()) {
      For copy = *loop;
      copy.begin = replaced(copy.begin);
      copy.end = replaced(copy.end);
      copy.step = replaced(copy.step);
      copy.body = shared(loop->body);
      made.emplace_back(std::move(copy), stmt.where());
    } else if (const If *branch = stmt.as<If>()) {
      If copy = *branch;
      copy.condition = replaced(copy.condition);
      copy.then_block = shared(branch->then_block);
      copy.else_block = shared(branch->else_block);
      for (BranchResult &result : copy.results) {
        result.then_value = replaced(result.then_value);
        result.else_value = replaced(result.else_value);
      }
      made.emplace_back(std::move(copy), stmt.where());
    } else {
      made.push_back(map_operands(stmt, [&](const Value &value) { return replaced(value); }));
    }
  }

  std::map<Key, Value> known_;
  std::vector<std::map<Key, Value>::iterator> added_;
  std::unordered_map<LocalId, Value> replaced_;
};

}  // namespace

Block share_operations(const Block &body) { return Sharer().shared(body); }

}  // namespace samite::schedules
