#include "samite/schedule/statement_writer.h"

#include "samite/passes/fold.h"

namespace samite::schedules {

using namespace ir;

Value StatementWriter::operation(Operation operation) {
  if (const auto folded = passes::fold(operation)) return *folded;
  const Type type = operation.type;
  const LocalId local = new_local();
  out->emplace_back(Let{local, std::move(operation)}, where);
  return Value::local(type, local);
}

Value StatementWriter::operator()(Op op, Value a, Value b) {
  const Type type = info(op).typing == Typing::Compare ? a.type().of(ScalarType::Bool) : a.type();
  return operation({op, type, {a, b}});
}

Value StatementWriter::as_i32(Value value) {
  return value.type() == Type(ScalarType::Int32) ? value : operation({Op::Cast, ScalarType::Int32, {value}});
}

Value StatementWriter::floored_remainder(Value value, std::int64_t by) {
  Value rest = (*this)(Op::Rem, value, number(by));
  const Value negative = (*this)(Op::Less, rest, number(0));
  return operation({Op::Select, ScalarType::Int32, {negative, (*this)(Op::Add, rest, number(by)), rest}});
}

}  // namespace samite::schedules
