#include "samite/lang/traced.h"

#include "samite/base/error.h"
#include "samite/lang/trace.h"

#include <limits>

namespace samite::lang {

ir::Value record(ir::Op op, ScalarType type, std::initializer_list<ir::Value> operands, SourceLocation where) {
  return Trace::current(where).let({op, type, operands}, where);
}

ir::Value record_cast(ScalarType type, ir::Value value, SourceLocation where) {
  return record(value.type() == type ? ir::Op::Copy : ir::Op::Cast, type, {value}, where);
}

void record_assign(std::uint32_t serial, ir::LocalId target, ir::Value value, SourceLocation where) {
  local_value(value.type(), serial, target, where);
  Trace::current(where).assign(target, value, where);
}

ir::Value local_value(ScalarType type, std::uint32_t serial, ir::LocalId local, SourceLocation where) {
  Trace &trace = Trace::current(where);
  if (serial == 0)
    throw UserError(where,
                    "a traced value is used after it was moved from; to exchange two of them, call "
                    "swap(x, y) without std::");
  if (serial != trace.serial())
    throw UserError(where,
                    "a traced value of one kernel is used in another kernel; pass it as an argument of the launch");
  trace.check_scope(local, where);
  return ir::Value::local(type, local);
}

std::uint32_t current_serial(SourceLocation where) { return Trace::current(where).serial(); }

SourceLocation latest_location() { return Trace::current({}).latest_location(); }

ir::Value literal(ScalarType type, double value, SourceLocation) { return ir::Value::constant(type, value); }

ir::Value literal(ScalarType type, std::int64_t value, bool negative, SourceLocation where) {
  ir::Value constant = ir::Value::constant(type, value);
  bool is_signed = class_of(type) == ScalarClass::Signed;
  // A 64-bit unsigned literal above the signed range arrives as a negative `value` that is not `negative`.
  bool fits = constant.as_int() == value && (is_signed ? negative == (value < 0) : !negative);
  if (!fits)
    throw UserError(where, "the literal " +
                               (negative ? std::to_string(value) : std::to_string(static_cast<std::uint64_t>(value))) +
                               " does not fit into " + std::string(cpp_name(type)) + "; use a wider type");
  return constant;
}

}  // namespace samite::lang
