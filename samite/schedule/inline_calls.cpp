#include "samite/schedule/inline_calls.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/fold.h"

#include <fmt/core.h>

#include <map>
#include <tuple>
#include <unordered_map>

namespace samite::schedules {
namespace {

using namespace ir;

constexpr std::size_t most_statements = 200'000;

class Inliner {
 public:
  Inliner(Algorithm &algorithm, const std::vector<FunctionSchedule> &schedules)
      : algorithm_(algorithm), schedules_(schedules) {}

  void inline_into(Definition &definition, const std::string &name) {
    body_.clear();
    renamed_.clear();
    seen_.clear();
    for (const Stmt &stmt : definition.body) {
      if (body_.size() > most_statements)
        throw UserError(definition.where,
                        fmt::format("'{}' has more than {} operations with all that is inlined into it; compute some "
                                    "of the Funcs that it calls somewhere: compute_root() or compute_at(…)",
                                    name, most_statements));
      const Let *let = stmt.as<Let>();
      renamed_.insert_or_assign(let->local, copied(let->value, stmt.where()));
    }
    definition.body = std::move(body_);
    for (Value &value : definition.values) value = rename(value);
    for (Value &index : definition.indices) index = rename(index);
    if (definition.predicate) definition.predicate = rename(*definition.predicate);
  }

 private:
  Value rename(const Value &value) const {
    const auto found = value.is_local() ? renamed_.find(value.id()) : renamed_.end();
    return found == renamed_.end() ? value : found->second;
  }

  // Operations with equal operands are computed once.
  Value copied(Operation operation, SourceLocation where) {
    for (Value &operand : operation.operands) operand = rename(operand);
    if (operation.op == Op::Load)
      if (const auto called = algorithm_.function_of(operation.array);
          called && schedules_[called->function].compute.level == Place::Level::inlined)
        return inlined(*called, operation.operands);
    return made(std::move(operation), where);
  }

  Value made(Operation operation, SourceLocation where) {
    if (const auto folded = passes::fold(operation)) return *folded;
    std::vector<Key> key{{static_cast<std::uint64_t>(operation.op), operation.array,
                          static_cast<std::uint64_t>(operation.attribute),
                          static_cast<std::uint64_t>(operation.type.element())}};
    for (const Value &operand : operation.operands)
      key.push_back({static_cast<std::uint64_t>(operand.kind()),
                     operand.is_constant() ? operand.bits()
                     : operand.is_local()  ? operand.id()
                                           : operand.parameter_index(),
                     static_cast<std::uint64_t>(operand.type().element()), 0});
    if (const auto found = seen_.find(key); found != seen_.end()) return found->second;
    const Value value = Value::local(operation.type, algorithm_.local_count);
    seen_.emplace(std::move(key), value);
    body_.emplace_back(Let{algorithm_.local_count++, std::move(operation)}, where);
    return value;
  }

  Value inlined(const Algorithm::Value &called, const std::vector<Value> &indices) {
    const Function &function = algorithm_.functions[called.function];
    const Definition &definition = function.definitions[0];
    std::unordered_map<LocalId, Value> own;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      Value index = indices[d];
      if (index.type() != Type(ScalarType::Int32))
        index = made({Op::Cast, ScalarType::Int32, {index}}, definition.where);
      own.insert_or_assign(definition.indices[d].id(), index);
    }
    const auto rename_own = [&](const Value &value) {
      const auto found = value.is_local() ? own.find(value.id()) : own.end();
      return found == own.end() ? value : found->second;
    };
    for (const Stmt &stmt : definition.body) {
      const Let *let = stmt.as<Let>();
      Operation operation = let->value;
      for (Value &operand : operation.operands) operand = rename_own(operand);
      own.insert_or_assign(let->local, made(std::move(operation), stmt.where()));
    }
    return rename_own(definition.values[called.number]);
  }

  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

  Algorithm &algorithm_;
  const std::vector<FunctionSchedule> &schedules_;
  Block body_;
  std::unordered_map<LocalId, Value> renamed_;
  std::map<std::vector<Key>, Value> seen_;
};

}  // namespace

Algorithm with_inlined_calls(Algorithm algorithm, const std::vector<FunctionSchedule> &schedules) {
  // Callees first, so that inlined bodies contain no calls of inlined functions.
  for (const std::uint32_t f : algorithm.order)
    for (Definition &definition : algorithm.functions[f].definitions)
      Inliner(algorithm, schedules).inline_into(definition, algorithm.functions[f].name);
  return algorithm;
}

}  // namespace samite::schedules
