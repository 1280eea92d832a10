#include "samite/codegen/lane_access.h"

#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

namespace samite::codegen {

using ir::Operation;
using ir::Value;

using passes::Shape;

std::string LaneElements::arguments() const {
  return offsets.empty() ? fmt::format("{}, {}", mask, pointer) : fmt::format("{}, {}, {}", mask, pointer, offsets);
}

std::string LaneElements::load() const {
  if (!unclamped.empty()) return fmt::format("load_clamped({}, {})", arguments(), unclamped);
  const std::string_view function = shape == Shape::Linear ? "load"
                                    : every_second         ? "load_every_second"
                                    : each_twice           ? "load_each_twice"
                                                           : "gather";
  return fmt::format("{}({})", function, arguments());
}

std::string LaneElements::guard() const { return in_bounds.empty() ? "" : fmt::format("if ({}) ", in_bounds); }

std::string LaneAccess::offset_of_lane(const Value &index, bool wide) const {
  const std::string_view type = wide ? "i64" : "i32";
  if (!values_.varying(index)) return fmt::format("lane_{}", type);
  const std::string name = values_.name(index.id());
  return scalar_name(index.type()) == type ? name
                                           : fmt::format("__builtin_convertvector({}, {})", name, wide ? "I64" : "I32");
}

// The part common to all lanes goes into the pointer, in 64 bits. The rest is the offset of each lane.
LaneElements LaneAccess::elements(std::uint32_t array, std::span<const Value> indices, SourceLocation where) {
  const ArrayFacts facts = emission_.facts(array);
  const std::size_t last = indices.size() - 1;
  const auto dense = [&](std::size_t d) { return d == last && facts.unit_stride; };
  const auto stride = [&](std::size_t d) { return fmt::format("p{}.stride[{}]", array, d); };
  const auto lane_stride = [&](std::size_t d) {
    return facts.wide_index ? stride(d) : fmt::format("i32({})", stride(d));
  };

  LaneElements result;
  std::string shared, apart;
  bool neighbours = true, every_second = true, each_twice = true;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Value &index = indices[d];
    if (!values_.varying(index) && !(index.is_constant() && index.as_int() == 0))
      add_term(shared, dense(d) ? index_sums_.text(index) : fmt::format("{} * {}", index_sums_.text(index), stride(d)));
    if (values_.shape(index) == Shape::Uniform) continue;
    neighbours = neighbours && dense(d) && !values_.varying(index);
    every_second = every_second && dense(d) && values_.every_second(index);
    each_twice = each_twice && dense(d) && values_.each_twice(index);
    const Value *before = dense(d) && apart.empty() ? values_.before_clamps(index) : nullptr;
    result.unclamped = before ? fmt::format("{}({})", facts.wide_index ? "i64" : "i32", values_.scalar(*before)) : "";
    const std::string lane = offset_of_lane(index, facts.wide_index);
    add_term(apart, dense(d) ? lane : fmt::format("{} * {}", lane, lane_stride(d)));
  }

  result.mask = values_.mask();
  if (apart.empty()) {
    result.element = fmt::format("p{}.data[{}]", array, shared.empty() ? "0" : shared);
  } else {
    result.shape = neighbours ? Shape::Linear : Shape::Varying;
    result.pointer = fmt::format("p{}.data{}{}", array, shared.empty() ? "" : " + ", shared);
    if (!neighbours) result.offsets = apart;
    const bool as_in_memory = passes::is_the_same_in_memory(emission_.kernel.parameters[array].type);
    result.every_second = !neighbours && every_second && as_in_memory;
    result.each_twice = !neighbours && each_twice && as_in_memory;
    if (!as_in_memory) result.unclamped.clear();
  }
  if (emission_.options.debug) check_bounds(result, array, indices, where);
  return result;
}

// A uniform index is passed unchanged, and a consecutive one as that of the first lane.
void LaneAccess::check_bounds(LaneElements &elements, std::uint32_t array, std::span<const Value> indices,
                              SourceLocation where) {
  std::vector<std::string> texts;
  for (const Value &index : indices) {
    const Shape shape = values_.shape(index);
    texts.push_back(fmt::format(fmt::runtime(shape == Shape::Varying   ? "{}"
                                             : shape == Shape::Uniform ? "i64({})"
                                                                       : "Neighbours{{{}}}"),
                                shape == Shape::Varying ? values_.vector(index) : values_.scalar(index)));
  }
  if (!values_.in_lanes())
    elements.in_bounds = failures_.check_indices({"bool", "indices_inside", "", "argument"}, array, texts, where);
  else if (elements.shape == Shape::Uniform)
    elements.in_bounds =
        failures_.check_indices({"bool", "all_indices_inside", elements.mask, "argument"}, array, texts, where);
  else
    elements.mask =
        failures_.check_indices({"Mask", "lane_indices_inside", elements.mask, "argument"}, array, texts, where);
}

std::string LaneAccess::or_zero(const LaneElements &at, const std::string &text, ScalarType type) const {
  if (at.in_bounds.empty()) return text;
  return fmt::format("{} ? {} : {}(0)", at.in_bounds, text, values_.in_lanes() ? vector_name(type) : scalar_name(type));
}

std::string LaneAccess::load(const Operation &operation, SourceLocation where) {
  const LaneElements from = elements(operation.array, operation.operands, where);
  if (from.shape != Shape::Uniform) return from.load();
  if (from.in_bounds.empty()) return from.element;
  return fmt::format("{} ? {} : {}(0)", from.in_bounds, from.element, scalar_name(operation.type));
}

std::string LaneAccess::exchange(const Operation &operation, SourceLocation where) {
  const LaneElements from = elements(operation.array, operation.operands, where);
  // If all lanes access one element, the index is not one-to-one, whatever the attribute says.
  if (from.shape != Shape::Uniform)
    return fmt::format("{}({})", operation.attribute == 1 ? "take" : "atomic_take", from.arguments());
  const std::string taken = values_.in_lanes() ? fmt::format("atomic_take_one({}, &{})", values_.mask(), from.element)
                                               : fmt::format("atomic_take(&{})", from.element);
  return or_zero(from, taken, operation.type);
}

std::string LaneAccess::atomic(const Operation &operation, SourceLocation where) {
  const LaneElements at = elements(operation.array, element_indices(operation), where);
  const std::string_view step = spelling(operation.op).text;
  std::string values;
  for (const Value &value : element_values(operation))
    values += ", " + (values_.in_lanes() ? values_.vector(value)
                                         : fmt::format("{}({})", memory_name(value.type()), values_.scalar(value)));
  if (at.shape != Shape::Uniform)
    return fmt::format("{}atomic_each{}<{}>({}{})", emission_.options.debug ? "called_" : "",
                       at.offsets.empty() ? "" : "_at", step, at.arguments(), values);
  const std::string old = values_.in_lanes()
                              ? fmt::format("atomic_one<{}>({}, &{}{})", step, values_.mask(), at.element, values)
                              : fmt::format("{}::apply(&{}{})", step, at.element, values);
  return or_zero(at, old, operation.type);
}

}  // namespace samite::codegen
