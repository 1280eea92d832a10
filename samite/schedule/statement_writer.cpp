#include "samite/schedule/statement_writer.h"

#include "samite/passes/simplify/fold.h"

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

Value StatementWriter::converted(Value value, ScalarType type) {
  return value.type() == Type(type) ? value : operation({Op::Cast, type, {value}});
}

Value StatementWriter::floored_remainder(Value value, std::int64_t by) {
  const ScalarType type = value.type().element();
  const Value divisor = Value::constant(type, by);
  const Value rest = (*this)(Op::Rem, value, divisor);
  const Value negative = (*this)(Op::Less, rest, Value::zero(type));
  return operation({Op::Select, type, {negative, (*this)(Op::Add, rest, divisor), rest}});
}

}  // namespace samite::schedules
