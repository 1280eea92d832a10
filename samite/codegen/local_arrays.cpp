// Local arrays: where they lie, and how their elements are reached.
//
// In lanes, each lane has an array of its own, and element i of all lanes lies in vector i: an index that all lanes
// share is one vector, any other a gather or scatter. Outside of lanes an array is one of scalars, which instances
// share, or has an element for each instance of a strip: then neighbours in a vector.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

// What an element of all lanes is in memory.
std::string_view vector_in_memory(ScalarType type) { return type == ScalarType::Bool ? "Flags" : vector_name(type); }

}  // namespace

// What the block takes from the workspace is given back where the block ends, however it is left.
void KernelEmitter::open_workspace_scope(const Block &block) {
  for (const Stmt &stmt : block) {
    const Allocate *allocate = stmt.as<Allocate>();
    if (!allocate || !allocate->in_workspace()) continue;
    out_.line("const WorkspaceScope {}(workspace);", fresh("scope"));
    return;
  }
}

const KernelEmitter::LocalArray &KernelEmitter::local_array(LocalArrayId array) const {
  const auto &known = local_arrays_[array];
  internal_check(known.has_value(), "a local array is used before it is allocated");
  internal_check(!known->in_lanes || in_lanes(), "a local array of instances outside of their thread loop");
  return *known;
}

// An element of a tile in memory. In lanes, all of them may go to one element, each to the next, or anywhere.
KernelEmitter::Access KernelEmitter::shared_access(LocalArrayId array, const Value &index) const {
  Access result;
  result.mask = mask_;
  result.shape = in_lanes() ? shape(index) : Shape::Uniform;
  if (result.shape == Shape::Uniform) {
    result.element = element_loops_.element(array, scalar(index));
  } else if (result.shape == Shape::Linear) {
    result.pointer = fmt::format("{} + {}", array_name(array), scalar(index));
  } else {
    result.pointer = array_name(array);
    result.offsets = vector(index);
  }
  return result;
}

void KernelEmitter::allocate(const Allocate &allocate, SourceLocation where) {
  local_arrays_[allocate.array] = {allocate.type, allocate.size, in_lanes(), allocate.of_block(),
                                   allocate.space == MemorySpace::strip};
  const std::string name = array_name(allocate.array);
  const auto element = allocate.of_block() ? memory_name(allocate.type)
                       : in_lanes()        ? vector_in_memory(allocate.type)
                                           : scalar_name(allocate.type);
  if (allocate.of_block() && !target_.explicit_lanes()) {
    if (allocate.space != MemorySpace::device) return places_.declare(allocate, out_);
    out_.line("{0} *const {1} = allocate_in_block<{0}>(workspace, failure, {2}, {3});", element, name,
              scalar(allocate.size), emission_.site(where));
    out_.line("if (!{}) return;", name);
    return;
  }
  if (allocate.space == MemorySpace::strip) {
    out_.line("{} {}[{} / lane_count];", vector_name(allocate.type), name, allocate.size.as_int());
    return;
  }
  if (!allocate.in_workspace()) {
    out_.line("{}{} {}[{}];", allocate.of_block() ? "alignas(64) " : "", element, name,
              std::max<std::int64_t>(allocate.size.as_int(), 1));
    return;
  }
  if (!target_.explicit_lanes()) {
    out_.line("const auto {} = allocate<{}>(workspace, failure, {}, {});", name, element, scalar(allocate.size),
              emission_.site(where));
    out_.line("if (!{}.first) return;", name);
    return;
  }
  const std::string count = shape(allocate.size) == Shape::Uniform
                                ? scalar(allocate.size)
                                : fmt::format("largest({}, {})", mask_, vector(allocate.size));
  out_.line("{0} *const {1} = allocate<{0}>(workspace, failure, {2}, {3}, {4});", element, name, count,
            in_lanes() ? "lane_count" : "1", emission_.site(where));
  out_.line("if (!{}) return;", name);
}

// In debug mode, of an access in lanes: the lanes whose index is inside. Else all that are active.
std::string KernelEmitter::local_mask(const Value &index, const LocalArray &array, SourceLocation where) {
  if (!options_.debug) return mask_;
  const std::string inside = fresh("c");
  out_.line("const Mask {} = in_local_bounds(failure, {}, {}, {}, {});", inside, mask_, vector(index),
            vector(array.size), blame(where));
  return inside;
}

std::string KernelEmitter::local_load(const Operation &operation, SourceLocation where) {
  const LocalArray &array = local_array(operation.array);
  const std::string name = array_name(operation.array);
  const Value &index = operation.operands[0];
  if (array.shared) {
    const Access from = shared_access(operation.array, index);
    if (from.shape == Shape::Uniform)
      return fmt::format("{}({})", type(operation.type, in_lanes() ? Shape::Varying : Shape::Uniform), from.element);
    return fmt::format("{}({})", from.shape == Shape::Linear ? "load" : "gather", from.arguments());
  }
  if (array.of_strip) return fmt::format("load_strip({}, {})", name, scalar(index));
  if (!array.in_lanes) {
    if (!options_.debug) return fmt::format("{}[{}]", name, scalar(index));
    return fmt::format("in_local_bounds(failure, {1}, {2}, {3}) ? {0}[{1}] : {4}(0)", name, scalar(index),
                       scalar(array.size), blame(where), scalar_name(operation.type));
  }
  const std::string mask = local_mask(index, array, where);
  if (shape(index) != Shape::Uniform)
    return fmt::format("gather_local<{}>({}, {}, {})", scalar_name(operation.type), mask, name, vector(index));
  std::string element = fmt::format("load_local({}, {})", name, scalar(index));
  if (!options_.debug) return element;
  return fmt::format("any({0}) ? {1} : {2}(0)", mask, element, vector_name(operation.type));
}

void KernelEmitter::local_store(const LocalStore &store, SourceLocation where) {
  const LocalArray &array = local_array(store.array);
  const std::string name = array_name(store.array);
  if (array.shared) {
    const Access to = shared_access(store.array, store.index);
    if (to.shape != Shape::Uniform)
      out_.line("{}({}, {});", to.shape == Shape::Linear ? "store" : "scatter", to.arguments(), vector(store.value));
    else if (in_lanes())
      out_.line("store_last({}, &{}, {});", mask_, to.element, vector(store.value));
    else
      out_.line("{} = {}({});", to.element, memory_name(array.type), scalar(store.value));
    return;
  }
  if (array.of_strip)
    return out_.line("store_strip({}, {}, {}, {});", mask_, name, scalar(store.index), vector(store.value));
  if (!array.in_lanes && in_lanes()) {
    out_.line("if (any({})) {}[{}] = {};", mask_, name, scalar(store.index), scalar(store.value));
    return;
  }
  if (!in_lanes()) {
    const std::string guard = options_.debug ? fmt::format("if (in_local_bounds(failure, {}, {}, {})) ",
                                                           scalar(store.index), scalar(array.size), blame(where))
                                             : "";
    out_.line("{}{}[{}] = {};", guard, name, scalar(store.index), scalar(store.value));
    return;
  }
  const std::string mask = local_mask(store.index, array, where);
  if (shape(store.index) != Shape::Uniform) {
    out_.line("scatter_local<{}>({}, {}, {}, {});", scalar_name(array.type), mask, name, vector(store.index),
              vector(store.value));
    return;
  }
  const std::string guard = options_.debug ? fmt::format("if (any({})) ", mask) : "";
  out_.line("{}store_local({}, {}, {}, {});", guard, mask, name, scalar(store.index), vector(store.value));
}

}  // namespace samite::codegen
