#include "samite/codegen/lane_arrays.h"

#include "samite/base/error.h"
#include "samite/codegen/spelling.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;
using passes::Shape;

namespace {

// The memory type of an element for all lanes.
std::string_view vector_in_memory(ScalarType type) { return type == ScalarType::Bool ? "Flags" : vector_name(type); }

}  // namespace

LaneArrays::LaneArrays(Emission &emission, const LaneValues &values, Failures &failures, const IndexSums &index_sums)
    : emission_(emission),
      values_(values),
      failures_(failures),
      index_sums_(index_sums),
      arrays_(emission.kernel.local_array_count) {}

const LaneArrays::LocalArray &LaneArrays::array_of(LocalArrayId array) const {
  const auto &known = arrays_[array];
  internal_check(known.has_value(), "a local array is used before it is allocated");
  internal_check(!known->in_lanes || values_.in_lanes(), "a local array of instances outside of their thread loop");
  return *known;
}

std::string_view LaneArrays::element_type(LocalArrayId id) const {
  const LocalArray &array = array_of(id);
  return array.of_block ? memory_name(array.type) : scalar_name(array.type);
}

bool LaneArrays::harmless_without_lanes(LocalArrayId id, const Value &index) const {
  const LocalArray &array = array_of(id);
  if (array.of_strip) return true;
  if (!array.in_lanes && !array.of_block) return false;  // one element for all lanes
  if (emission_.options.debug || !index.is_constant())
    return !emission_.options.debug && values_.shape(index) != Shape::Uniform;
  return surely_inside(index, array);
}

// An element of a block's memory. In lanes, all may access one element, consecutive ones, or any.
LaneElements LaneArrays::elements_of_block(LocalArrayId array, const Value &index) const {
  LaneElements result;
  result.mask = values_.mask();
  result.shape = values_.in_lanes() ? values_.shape(index) : Shape::Uniform;
  if (result.shape == Shape::Uniform) {
    result.element = fmt::format("{}[{}]", array_name(array), index_sums_.text(index));
  } else if (result.shape == Shape::Linear) {
    result.pointer = fmt::format("{} + {}", array_name(array), index_sums_.text(index));
  } else {
    result.pointer = array_name(array);
    result.offsets = values_.vector(index);
    const bool as_in_memory = passes::is_the_same_in_memory(array_of(array).type);
    result.every_second = as_in_memory && values_.every_second(index);
    result.each_twice = as_in_memory && values_.each_twice(index);
  }
  return result;
}

void LaneArrays::allocate(const Allocate &allocate, SourceLocation where) {
  arrays_[allocate.array] = {allocate.type,
                             allocate.size,
                             values_.in_lanes(),
                             allocate.of_block(),
                             allocate.space == MemorySpace::strip,
                             values_.in_lanes() ? values_.mask() : ""};
  const std::string name = array_name(allocate.array);
  const auto element = allocate.of_block()  ? memory_name(allocate.type)
                       : values_.in_lanes() ? vector_in_memory(allocate.type)
                                            : scalar_name(allocate.type);
  if (allocate.space == MemorySpace::strip)
    return emission_.out.line("{} {}[{} / lane_count];", vector_name(allocate.type), name, allocate.size.as_int());
  if (allocate.in_workspace()) return allocate_in_workspace(allocate, element, where);
  emission_.out.line("{}{} {}[{}];", allocate.of_block() ? "alignas(64) " : "", element, name,
                     std::max<std::int64_t>(allocate.size.as_int(), 1));
}

void LaneArrays::allocate_in_workspace(const Allocate &allocate, std::string_view element, SourceLocation where) {
  const std::string name = array_name(allocate.array);
  const std::string count = values_.shape(allocate.size) == Shape::Uniform
                                ? values_.scalar(allocate.size)
                                : fmt::format("largest({}, {})", values_.mask(), values_.vector(allocate.size));
  emission_.out.line("{0} *const {1} = allocate<{0}>(workspace, failure, {2}, {3}, {4});", element, name, count,
                     values_.in_lanes() ? "lane_count" : "1", emission_.site(where));
  emission_.out.line("if (!{}) return;", name);
}

bool LaneArrays::surely_inside(const Value &index, const LocalArray &array) {
  return index.is_constant() && array.size.is_constant() && index.as_int() >= 0 && index.as_int() < array.size.as_int();
}

// In debug mode, for an access in lanes: the lanes whose index is inside. Otherwise all active lanes.
std::string LaneArrays::mask_of(const Value &index, const LocalArray &array, SourceLocation where) {
  if (!emission_.options.debug || surely_inside(index, array)) return values_.mask();
  const std::string inside = emission_.fresh("c");
  emission_.out.line("const Mask {} = in_local_bounds(failure, {}, {}, {}, {});", inside, values_.mask(),
                     values_.vector(index), values_.vector(array.size), failures_.blame(where));
  return inside;
}

std::string LaneArrays::load(const Operation &operation, SourceLocation where) {
  const LocalArray &array = array_of(operation.array);
  const std::string name = array_name(operation.array);
  const Value &index = operation.operands[0];
  if (array.of_block) {
    const LaneElements from = elements_of_block(operation.array, index);
    if (from.shape == Shape::Uniform)
      return fmt::format("{}({})", values_.in_lanes() ? vector_name(operation.type) : scalar_name(operation.type),
                         from.element);
    return from.load();
  }
  if (array.of_strip) return fmt::format("load_strip({}, {})", name, values_.scalar(index));
  if (!array.in_lanes) {
    if (!emission_.options.debug || surely_inside(index, array))
      return fmt::format("{}[{}]", name, index_sums_.text(index));
    return fmt::format("in_local_bounds(failure, {1}, {2}, {3}) ? {0}[{1}] : {4}(0)", name, values_.scalar(index),
                       values_.scalar(array.size), failures_.blame(where), scalar_name(operation.type));
  }
  const std::string mask = mask_of(index, array, where);
  if (values_.shape(index) != Shape::Uniform)
    return fmt::format("gather_local<{}>({}, {}, {})", scalar_name(operation.type), mask, name, values_.vector(index));
  std::string element = fmt::format("load_local({}, {})", name, index_sums_.text(index));
  if (mask == values_.mask()) return element;
  return fmt::format("any({0}) ? {1} : {2}(0)", mask, element, vector_name(operation.type));
}

void LaneArrays::store(const LocalStore &store, SourceLocation where) {
  const LocalArray &array = array_of(store.array);
  const std::string name = array_name(store.array);
  if (array.of_block) return store_of_block(store, array.type);
  if (array.of_strip)
    return emission_.out.line("store_strip({}, {}, {}, {});", values_.mask(), name, values_.scalar(store.index),
                              values_.vector(store.value));
  if (!array.in_lanes) return store_outside_of_lanes(store, array, where);
  const std::string mask = mask_of(store.index, array, where);
  if (values_.shape(store.index) != Shape::Uniform) {
    emission_.out.line("scatter_local<{}>({}, {}, {}, {});", scalar_name(array.type), mask, name,
                       values_.vector(store.index), values_.vector(store.value));
    return;
  }
  // Only the lanes that the array is for ever read it.
  if (mask == array.mask)
    return emission_.out.line("store_local({}, {}, {});", name, index_sums_.text(store.index),
                              values_.vector(store.value));
  const std::string guard = mask == values_.mask() ? "" : fmt::format("if (any({})) ", mask);
  emission_.out.line("{}store_local({}, {}, {}, {});", guard, mask, name, index_sums_.text(store.index),
                     values_.vector(store.value));
}

void LaneArrays::store_of_block(const LocalStore &store, ScalarType type) {
  const LaneElements to = elements_of_block(store.array, store.index);
  if (to.shape != Shape::Uniform)
    emission_.out.line("{}({}, {});", to.shape == Shape::Linear ? "store" : "scatter", to.arguments(),
                       values_.vector(store.value));
  else if (values_.in_lanes())
    emission_.out.line("store_last({}, &{}, {});", values_.mask(), to.element, values_.vector(store.value));
  else
    emission_.out.line("{} = {}({});", to.element, memory_name(type), values_.scalar(store.value));
}

// The array is outside of the lanes; the store may be inside, of a value that they share.
void LaneArrays::store_outside_of_lanes(const LocalStore &store, const LocalArray &array, SourceLocation where) {
  const std::string index = index_sums_.text(store.index);
  std::string guard;
  if (values_.in_lanes())
    guard = fmt::format("if (any({})) ", values_.mask());
  else if (emission_.options.debug && !surely_inside(store.index, array))
    guard = fmt::format("if (in_local_bounds(failure, {}, {}, {})) ", index, values_.scalar(array.size),
                        failures_.blame(where));
  emission_.out.line("{}{}[{}] = {};", guard, array_name(store.array), index, values_.scalar(store.value));
}

}  // namespace samite::codegen
