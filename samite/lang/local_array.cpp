#include "samite/lang/local_array.h"

#include "samite/base/error.h"
#include "samite/base/function_ref.h"
#include "samite/lang/trace.h"

namespace samite::lang {
namespace {

// Up to this size the compiler would unroll the loop anyway, so it would only cost time.
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

LocalArrayHandle::LocalArrayHandle(const LocalStorage &storage) : storage_(storage) {
  Trace::current({}).set_array_owner(storage_.array, this);
}

LocalArrayHandle::LocalArrayHandle(LocalArrayHandle &&from) noexcept : storage_(from.storage_) {
  Trace *trace = Trace::running();
  if (!trace || trace->serial() != storage_.serial || trace->array_owner(storage_.array) != &from) return;
  trace->set_array_owner(storage_.array, this);
  from.moved_in_ = trace->open_block_id();
}

LocalArrayHandle::~LocalArrayHandle() {
  Trace *trace = Trace::running();
  if (trace && trace->serial() == storage_.serial && trace->array_owner(storage_.array) == this)
    trace->set_array_owner(storage_.array, nullptr);
}

const LocalStorage &LocalArrayHandle::storage(SourceLocation where) const {
  Trace &trace = Trace::current(where);
  // Another kernel's is refused with the access.
  if (storage_.serial == trace.serial() && trace.array_owner(storage_.array) != this)
    throw UserError(where,
                    "a local array is used after it was moved from; assign another one to it, or fill it, first");
  return storage_;
}

const LocalStorage &LocalArrayHandle::overwritten(ScalarType type, std::int64_t size, SourceLocation where) {
  Trace &trace = Trace::current(where);
  if (storage_.serial != trace.serial()) return storage_;
  LocalArrayHandle *owner = trace.array_owner(storage_.array);
  if (owner == this) return storage_;
  const LocalStorage handed_on = storage_;
  if (owner && moved_in_ == trace.array_block_of(storage_.array)) {
    trace.record_in(moved_in_, [&] { storage_ = allocate_local(type, size, where); });
  } else if (owner) {
    trace.record_in(moved_in_, [&] {
      owner->storage_ = allocate_local(type, size, where);
      copy_local(owner->storage_, handed_on, type, size, where);
    });
    trace.set_array_owner(owner->storage_.array, owner);
    trace.rename_array_inside(moved_in_, handed_on.array, owner->storage_.array);
  }
  trace.set_array_owner(storage_.array, this);
  return storage_;
}

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
