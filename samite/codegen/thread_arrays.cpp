#include "samite/codegen/thread_arrays.h"

#include "samite/base/error.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

ThreadArrays::ThreadArrays(Emission &emission, Failures &failures, const TilePlaces &places,
                           const ElementLoops &element_loops)
    : emission_(emission),
      failures_(failures),
      places_(places),
      element_loops_(element_loops),
      arrays_(emission.kernel.local_array_count) {
  for_each_statement(emission.kernel.body, [&](const Stmt &stmt) {
    const auto *product = stmt.as<WindowProduct>();
    if (product && places.fragments_of(product->first.array)) rounded_when_multiplied_.insert(product->first.array);
  });
  if (rounded_when_multiplied_.empty()) return;
  for_each_statement(emission.kernel.body, [&](const Stmt &stmt) {
    const auto *let = stmt.as<Let>();
    if (let && let->value.op == Op::LocalLoad) rounded_when_multiplied_.erase(let->value.array);
    if (let && let->value.op == Op::Cast && let->value.operands[0].type() == Type(ScalarType::Float32) &&
        is_floating(let->value.type.element()) && size_of(let->value.type.element()) == 2)
      rounded_.emplace(let->local, let->value.operands[0]);
  });
}

const ThreadArrays::LocalArray &ThreadArrays::array_of(LocalArrayId array) const {
  const auto &known = arrays_[array];
  internal_check(known.has_value(), "a local array is used before it is allocated");
  return *known;
}

void ThreadArrays::allocate(const Allocate &allocate, SourceLocation where) {
  arrays_[allocate.array] = {allocate.type, allocate.size, allocate.of_block()};
  const std::string name = array_name(allocate.array), size = scalar_text(allocate.size);
  const auto element = scalar_name(allocate.type);
  SourceWriter &out = emission_.out;
  if (allocate.space == MemorySpace::device) {
    out.line("{0} *const {1} = allocate_in_block<{0}>(workspace, failure, {2}, {3});", memory_name(allocate.type), name,
             size, emission_.site(where));
    out.line("if (!{}) return;", name);
  } else if (allocate.of_block()) {
    places_.declare(allocate, out);
  } else if (allocate.in_workspace()) {
    out.line("const auto {} = allocate<{}>(workspace, failure, {}, {});", name, element, size, emission_.site(where));
    out.line("if (!{}.first) return;", name);
  } else {
    out.line("{} {}[{}];", element, name, std::max<std::int64_t>(allocate.size.as_int(), 1));
  }
}

// In debug mode, unless the index is known to be inside.
bool ThreadArrays::checks(const Value &index, const Value &size) const {
  const bool inside =
      index.is_constant() && size.is_constant() && index.as_int() >= 0 && index.as_int() < size.as_int();
  return emission_.options.debug && !inside;
}

std::string ThreadArrays::in_bounds(const Value &index, const Value &size, SourceLocation where) {
  return fmt::format("in_local_bounds(failure, {}, {}, {})", scalar_text(index), scalar_text(size),
                     failures_.blame(where));
}

std::string ThreadArrays::load(const Operation &operation, SourceLocation where) {
  const LocalArray &array = array_of(operation.array);
  const Value &index = operation.operands[0];
  const auto type = scalar_name(operation.type);
  if (array.of_block) {
    const std::string element = element_loops_.element(operation.array, index);
    return fmt::format("{}({})", type, element_loops_.grouped_load_in_block(operation, element).value_or(element));
  }
  std::string element = fmt::format("{}[{}]", array_name(operation.array), scalar_text(index));
  if (!checks(index, array.size)) return element;
  return fmt::format("{} ? {} : {}(0)", in_bounds(index, array.size, where), element, type);
}

void ThreadArrays::store(const LocalStore &store, SourceLocation where) {
  const LocalArray &array = array_of(store.array);
  const auto rounded = store.value.is_local() && rounded_when_multiplied_.contains(store.array)
                           ? rounded_.find(store.value.id())
                           : rounded_.end();
  const std::string value = scalar_text(rounded == rounded_.end() ? store.value : rounded->second);
  // Values in registers are already rounded.
  if (array.of_block) {
    const std::string element = element_loops_.element(store.array, store.index);
    const auto type = places_.fragments_of(store.array) ? scalar_name(array.type) : memory_name(array.type);
    const std::string converted = fmt::format("{}({})", type, value);
    if (!element_loops_.grouped_store_in_block(store, element, converted))
      emission_.out.line("{} = {};", element, converted);
    return;
  }
  const std::string guard =
      checks(store.index, array.size) ? fmt::format("if ({}) ", in_bounds(store.index, array.size, where)) : "";
  emission_.out.line("{}{}[{}] = {};", guard, array_name(store.array), scalar_text(store.index), value);
}

}  // namespace samite::codegen
