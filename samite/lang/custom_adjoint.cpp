#include "samite/lang/custom_adjoint.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/lang/trace.h"

#include <unordered_set>

namespace samite::lang {
namespace {

// Requires that the function changes none of the surrounding state, because its derivative relies on those values.
void require_closed(const ir::Block &block) {
  std::unordered_set<ir::LocalId> locals;
  std::unordered_set<ir::LocalArrayId> arrays;
  ir::for_each_statement(block, [&](const ir::Stmt &stmt) {
    ir::for_each_definition(stmt, [&](ir::LocalId local, ScalarType) { locals.insert(local); });
    if (auto *allocate = stmt.as<ir::Allocate>()) arrays.insert(allocate->array);
  });
  ir::for_each_statement(block, [&](const ir::Stmt &stmt) {
    if (auto *assign = stmt.as<ir::Assign>(); assign && !locals.contains(assign->local))
      throw UserError(stmt.where(),
                      "a function of custom_adjoint or adjoint_of assigns a local that is declared outside of it; "
                      "return the value instead");
    auto *let = stmt.as<ir::Let>();
    auto *store = stmt.as<ir::LocalStore>();
    bool foreign = (let && let->value.op == ir::Op::LocalLoad && !arrays.contains(let->value.array)) ||
                   (store && !arrays.contains(store->array));
    if (foreign)
      throw UserError(stmt.where(),
                      "a function of custom_adjoint or adjoint_of uses a local array that is declared outside of it; "
                      "pass elements as arguments, or declare it inside");
  });
}

// Runs `function` in a block of its own.
template <class F>
Values in_block(ir::Block &block, const F &function, SourceLocation where) {
  Trace &trace = Trace::current(where);
  const std::size_t depth = trace.open_block(where);
  trace.jumps().open(JumpTargets::Kind::Closed);
  Values values = function();
  trace.jumps().close();
  block = trace.close_block(depth);
  require_closed(block);
  return values;
}

Values new_locals(const Values &like) {
  Values locals;
  for (const ir::Value &value : like) locals.push_back(ir::Value::local(value.type(), Trace::current({}).new_local()));
  return locals;
}

}  // namespace

Values capture_custom(const CustomCall &call, SourceLocation where) {
  Trace &trace = Trace::current(where);
  ir::CustomAdjoint custom;
  const Values inputs = new_locals(call.operands);
  const Values values = in_block(custom.primal, [&] { return call.primal(inputs); }, where);
  Values replayed = values;
  custom.replays = call.replay.has_value();
  if (custom.replays) replayed = in_block(custom.replay, [&] { return (*call.replay)(inputs); }, where);

  const Values results = new_locals(values);
  Values cotangents;
  const bool outer = trace.set_in_adjoint(true);
  const Values gradients = in_block(
      custom.adjoint,
      [&] {
        cotangents = new_locals(values);
        return call.adjoint(inputs, results, cotangents);
      },
      where);
  trace.set_in_adjoint(outer);
  for (std::size_t i = 0; i < values.size(); ++i)
    custom.results.push_back({results[i].id(), values[i].type(), values[i], replayed[i], cotangents[i].id()});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    custom.operands.push_back({inputs[i].id(), call.operands[i], gradients[i]});
  trace.append({std::move(custom), where});
  return results;
}

Values capture_adjoint_call(FunctionRef<Values(const Values &)> function, const Values &inputs,
                            const Values &cotangents, SourceLocation where) {
  Trace &trace = Trace::current(where);
  ir::AdjointCall call;
  Values inner;
  const Values outputs = in_block(
      call.primal,
      [&] {
        inner = new_locals(inputs);
        return function(inner);
      },
      where);
  const Values gradients = new_locals(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    call.inputs.push_back({inner[i].id(), gradients[i].id(), inputs[i].type(), inputs[i]});
  for (std::size_t i = 0; i < outputs.size(); ++i) call.seeds.push_back({outputs[i], cotangents[i]});
  trace.append({std::move(call), where});
  return gradients;
}

void add_to_gradient(const Access &access, ir::Value value) {
  Trace &trace = Trace::current(access.where);
  if (!trace.in_adjoint())
    throw UserError(access.where,
                    "add_to_gradient outside of the adjoint of a custom_adjoint: elsewhere gradients are added by "
                    "Samite, or are arrays that the kernel is given");
  if (access.local) throw UserError(access.where, "add_to_gradient of an element of a local array, which has none");
  trace.append(
      {ir::Accumulate{access.array, {access.indices.begin(), access.indices.begin() + access.rank}, value, true, true},
       access.where});
}

}  // namespace samite::lang
