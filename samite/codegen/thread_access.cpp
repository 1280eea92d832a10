#include "samite/codegen/thread_access.h"

#include "samite/codegen/index_arithmetic.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/neighbours_in_rows.h"

namespace samite::codegen {

using ir::Operation;
using ir::Value;

std::string ThreadElement::guard() const { return in_bounds.empty() ? "" : fmt::format("if ({}) ", in_bounds); }

// Checks of indices use the program's own numbers.
ThreadAccess::ThreadAccess(Emission &emission, Failures &failures)
    : emission_(emission),
      failures_(failures),
      sum_of_(emission.kernel.local_count, nullptr),
      only_index_(emission.options.debug ? std::vector<bool>(emission.kernel.local_count, false)
                                         : only_index(emission.kernel)) {
  ir::for_each_statement(emission.kernel.body, [&](const ir::Stmt &stmt) {
    const ir::Let *let = stmt.as<ir::Let>();
    if (let && (let->value.op == ir::Op::Add || let->value.op == ir::Op::Sub)) sum_of_[let->local] = &let->value;
  });
}

ThreadElement ThreadAccess::element(std::uint32_t array, std::span<const Value> indices, SourceLocation where) {
  ThreadElement result{fmt::format("p{}.data[{}]", array, offset(array, indices)), ""};
  if (!emission_.options.debug) return result;
  std::vector<std::string> texts;
  for (const Value &index : indices) texts.push_back(scalar_text(index));
  result.in_bounds = failures_.check_indices({"bool", "indices_inside"}, array, texts, where);
  return result;
}

// An index that is another value plus a small constant is written with that value as base: the constant becomes part of
// the instruction's address. If the sum would wrap around, it is outside of every array that is indexed in 32 bits.
std::string ThreadAccess::index(const Value &value) const {
  const Operation *sum = value.is_local() && !emission_.options.debug ? sum_of_[value.id()] : nullptr;
  if (!sum || only_index_[value.id()] || !passes::value_and_constant(*sum)) return scalar_text(value);
  return fmt::format("({} {} {})", scalar_text(sum->operands[0]), sum->op == ir::Op::Add ? "+" : "-",
                     literal(sum->operands[1]));
}

// The offset of an element from the array's first one, in 32 bits if they suffice: the sum and its products are then
// one instruction each.
std::string ThreadAccess::offset(std::uint32_t array, std::span<const Value> indices) const {
  const bool wide = emission_.facts(array).wide_index;
  std::string offset;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Value &value = indices[d];
    if (value.is_constant() && value.as_int() == 0) continue;
    std::string term = index(value);
    if (value.type() != (wide ? ScalarType::Int64 : ScalarType::Int32) && !value.is_constant())
      term = fmt::format("{}({})", wide ? "i64" : "i32", term);
    const std::string stride = fmt::format("p{}.stride[{}]", array, d);
    const bool dense = d + 1 == indices.size() && emission_.facts(array).unit_stride;
    add_term(offset, dense ? term : fmt::format("{} * {}", term, wide ? stride : fmt::format("i32({})", stride)));
  }
  return offset.empty() ? "0" : offset;
}

namespace {

std::string or_zero(const ThreadElement &at, const std::string &text, ScalarType type) {
  return at.in_bounds.empty() ? text : fmt::format("{} ? {} : {}(0)", at.in_bounds, text, scalar_name(type));
}

}  // namespace

std::string ThreadAccess::load(const Operation &operation, const ThreadElement &from) const {
  const bool constant = emission_.constant(operation.array);
  return or_zero(from, constant ? fmt::format("load_constant(&{})", from.lvalue) : from.lvalue, operation.type);
}

std::string ThreadAccess::exchange(const Operation &operation, SourceLocation where) {
  const ThreadElement from = element(operation.array, operation.operands, where);
  return or_zero(from, fmt::format("{}(&{})", operation.attribute == 1 ? "take" : "atomic_take", from.lvalue),
                 operation.type);
}

std::string ThreadAccess::atomic(const Operation &operation, SourceLocation where) {
  const ThreadElement at = element(operation.array, element_indices(operation), where);
  std::string values;
  for (const Value &value : element_values(operation))
    values += fmt::format(", {}({})", memory_name(value.type()), scalar_text(value));
  return or_zero(at, fmt::format("{}::apply(&{}{})", spelling(operation.op).text, at.lvalue, values), operation.type);
}

}  // namespace samite::codegen
