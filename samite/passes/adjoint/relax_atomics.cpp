#include "samite/passes/adjoint/relax_atomics.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/accesses.h"
#include "samite/passes/simplify/rewrite.h"

namespace samite::passes {
namespace {

using namespace ir;

// The indices of a gradient access, or null. `element` is the type of the accessed element.
const std::vector<Value> *gradient_access(const Kernel &kernel, const Stmt &stmt, std::uint32_t &array, Type &element) {
  const std::vector<Value> *indices = nullptr;
  if (auto *accumulate = stmt.as<Accumulate>()) {
    array = accumulate->array;
    indices = &accumulate->indices;
    element = accumulate->value.type();
  } else if (auto *let = stmt.as<Let>(); let && info(let->value.op).typing == Typing::Load) {
    array = let->value.array;
    indices = &let->value.operands;
    element = let->value.type;
  }
  return indices && kernel.parameters[array].role == Role::Gradient ? indices : nullptr;
}

Block relax(const Block &block, const std::vector<bool> &plain) {
  return rewrite(block, [&](const Stmt &stmt) -> Stmt {
    if (const auto *let = stmt.as<Let>(); let && let->value.op == Op::Exchange && plain[let->value.array]) {
      Let own = *let;
      own.value.attribute = 1;
      return {std::move(own), stmt.where()};
    }
    if (const auto *add = stmt.as<Accumulate>(); add && plain[add->array]) {
      Accumulate own = *add;
      own.atomic = false;
      return {std::move(own), stmt.where()};
    }
    return stmt;
  });
}

}  // namespace

Kernel relax_atomics(const Kernel &adjoint) {
  const IndexForms forms(adjoint);
  std::vector<Accesses> accesses(adjoint.parameters.size());
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    std::uint32_t array = 0;
    Type element = ScalarType::Float32;
    if (const std::vector<Value> *indices = gradient_access(adjoint, stmt, array, element))
      accesses[array].add(*indices, element, forms);
  });
  std::vector<bool> plain(adjoint.parameters.size());
  for (std::size_t i = 0; i < plain.size(); ++i)
    plain[i] = adjoint.parameters[i].role == Role::Gradient && accesses[i].one_to_one(adjoint.launch_rank);
  Kernel relaxed = adjoint;
  relaxed.body = relax(adjoint.body, plain);
  return relaxed;
}

}  // namespace samite::passes
