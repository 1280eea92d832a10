#include "samite/codegen/local_arrays.h"

#include "samite/base/error.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;
using passes::Shape;

namespace {

// What an element of all lanes is in memory.
std::string_view vector_in_memory(ScalarType type) { return type == ScalarType::Bool ? "Flags" : vector_name(type); }

}  // namespace

LocalArrays::LocalArrays(Emission &emission, const Values &values, Failures &failures, const TilePlaces &places,
                         const ElementLoops &element_loops)
    : emission_(emission),
      values_(values),
      failures_(failures),
      places_(places),
      element_loops_(element_loops),
      arrays_(emission.kernel.local_array_count) {}

void LocalArrays::open_scope(const Block &block) {
  for (const Stmt &stmt : block) {
    const Allocate *allocate = stmt.as<Allocate>();
    if (!allocate || !allocate->in_workspace()) continue;
    emission_.out.line("const WorkspaceScope {}(workspace);", emission_.fresh("scope"));
    return;
  }
}

const LocalArrays::LocalArray &LocalArrays::array_of(LocalArrayId array) const {
  const auto &known = arrays_[array];
  internal_check(known.has_value(), "a local array is used before it is allocated");
  internal_check(!known->in_lanes || values_.in_lanes(), "a local array of instances outside of their thread loop");
  return *known;
}

bool LocalArrays::harmless_without_lanes(LocalArrayId id, const Value &index) const {
  const LocalArray &array = array_of(id);
  if (array.of_strip) return true;
  if (!array.in_lanes && !array.shared) return false;  // one element for all lanes
  if (emission_.options.debug || !index.is_constant())
    return !emission_.options.debug && values_.shape(index) != Shape::Uniform;
  return array.size.is_constant() && index.as_int() >= 0 && index.as_int() < array.size.as_int();
}

// An element of a tile in memory. In lanes, all of them may go to one element, each to the next, or anywhere.
Access LocalArrays::shared_access(LocalArrayId array, const Value &index) const {
  Access result;
  result.mask = values_.mask();
  result.shape = values_.in_lanes() ? values_.shape(index) : Shape::Uniform;
  if (result.shape == Shape::Uniform) {
    result.element = element_loops_.element(array, values_.scalar(index));
  } else if (result.shape == Shape::Linear) {
    result.pointer = fmt::format("{} + {}", array_name(array), values_.scalar(index));
  } else {
    result.pointer = array_name(array);
    result.offsets = values_.vector(index);
  }
  return result;
}

void LocalArrays::allocate(const Allocate &allocate, SourceLocation where) {
  arrays_[allocate.array] = {allocate.type, allocate.size, values_.in_lanes(), allocate.of_block(),
                             allocate.space == MemorySpace::strip};
  const std::string name = array_name(allocate.array);
  const auto element = allocate.of_block()  ? memory_name(allocate.type)
                       : values_.in_lanes() ? vector_in_memory(allocate.type)
                                            : scalar_name(allocate.type);
  if (allocate.of_block() && !values_.explicit_lanes()) {
    if (allocate.space != MemorySpace::device) return places_.declare(allocate, emission_.out);
    emission_.out.line("{0} *const {1} = allocate_in_block<{0}>(workspace, failure, {2}, {3});", element, name,
                       values_.scalar(allocate.size), emission_.site(where));
    emission_.out.line("if (!{}) return;", name);
    return;
  }
  if (allocate.space == MemorySpace::strip) {
    emission_.out.line("{} {}[{} / lane_count];", vector_name(allocate.type), name, allocate.size.as_int());
    return;
  }
  if (!allocate.in_workspace()) {
    emission_.out.line("{}{} {}[{}];", allocate.of_block() ? "alignas(64) " : "", element, name,
                       std::max<std::int64_t>(allocate.size.as_int(), 1));
    return;
  }
  if (!values_.explicit_lanes()) {
    emission_.out.line("const auto {} = allocate<{}>(workspace, failure, {}, {});", name, element,
                       values_.scalar(allocate.size), emission_.site(where));
    emission_.out.line("if (!{}.first) return;", name);
    return;
  }
  const std::string count = values_.shape(allocate.size) == Shape::Uniform
                                ? values_.scalar(allocate.size)
                                : fmt::format("largest({}, {})", values_.mask(), values_.vector(allocate.size));
  emission_.out.line("{0} *const {1} = allocate<{0}>(workspace, failure, {2}, {3}, {4});", element, name, count,
                     values_.in_lanes() ? "lane_count" : "1", emission_.site(where));
  emission_.out.line("if (!{}) return;", name);
}

// In debug mode, of an access in lanes: the lanes whose index is inside. Else all that are active.
std::string LocalArrays::mask_of(const Value &index, const LocalArray &array, SourceLocation where) {
  if (!emission_.options.debug) return values_.mask();
  const std::string inside = emission_.fresh("c");
  emission_.out.line("const Mask {} = in_local_bounds(failure, {}, {}, {}, {});", inside, values_.mask(),
                     values_.vector(index), values_.vector(array.size), failures_.blame(where));
  return inside;
}

std::string LocalArrays::load(const Operation &operation, SourceLocation where) {
  const LocalArray &array = array_of(operation.array);
  const std::string name = array_name(operation.array);
  const Value &index = operation.operands[0];
  if (array.shared) {
    const Access from = shared_access(operation.array, index);
    if (from.shape == Shape::Uniform)
      return fmt::format("{}({})", values_.type(operation.type, values_.in_lanes() ? Shape::Varying : Shape::Uniform),
                         from.element);
    return fmt::format("{}({})", from.shape == Shape::Linear ? "load" : "gather", from.arguments());
  }
  if (array.of_strip) return fmt::format("load_strip({}, {})", name, values_.scalar(index));
  if (!array.in_lanes) {
    if (!emission_.options.debug) return fmt::format("{}[{}]", name, values_.scalar(index));
    return fmt::format("in_local_bounds(failure, {1}, {2}, {3}) ? {0}[{1}] : {4}(0)", name, values_.scalar(index),
                       values_.scalar(array.size), failures_.blame(where), scalar_name(operation.type));
  }
  const std::string mask = mask_of(index, array, where);
  if (values_.shape(index) != Shape::Uniform)
    return fmt::format("gather_local<{}>({}, {}, {})", scalar_name(operation.type), mask, name, values_.vector(index));
  std::string element = fmt::format("load_local({}, {})", name, values_.scalar(index));
  if (!emission_.options.debug) return element;
  return fmt::format("any({0}) ? {1} : {2}(0)", mask, element, vector_name(operation.type));
}

void LocalArrays::store(const LocalStore &store, SourceLocation where) {
  const LocalArray &array = array_of(store.array);
  const std::string name = array_name(store.array);
  if (array.shared) {
    const Access to = shared_access(store.array, store.index);
    if (to.shape != Shape::Uniform)
      emission_.out.line("{}({}, {});", to.shape == Shape::Linear ? "store" : "scatter", to.arguments(),
                         values_.vector(store.value));
    else if (values_.in_lanes())
      emission_.out.line("store_last({}, &{}, {});", values_.mask(), to.element, values_.vector(store.value));
    else
      emission_.out.line("{} = {}({});", to.element, memory_name(array.type), values_.scalar(store.value));
    return;
  }
  if (array.of_strip)
    return emission_.out.line("store_strip({}, {}, {}, {});", values_.mask(), name, values_.scalar(store.index),
                              values_.vector(store.value));
  if (!array.in_lanes && values_.in_lanes()) {
    emission_.out.line("if (any({})) {}[{}] = {};", values_.mask(), name, values_.scalar(store.index),
                       values_.scalar(store.value));
    return;
  }
  if (!values_.in_lanes()) {
    const std::string guard =
        emission_.options.debug ? fmt::format("if (in_local_bounds(failure, {}, {}, {})) ", values_.scalar(store.index),
                                              values_.scalar(array.size), failures_.blame(where))
                                : "";
    emission_.out.line("{}{}[{}] = {};", guard, name, values_.scalar(store.index), values_.scalar(store.value));
    return;
  }
  const std::string mask = mask_of(store.index, array, where);
  if (values_.shape(store.index) != Shape::Uniform) {
    emission_.out.line("scatter_local<{}>({}, {}, {}, {});", scalar_name(array.type), mask, name,
                       values_.vector(store.index), values_.vector(store.value));
    return;
  }
  const std::string guard = emission_.options.debug ? fmt::format("if (any({})) ", mask) : "";
  emission_.out.line("{}store_local({}, {}, {}, {});", guard, mask, name, values_.scalar(store.index),
                     values_.vector(store.value));
}

}  // namespace samite::codegen
