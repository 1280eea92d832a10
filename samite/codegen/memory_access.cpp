#include "samite/codegen/memory_access.h"

#include "samite/codegen/index_arithmetic.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"
#include "samite/passes/neighbours_in_rows.h"

#include <algorithm>

namespace samite::codegen {

using ir::Operation;
using ir::Value;

using passes::Shape;

namespace {

void add_term(std::string &sum, const std::string &term) {
  if (!sum.empty()) sum += " + ";
  sum += term;
}

}  // namespace

std::string Access::arguments() const {
  return offsets.empty() ? fmt::format("{}, {}", mask, pointer) : fmt::format("{}, {}, {}", mask, pointer, offsets);
}

MemoryAccess::MemoryAccess(Emission &emission, const Values &values, Failures &failures)
    : emission_(emission), values_(values), failures_(failures) {
  if (values.explicit_lanes()) return;
  const ir::Kernel &kernel = emission.kernel;
  // Checks of indices are of the numbers that the program has.
  only_index_ = emission.options.debug ? std::vector<bool>(kernel.local_count, false) : only_index(kernel);
  sum_of_.assign(kernel.local_count, nullptr);
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    const ir::Let *let = stmt.as<ir::Let>();
    if (let && (let->value.op == ir::Op::Add || let->value.op == ir::Op::Sub)) sum_of_[let->local] = &let->value;
  });
}

Access MemoryAccess::access(std::uint32_t array, std::span<const Value> indices, SourceLocation where) {
  if (!values_.explicit_lanes()) {
    Access result;
    result.element = fmt::format("p{}.data[{}]", array, thread_offset(array, indices));
    if (emission_.options.debug) check_bounds(result, array, indices, where);
    return result;
  }
  const ArrayFacts array_facts = emission_.facts(array);
  const std::size_t last = indices.size() - 1;
  const std::string_view offset_type = array_facts.wide_index ? "i64" : "i32";
  auto dense = [&](std::size_t d) { return d == last && array_facts.unit_stride; };
  auto stride = [&](std::size_t d) { return fmt::format("p{}.stride[{}]", array, d); };
  auto lane_stride = [&](std::size_t d) {
    return array_facts.wide_index ? stride(d) : fmt::format("i32({})", stride(d));
  };

  // The part that is the same for all lanes goes into the pointer, in 64 bits. The rest is the offset of each lane.
  Access result;
  std::string shared, apart;
  bool neighbours = true;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Value &index = indices[d];
    if (!values_.varying(index) && !(index.is_constant() && index.as_int() == 0))
      add_term(shared, dense(d) ? values_.scalar(index) : fmt::format("{} * {}", values_.scalar(index), stride(d)));
    if (values_.shape(index) == Shape::Uniform) continue;
    neighbours = neighbours && dense(d) && !values_.varying(index);
    std::string lane = fmt::format("lane_{}", offset_type);
    if (values_.varying(index)) {
      const bool converted = scalar_name(index.type()) != offset_type;
      lane = converted ? fmt::format("__builtin_convertvector({}, {})", values_.name(index.id()),
                                     array_facts.wide_index ? "I64" : "I32")
                       : values_.name(index.id());
    }
    add_term(apart, dense(d) ? lane : fmt::format("{} * {}", lane, lane_stride(d)));
  }

  result.mask = values_.mask();
  if (apart.empty()) {
    result.element = fmt::format("p{}.data[{}]", array, shared.empty() ? "0" : shared);
  } else {
    result.shape = neighbours ? Shape::Linear : Shape::Varying;
    result.pointer = fmt::format("p{}.data{}{}", array, shared.empty() ? "" : " + ", shared);
    if (!neighbours) result.offsets = apart;
  }
  if (emission_.options.debug) check_bounds(result, array, indices, where);
  return result;
}

// An index that is another value plus a small constant is written as that value: the constant becomes part of the
// address in the instruction. Where the sum would wrap round, it is outside of every array that is indexed in 32 bits.
std::string MemoryAccess::index(const Value &value) const {
  const Operation *sum = value.is_local() && !emission_.options.debug ? sum_of_[value.id()] : nullptr;
  if (!sum || only_index_[value.id()] || !passes::value_and_constant(*sum)) return values_.scalar(value);
  return fmt::format("({} {} {})", values_.scalar(sum->operands[0]), sum->op == ir::Op::Add ? "+" : "-",
                     literal(sum->operands[1]));
}

// The offset of an element from the array's first one, in 32 bits where those are enough: the sum and its products are
// then one instruction each.
std::string MemoryAccess::thread_offset(std::uint32_t array, std::span<const Value> indices) const {
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

void MemoryAccess::check_bounds(Access &access, std::uint32_t array, std::span<const Value> indices,
                                SourceLocation where) {
  auto extent = [&](std::size_t d, const std::string &place) {
    return fmt::format("p{0}.extent[{1}], {0}, {1}, {2}", array, d, place);
  };
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (values_.shape(indices[d]) != Shape::Uniform) continue;
    const std::string before = access.in_bounds.empty() ? "" : access.in_bounds + " && ";
    access.in_bounds = emission_.fresh("c");
    emission_.out.line("const bool {} = {}in_bounds(failure, {}, {});", access.in_bounds, before,
                       values_.scalar(indices[d]), extent(d, failures_.blame_all(where)));
  }
  if (access.shape == Shape::Uniform) return;
  if (!access.in_bounds.empty()) access.mask += fmt::format(" & Mask({})", access.in_bounds);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (values_.shape(indices[d]) == Shape::Uniform) continue;
    const std::string checked = emission_.fresh("c");
    emission_.out.line("const Mask {} = in_bounds(failure, {}, {}, {});", checked, access.mask,
                       values_.vector(indices[d]), extent(d, failures_.blame(where)));
    access.mask = checked;
  }
}

std::string MemoryAccess::load(const Operation &operation, const Access &from) const {
  if (from.shape != Shape::Uniform)
    return fmt::format("{}({})", from.shape == Shape::Linear ? "load" : "gather", from.arguments());
  std::string element = !values_.explicit_lanes() && emission_.constant(operation.array)
                            ? fmt::format("load_constant(&{})", from.element)
                            : from.element;
  if (from.in_bounds.empty()) return element;
  return fmt::format("{} ? {} : {}(0)", from.in_bounds, element, scalar_name(operation.type));
}

std::string MemoryAccess::exchange(const Operation &operation, SourceLocation where) {
  const Access from = access(operation.array, operation.operands, where);
  // Where all lanes use one element, the index is not one-to-one, whatever the attribute says.
  if (from.shape != Shape::Uniform)
    return fmt::format("{}({})", operation.attribute == 1 ? "take" : "atomic_take", from.arguments());
  const bool alone = operation.attribute == 1 && !values_.explicit_lanes();
  std::string taken = values_.in_lanes() ? fmt::format("atomic_take_one({}, &{})", values_.mask(), from.element)
                                         : fmt::format("{}(&{})", alone ? "take" : "atomic_take", from.element);
  if (from.in_bounds.empty()) return taken;
  return fmt::format("{} ? {} : {}(0)", from.in_bounds, taken,
                     values_.in_lanes() ? vector_name(operation.type) : scalar_name(operation.type));
}

std::string MemoryAccess::atomic(const Operation &operation, SourceLocation where) {
  const Access at = access(operation.array, element_indices(operation), where);
  const std::string_view step = spelling(operation.op).text;
  std::string values;
  for (const Value &value : element_values(operation))
    values += ", " + (values_.in_lanes() ? values_.vector(value)
                                         : fmt::format("{}({})", memory_name(value.type()), values_.scalar(value)));
  if (at.shape != Shape::Uniform)
    return fmt::format("atomic_each{}<{}>({}{})", at.offsets.empty() ? "" : "_at", step, at.arguments(), values);
  std::string old = values_.in_lanes()
                        ? fmt::format("atomic_one<{}>({}, &{}{})", step, values_.mask(), at.element, values)
                        : fmt::format("{}::apply(&{}{})", step, at.element, values);
  if (at.in_bounds.empty()) return old;
  return fmt::format("{} ? {} : {}(0)", at.in_bounds, old,
                     values_.in_lanes() ? vector_name(operation.type) : scalar_name(operation.type));
}

}  // namespace samite::codegen
