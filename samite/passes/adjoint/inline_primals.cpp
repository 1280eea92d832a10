#include "samite/passes/adjoint/inline_primals.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"

#include <unordered_map>

namespace samite::passes {
namespace {

using namespace ir;

class Inliner {
 public:
  // The block with primal blocks instead of custom adjoints. Their results are still read under the original names.
  Block flattened(const Block &block) {
    Block flat;
    for (const Stmt &stmt : block)
      visit(
          stmt,
          [&](const CustomAdjoint &custom) {
            for (const CustomOperand &each : custom.operands) value_of_.insert_or_assign(each.inner, each.operand);
            for (Stmt &inner : flattened(custom.primal)) flat.push_back(std::move(inner));
            for (const CustomResult &result : custom.results) value_of_.insert_or_assign(result.local, result.value);
          },
          [&](const auto &) {
            flat.push_back(with_blocks(stmt, [&](const Block &inner) { return flattened(inner); }));
          });
    return flat;
  }

  Value resolved(Value value) const {
    while (value.is_local()) {
      auto found = value_of_.find(value.id());
      if (found == value_of_.end()) break;
      value = found->second;
    }
    return value;
  }

 private:
  std::unordered_map<LocalId, Value>
      value_of_;  // by the results of custom adjoints, and by the inner names of operands
};

}  // namespace

bool has_custom_adjoint(const Kernel &structured) {
  bool found = false;
  for_each_statement(structured.body, [&](const Stmt &stmt) { found = found || stmt.as<CustomAdjoint>(); });
  return found;
}

Kernel inline_primals(const Kernel &structured) {
  Inliner inliner;
  Kernel kernel = structured;
  Block flat = inliner.flattened(structured.body);
  kernel.body = map_operands(flat, [&](const Value &value) { return inliner.resolved(value); });
  return kernel;
}

CustomAdjoint inline_nested_primals(const CustomAdjoint &custom) {
  Inliner inliner;
  CustomAdjoint flat = custom;
  for (Block *block : {&flat.primal, &flat.replay, &flat.adjoint}) *block = inliner.flattened(*block);
  const Stmt resolved =
      map_operands(Stmt(std::move(flat), {}), [&](const Value &value) { return inliner.resolved(value); });
  return *resolved.as<CustomAdjoint>();
}

}  // namespace samite::passes
