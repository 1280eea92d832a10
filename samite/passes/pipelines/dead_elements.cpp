#include "samite/passes/pipelines/dead_elements.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/local_access.h"
#include "samite/passes/simplify/rewrite.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;

using LocalElement = std::pair<LocalArrayId, std::int64_t>;

// Needed definitions and elements. Other statements, that is all but definitions of a single value and stores to such
// elements, are always needed with their operands.
class NeededElements {
 public:
  explicit NeededElements(const Kernel &kernel)
      : definitions_(kernel.local_count), needed_(kernel.local_count), whole_(kernel.local_array_count) {
    for_each_statement(kernel, [&](const Stmt &stmt) { find_whole(stmt); });
    for_each_statement(kernel, [&](const Stmt &stmt) {
      if (const Let *let = stmt.as<Let>()) definitions_[let->local] = &let->value;
      if (const std::optional<LocalElement> element = stored(stmt)) stores_[*element].push_back(stmt.as<LocalStore>());
    });
    for_each_statement(kernel, [&](const Stmt &stmt) {
      if (!may_go(stmt)) for_each_operand(stmt, [&](const Value &value) { need(value); });
    });
    while (!pending_.empty()) {
      const LocalId local = pending_.back();
      pending_.pop_back();
      if (const Operation *definition = definitions_[local]) need_definition(*definition);
    }
  }

  bool stays(const Stmt &stmt) const {
    if (!may_go(stmt)) return true;
    if (const Let *let = stmt.as<Let>()) return needed_[let->local];
    return stores_.at(*stored(stmt)).empty();  // those of needed elements have been removed
  }

 private:
  std::optional<LocalElement> element(LocalArrayId array, const Value &index) const {
    if (whole_[array] || !index.is_constant()) return std::nullopt;
    return LocalElement(array, index.as_int());
  }
  std::optional<LocalElement> stored(const Stmt &stmt) const {
    const LocalStore *store = stmt.as<LocalStore>();
    return store ? element(store->array, store->index) : std::nullopt;
  }
  bool may_go(const Stmt &stmt) const { return (stmt.as<Let>() && !has_effect(stmt)) || stored(stmt); }

  // Memory with accesses whose element is unknown, such as aliases.
  void find_whole(const Stmt &stmt) {
    if (const auto access = local_access(stmt); access && !access->index.is_constant()) whole_[access->array] = true;
    if (const Allocate *allocate = stmt.as<Allocate>(); allocate && allocate->buffer)
      whole_[allocate->array] = whole_[allocate->buffer->of] = true;
    if (is_on_tiles(stmt) || stmt.as<LoadStream>()) whole_.assign(whole_.size(), true);  // no schedule has these
  }

  void need(const Value &value) {
    if (!value.is_local() || needed_[value.id()]) return;
    needed_[value.id()] = true;
    pending_.push_back(value.id());
  }
  void need_definition(const Operation &operation) {
    for (const Value &operand : operation.operands) need(operand);
    if (operation.op != Op::LocalLoad) return;
    const std::optional<LocalElement> element = this->element(operation.array, operation.operands[0]);
    if (!element) return;
    for (const LocalStore *store : std::exchange(stores_[*element], {})) need(store->value);
  }

  std::vector<const Operation *> definitions_;  // of single values
  std::vector<bool> needed_;                    // by local
  std::vector<bool> whole_;                     // by array
  std::map<LocalElement, std::vector<const LocalStore *>> stores_;
  std::vector<LocalId> pending_;
};

}  // namespace

Kernel remove_dead_elements(Kernel kernel) {
  const NeededElements needed(kernel);
  kernel.body = rewrite(kernel.body, [&](const Stmt &stmt, Block &made) {
    if (needed.stays(stmt)) made.push_back(stmt);
  });
  return kernel;
}

}  // namespace samite::passes
