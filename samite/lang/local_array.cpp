#include "samite/lang/local_array.h"

#include "samite/base/error.h"
#include "samite/base/function_ref.h"
#include "samite/lang/trace.h"

namespace samite::lang {
namespace {

// Where the compiler would unroll anyway, a loop in between only costs.
constexpr std::int64_t largest_unrolled = 4;

// body(i) for each element.
void for_each_element(std::int64_t size, FunctionRef<void(ir::Value)> body, SourceLocation where) {
  constexpr ScalarType type = ScalarType::Int32;
  auto number = [](std::int64_t n) { return ir::Value::constant(type, n); };
  if (size <= largest_unrolled) {
    for (std::int64_t i = 0; i < size; ++i) body(number(i));
    return;
  }
  Trace &trace = Trace::current(where);
  std::size_t depth = trace.open_block(where);
  ir::LocalId index = trace.new_local();
  body(ir::Value::local(type, index));
  ir::Block block = trace.close_block(depth);
  trace.append(
      {ir::For{index, type, number(0), number(size), number(1), std::move(block), {}, ir::LoopKind::Serial}, where});
}

Access element(const LocalStorage &storage, ir::Value index, SourceLocation where) {
  return {storage.serial, storage.array, {index, index, index, index, index, index, index, index}, 1, where, true};
}

}  // namespace

LocalStorage allocate_local(ScalarType type, std::int64_t size, SourceLocation where) {
  Trace &trace = Trace::current(where);
  return {trace.serial(), trace.allocate(type, size, where)};
}

void fill_local(const LocalStorage &to, std::int64_t size, ir::Value value, SourceLocation where) {
  for_each_element(size, [&](ir::Value index) { element(to, index, where).store(value); }, where);
}

void copy_local(const LocalStorage &to, const LocalStorage &from, ScalarType type, std::int64_t size,
                SourceLocation where) {
  for_each_element(
      size, [&](ir::Value index) { element(to, index, where).store(element(from, index, where).load(type)); }, where);
}

Access local_access(const LocalStorage &storage, std::int64_t size, const Index &index) {
  ir::Value value = index.value();
  if (value.is_constant() && (value.as_int() < 0 || value.as_int() >= size))
    throw UserError(index.where(), "index " + std::to_string(value.as_int()) + " is outside of a LocalArray of " +
                                       std::to_string(size) + " elements");
  // The index of an element is its value now: an assignment to an index variable later does not move the element.
  if (value.is_local()) value = record(ir::Op::Copy, value.type(), {value}, index.where());
  return element(storage, value, index.where());
}

}  // namespace samite::lang
