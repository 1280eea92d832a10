#include "samite/passes/analysis/common_writes.h"

#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::passes {
namespace {

using namespace ir;

class Finder {
 public:
  explicit Finder(const Kernel &kernel) : common_(kernel.local_count), written_(kernel.parameters.size()) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const auto array = array_written(stmt)) written_[*array] = true;
    });
    find(kernel.body);
  }

  std::vector<CommonWrite> take() { return std::move(found_); }

 private:
  // Whether a value is the same for all instances, in the same iteration of the enclosing loops.
  bool common(const Value &value) const { return !value.is_local() || common_[value.id()]; }
  bool common(const std::vector<Value> &values) const {
    return std::ranges::all_of(values, [&](const Value &value) { return common(value); });
  }

  // All instances reach the block.
  void find(const Block &block) {
    for (const Stmt &stmt : block) {
      if (const auto *let = stmt.as<Let>()) common_[let->local] = common(let->value);
      if (const auto *store = stmt.as<Store>(); store && common(store->indices) && !common(store->value))
        found_.push_back({store->array, store->indices, stmt.where()});
      if (const auto *add = stmt.as<Accumulate>(); add && !add->atomic && common(add->indices))
        found_.push_back({add->array, add->indices, stmt.where()});
      if (const auto *branch = stmt.as<If>(); branch && common(branch->condition)) {
        find(branch->then_block);
        find(branch->else_block);
      }
      if (const auto *loop = stmt.as<For>(); loop && common({loop->begin, loop->end, loop->step})) {
        common_[loop->index] = true;
        find(loop->body);
      }
    }
  }

  bool common(const Operation &operation) const {
    if (operation.op == Op::ThreadIndex) return false;
    if (operation.op == Op::Load) return !written_[operation.array] && common(operation.operands);
    return info(operation.op).pure && common(operation.operands);
  }

  std::vector<bool> common_, written_;  // by local; by parameter
  std::vector<CommonWrite> found_;
};

}  // namespace

std::vector<CommonWrite> common_writes(const Kernel &structured) { return Finder(structured).take(); }

}  // namespace samite::passes
