#include "samite/ir/verifier.h"

#include "samite/ir/load_ahead.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <map>
#include <set>

namespace samite::ir {

void Verifier::check_dimension(std::int32_t dimension, int rank, std::string_view of) const {
  if (dimension < 0 || dimension >= rank) fail("dimension {} is asked for, and {} has {}", dimension, of, rank);
}

void Verifier::check_operation(const Operation &operation) const {
  const OpInfo &op = info(operation.op);
  if (form_ == Form::lowered && operation.type.is_tile())
    fail("the lowered form has no values of type {}", name(operation.type));
  if (form_ == Form::lowered && operation.op == Op::Unavailable) fail("the lowered form has no unavailable values");
  if (op.arity >= 0 && operation.operands.size() != static_cast<std::size_t>(op.arity))
    fail("{} has {} operands, expected {}", op.name, operation.operands.size(), op.arity);
  for (const Value &operand : operation.operands) check_value(operand);
  if (op.arity < 0 && op.typing == Typing::Floating && operation.operands.empty()) fail("{} has no operands", op.name);
  if (const std::string error = tile_type_error(operation); !error.empty()) fail("{}: {}", op.name, error);
  if (operation.type.is_tile() && !is_tile_kernel(kernel_)) fail("a tile in a kernel whose instances are threads");
  switch (op.typing) {
    case Typing::Same:
      check_result(operation, operation.type.element() != ScalarType::Bool, "an arithmetic type");
      return check_operands(operation, operation.type);
    case Typing::Floating:
      check_result(operation, is_floating(operation.type), "a floating type");
      return check_operands(operation, operation.type);
    case Typing::Integer:
      check_result(operation, is_integer(operation.type), "an integer type");
      return check_operands(operation, operation.type);
    case Typing::Bits:
      check_result(operation, !is_floating(operation.type), "an integer type or bool");
      return check_operands(operation, operation.type);
    case Typing::Compare:
      check_result(operation, operation.type.element() == ScalarType::Bool, "bool");
      return check_operands(operation, operation.operands[0].type());
    case Typing::Select:
      check_value(operation.operands[0], operation.type.of(ScalarType::Bool), "operand 1 of select");
      return check_operands(operation, operation.type, 1);
    case Typing::Cast:
      if (operation.op == Op::BitCast) check_bit_cast(operation);
      return check_value(operation.operands[0]);
    case Typing::Copy: return check_operands(operation, operation.type);
    case Typing::Index:
      check_result(operation, is_index_type(operation.type), "i32 or i64");
      return check_dimension(operation.attribute, kernel_.launch_rank, "the launch");
    case Typing::Extent:
      check_result(operation, is_index_type(operation.type), "i32 or i64");
      return check_dimension(operation.attribute, array(operation.array).rank, "the array");
    case Typing::Load: {
      bool writes = operation.op == Op::Exchange;
      if (writes && operation.attribute != 0 && operation.attribute != 1)
        fail("exchange has attribute {}, expected 0 (atomic) or 1 (plain)", operation.attribute);
      const Parameter &from = writes ? writable_array(operation.array) : array(operation.array);
      if (const int elements = elements_ahead(operation)) check_ahead(from, operation, elements);
      if (is_load_by_warp(operation)) check_by_warp(from);
      check_element(from, operation.operands, operation.type);
      return check_result(operation, operation.type.element() == from.type, name(from.type));
    }
    case Typing::Atomic: return check_atomic(operation);
    case Typing::LocalLoad: {
      Type element = check_local_array(operation.array);
      check_index(operation.operands[0], "an index");
      check_whose_element(operation.array, operation.operands[0]);
      return check_result(operation, operation.type == element, name(element));
    }
    default: return;
  }
}

void Verifier::check_bit_cast(const Operation &operation) const {
  const Type from = operation.operands[0].type();
  for (const Type &type : {from, operation.type})
    if (type.element() == ScalarType::Bool || (is_floating(type) && size_of(type) <= 2))
      fail("bit_cast of {} to {}", name(from), name(operation.type));
  check_result(operation, size_of(from) == size_of(operation.type), "as many bytes as its operand");
}

void Verifier::check_by_warp(const Parameter &from) const {
  check_lowered("load by a warp");
  if (loops_.empty() || loops_.back()->threads.by_warp < 2)
    fail("a load by warp from @{} outside of a loop by warp", from.name);
}

void Verifier::check_loads_ahead() {
  std::map<LocalId, int> stores;
  std::set<LocalArrayId> shared;
  for_each_statement(kernel_.body, [&](const Stmt &stmt) {
    statement_ = &stmt;
    const Let *let = stmt.as<Let>();
    if (let && elements_ahead(let->value)) stores.emplace(let->local, 0);
    const Allocate *allocate = stmt.as<Allocate>();
    if (allocate && allocate->space == MemorySpace::shared) shared.insert(allocate->array);
    const LocalStore *store = stmt.as<LocalStore>();
    for_each_operand(stmt, [&](const Value &value) {
      const auto ahead = value.is_local() ? stores.find(value.id()) : stores.end();
      if (ahead == stores.end()) return;
      if (!store || !shared.contains(store->array) || !(store->value == value) || ++ahead->second > 1)
        fail("%{} is loaded ahead, and has a use other than one store to shared memory", value.id());
    });
  });
  statement_ = nullptr;
  for (const auto &[local, count] : stores)
    if (count == 0) fail("%{} is loaded ahead, and is not stored", local);
}

void Verifier::check_ahead(const Parameter &from, const Operation &operation, int elements) const {
  check_lowered("load ahead");
  if (!kernel_.scheduled || !threads_.in_loop) fail("a load ahead outside of a scheduled kernel's loops over threads");
  if (operation.type.is_tile() || from.rank == 0) fail("a load ahead that is not of an array's element");
  if (!may_be_ahead(from.type, elements))
    fail("a load ahead of {} elements of type {}, expected 4, 8 or 16 bytes", elements, name(from.type));
}

void Verifier::check_atomic(const Operation &operation) const {
  const OpInfo &op = info(operation.op);
  const Parameter &array = writable_array(operation.array);
  const std::size_t values = operation.op == Op::AtomicCompareExchange ? 2 : 1;
  if (operation.operands.size() != static_cast<std::size_t>(array.rank) + values)
    fail("{} has {} operands, expected {} indices and {} values", op.name, operation.operands.size(), array.rank,
         values);
  check_element(array, element_indices(operation), operation.type);
  check_result(operation, operation.type.element() == array.type, name(array.type));
  for (const Value &value : element_values(operation))
    check_value(value, operation.type, fmt::format("a value of {}", op.name));
  Typing combined = info(combination(operation.op)).typing;
  check_result(operation, combined != Typing::Same || array.type != ScalarType::Bool, "an arithmetic type");
  check_result(operation, combined != Typing::Bits || !is_floating(array.type), "an integer type or bool");
}

void Verifier::check_result(const Operation &operation, bool holds, std::string_view expected) const {
  if (!holds)
    fail("the result of {} has type {}, expected {}", info(operation.op).name, name(operation.type), expected);
}

void Verifier::check_operands(const Operation &operation, Type expected, std::size_t first) const {
  for (std::size_t i = first; i < operation.operands.size(); ++i)
    check_value(operation.operands[i], expected, fmt::format("operand {} of {}", i + 1, info(operation.op).name));
}

void Verifier::check(const Let &let) {
  check_operation(let.value);
  define(let.local, let.value.type, true);
}

void Verifier::check(const Assign &assign) {
  if (form_ != Form::captured) fail("the {} form has no assign", name_of_form());
  check_in_scope(assign.local);
  if (!locals_[assign.local].assignable) fail("%{} is assigned, and is not defined by an operation", assign.local);
  auto first = in_scope_.begin() + static_cast<std::ptrdiff_t>(first_assignable_);
  if (std::find(first, in_scope_.end(), assign.local) == in_scope_.end())
    fail("%{} is assigned inside a custom adjoint or an adjoint_of, and defined outside", assign.local);
  check_value(assign.value, locals_[assign.local].type, "the assigned value");
}

void Verifier::check(const Store &store) {
  const Parameter &to = writable_array(store.array);
  check_element(to, store.indices, store.value.type());
  check_value(store.value, store.value.type().of(to.type), "the stored value");
}

void Verifier::check(const Accumulate &accumulate) {
  if (accumulate.of_gradient && !in_adjoint_) fail("an accumulation into a gradient outside of an adjoint block");
  const Parameter &to = accumulate.of_gradient ? array(accumulate.array) : writable_array(accumulate.array);
  if (accumulate.of_gradient && !is_floating(to.type))
    fail("@{} has type {}, which has no gradient", to.name, name(to.type));
  check_element(to, accumulate.indices, accumulate.value.type());
  check_value(accumulate.value, accumulate.value.type().of(to.type), "the accumulated value");
  if (to.type == ScalarType::Bool) fail("@{} has type bool, which does not accumulate", to.name);
  if (accumulate.over_launch) check_lowered("sum over the launch");
  if (accumulate.over_launch && (!accumulate.atomic || is_tile_kernel(kernel_)))
    fail("over_launch on something other than an atomic addition of instances");
  if (accumulate.over_lanes) check_lowered("sum over lanes");
  if (accumulate.over_lanes && (!accumulate.atomic || accumulate.over_launch || loops_.empty()))
    fail("over_lanes on something other than an atomic addition in a loop");
}

}  // namespace samite::ir
