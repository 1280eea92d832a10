#include "samite/passes/simplify/builder.h"

#include "samite/passes/simplify/fold.h"

namespace samite::passes {

using namespace ir;

Value Builder::operation(Operation operation) {
  if (auto folded = fold(operation)) return *folded;
  Type type = operation.type;
  LocalId local = new_local();
  append({Let{local, std::move(operation)}, where_});
  return Value::local(type, local);
}

Value Builder::operator()(Op op, std::initializer_list<Value> operands) {
  std::vector<Value> values(operands);
  Type type = values[0].type();
  if (info(op).typing == Typing::Compare) type = type.of(ScalarType::Bool);
  if (op == Op::Select) type = values[1].type();
  return operation({op, type, std::move(values)});
}

Value Builder::cast(Type type, Value value) {
  return value.type() == type ? value : operation({Op::Cast, type, {value}});
}

LocalArrayId Builder::allocate(Type type, Value size) {
  LocalArrayId array = next_array_++;
  append({Allocate{array, type, size}, where_});
  return array;
}

void Builder::local_store(LocalArrayId array, Value index, Value value) {
  append({LocalStore{array, index, value}, where_});
}

Value Builder::local_load(Type type, LocalArrayId array, Value index) {
  return operation({Op::LocalLoad, type, {index}, array});
}

LocalId Builder::variable(Value initial) {
  LocalId local = new_local();
  append({Let{local, {Op::Copy, initial.type(), {initial}}}, where_});
  return local;
}

}  // namespace samite::passes
