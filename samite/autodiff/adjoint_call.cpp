#include "samite/autodiff/adjoint_call.h"

#include "samite/autodiff/adjoint.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/simplify.h"

#include <unordered_map>

namespace samite::autodiff {
namespace {

using namespace ir;

const std::vector<Value> only_element{Value::zero(ScalarType::Int32)};

void refuse_effects(const Kernel &kernel, const AdjointCall &call) {
  std::vector<bool> own(kernel.local_array_count);
  for_each_statement(call.primal, [&](const Stmt &stmt) {
    if (auto *allocate = stmt.as<Allocate>()) own[allocate->array] = true;
    if (auto array = array_written(stmt))
      throw UserError(stmt.where(), "kernel '" + kernel.name + "': adjoint_of a function that writes to array '" +
                                        kernel.parameters[*array].name +
                                        "' here; what it writes would be lost. Mend it by returning the value");
    auto *let = stmt.as<Let>();
    auto *store = stmt.as<LocalStore>();
    std::optional<LocalArrayId> local;
    if (let && let->value.op == Op::LocalLoad) local = let->value.array;
    if (store) local = store->array;
    if (local && !own[*local])
      throw UserError(stmt.where(), "kernel '" + kernel.name +
                                        "': adjoint_of a function that uses a local array from outside of it here; "
                                        "pass the elements as arguments, or declare the array in the function");
  });
}

// Turns one call into a kernel, and that kernel's adjoint into statements.
class Expansion {
 public:
  Expansion(Kernel &kernel, const AdjointCall &call, SourceLocation where)
      : kernel_(kernel), call_(call), where_(where), block_kernel_(kernel) {}

  Block run() {
    outside_ = static_cast<std::uint32_t>(kernel_.parameters.size());
    make_block_kernel();
    std::vector<bool> active(block_kernel_.parameters.size());
    for (std::uint32_t i = 0; i < call_.inputs.size(); ++i) active[input(i)] = true;
    for (std::uint32_t i = 0; i < call_.seeds.size(); ++i) active[output(i)] = true;
    const Adjoint adjoint =
        derive_adjoint(passes::simplify(passes::promote(block_kernel_)), active, /*may_alias=*/false);
    return in_place(adjoint);
  }

 private:
  std::uint32_t input(std::uint32_t i) const { return outside_ + i; }
  std::uint32_t output(std::uint32_t i) const { return outside_ + static_cast<std::uint32_t>(call_.inputs.size()) + i; }

  // Parameters: the kernel's, an array for each input and output, and a scalar for each local from outside.
  void make_block_kernel() {
    for (const AdjointInput &input : call_.inputs) add_parameter(input.type, 1);
    for (const AdjointSeed &seed : call_.seeds) add_parameter(seed.output.type(), 1);
    std::vector<bool> own(kernel_.local_count);
    for (const AdjointInput &input : call_.inputs) own[input.inner] = true;
    for_each_statement(call_.primal, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, Type) { own[local] = true; });
    });
    auto value = [&](const Value &value) {
      if (!value.is_local() || own[value.id()]) return value;
      auto [known, is_new] =
          parameter_of_.try_emplace(value.id(), static_cast<std::uint32_t>(block_kernel_.parameters.size()));
      if (is_new) {
        add_parameter(value.type(), 0);
        from_outside_.insert_or_assign(known->second, value);
      }
      return Value::parameter(value.type(), known->second);
    };
    Block body;
    for (std::uint32_t i = 0; i < call_.inputs.size(); ++i)
      body.push_back({Let{call_.inputs[i].inner, {Op::Load, call_.inputs[i].type, only_element, input(i)}}, where_});
    for (const Stmt &stmt : call_.primal) body.push_back(map_operands(stmt, value));
    for (std::uint32_t i = 0; i < call_.seeds.size(); ++i)
      body.push_back({Store{output(i), only_element, value(call_.seeds[i].output)}, where_});
    block_kernel_.body = std::move(body);
  }

  void add_parameter(Type type, int rank) {
    block_kernel_.parameters.push_back({"adjoint_of " + std::to_string(block_kernel_.parameters.size()), type, rank});
  }

  // Cotangents replace the gradients of outputs, sums the gradients of inputs.
  Block in_place(const Adjoint &adjoint) {
    Block block;
    for (const AdjointInput &input : call_.inputs)
      block.push_back({Let{input.gradient, {Op::Copy, input.type, {Value::zero(input.type)}}}, where_});
    const LocalId first = kernel_.local_count;
    const LocalArrayId first_array = kernel_.local_array_count;
    kernel_.local_count += adjoint.kernel.local_count;
    kernel_.local_array_count += adjoint.kernel.local_array_count;
    passes::Renaming names;
    names.local = [=](LocalId local) { return first + local; };
    names.local_array = [=](LocalArrayId array) { return first_array + array; };
    names.value = [=, this](const Value &value) {
      if (value.is_local()) return Value::local(value.type(), first + value.id());
      if (value.kind() != Value::Kind::Parameter) return value;
      auto outside = from_outside_.find(value.parameter_index());
      return outside == from_outside_.end() ? value : outside->second;
    };
    names.statement = [&](const Stmt &, Stmt renamed) { return without_arrays(std::move(renamed), adjoint); };
    for (Stmt &stmt : passes::renamed(adjoint.kernel.body, names)) block.push_back(std::move(stmt));
    return block;
  }

  Block without_arrays(Stmt stmt, const Adjoint &adjoint) {
    const auto &parameters = adjoint.kernel.parameters;
    if (auto *let = stmt.as<Let>(); let && array_read(stmt) && let->value.array >= outside_) {
      const Parameter &array = parameters[let->value.array];
      const bool taken = array.role == Role::Gradient;
      const Value &value =
          taken ? call_.seeds[array.primal - output(0)].cotangent : call_.inputs[let->value.array - outside_].value;
      return {{Let{let->local, {Op::Copy, let->value.type, {value}}}, stmt.where()}};
    }
    auto *accumulate = stmt.as<Accumulate>();
    if (!accumulate || accumulate->array < outside_) return {std::move(stmt)};
    // A local holds the sum; passes/simplify/promote.h turns it into values.
    const AdjointInput &input = call_.inputs[parameters[accumulate->array].primal - outside_];
    const LocalId sum = kernel_.local_count++;
    Operation add{Op::Add, input.type, {Value::local(input.type, input.gradient), accumulate->value}};
    return {{Let{sum, std::move(add)}, stmt.where()},
            {Assign{input.gradient, Value::local(input.type, sum)}, stmt.where()}};
  }

  Kernel &kernel_;
  const AdjointCall &call_;
  SourceLocation where_;
  Kernel block_kernel_;
  std::uint32_t outside_ = 0;  // the kernel's own parameters are below
  std::unordered_map<LocalId, std::uint32_t> parameter_of_;
  std::unordered_map<std::uint32_t, Value> from_outside_;
};

Block expanded(const Block &block, Kernel &kernel) {
  Block result;
  for (const Stmt &stmt : block)
    visit(
        stmt,
        [&](AdjointCall call) {
          call.primal = expanded(call.primal, kernel);
          refuse_effects(kernel, call);
          for (Stmt &instead : Expansion(kernel, call, stmt.where()).run()) result.push_back(std::move(instead));
        },
        [&](If branch) {
          branch.then_block = expanded(branch.then_block, kernel);
          branch.else_block = expanded(branch.else_block, kernel);
          result.emplace_back(std::move(branch), stmt.where());
        },
        [&](For loop) {
          loop.body = expanded(loop.body, kernel);
          result.emplace_back(std::move(loop), stmt.where());
        },
        [&](While loop) {
          loop.condition_block = expanded(loop.condition_block, kernel);
          loop.body = expanded(loop.body, kernel);
          result.emplace_back(std::move(loop), stmt.where());
        },
        [&](CustomAdjoint custom) {
          for (Block *nested : {&custom.primal, &custom.replay, &custom.adjoint}) *nested = expanded(*nested, kernel);
          result.emplace_back(std::move(custom), stmt.where());
        },
        [&](const auto &) { result.push_back(stmt); });
  return result;
}

}  // namespace

Kernel expand_adjoint_calls(const Kernel &captured) {
  bool any = false;
  for_each_statement(captured.body, [&](const Stmt &stmt) { any = any || stmt.as<AdjointCall>(); });
  if (!any) return captured;
  Kernel kernel = captured;
  kernel.body = expanded(captured.body, kernel);
  return kernel;
}

}  // namespace samite::autodiff
