#include "samite/lang/traced.h"

#include "samite/base/error.h"
#include "samite/base/floating_range.h"
#include "samite/lang/trace.h"

#include <fmt/format.h>

namespace samite::lang {

ir::Value record(ir::Op op, ScalarType type, std::initializer_list<ir::Value> operands, SourceLocation where) {
  return Trace::current(where).let({op, type, operands}, where);
}

ir::Value record_cast(ScalarType type, ir::Value value, SourceLocation where) {
  return record(value.type() == type ? ir::Op::Copy : ir::Op::Cast, type, {value}, where);
}

LocalHandle::LocalHandle(ir::LocalId local) : local_(local) {
  Trace &trace = Trace::current({});
  serial_ = trace.serial();
  trace.set_owner(local_, this);
}

LocalHandle::LocalHandle(LocalHandle &&from) noexcept : serial_(from.serial_), local_(from.local_) {
  Trace *trace = Trace::running();
  if (!trace || trace->serial() != serial_ || trace->owner(local_) != &from) return;
  trace->set_owner(local_, this);
  from.moved_in_ = trace->open_block_id();
}

LocalHandle::~LocalHandle() {
  Trace *trace = Trace::running();
  if (trace && trace->serial() == serial_ && trace->owner(local_) == this) trace->set_owner(local_, nullptr);
}

void LocalHandle::check_capture(const ir::Type &type, SourceLocation where) const {
  if (serial_ == Trace::current(where).serial()) return;
  throw UserError(where, type.is_tile() ? "a tile of one kernel is used in another kernel; store it to an array, and "
                                          "load it there"
                                        : "a traced value of one kernel is used in another kernel; pass it as an "
                                          "argument of the launch");
}

ir::Value LocalHandle::value(const ir::Type &type, SourceLocation where) const {
  Trace &trace = Trace::current(where);
  check_capture(type, where);
  if (trace.owner(local_) != this)
    throw UserError(where, std::string(type.is_tile() ? "a tile" : "a traced value") +
                               " is used after it was moved from; assign to it first");
  trace.check_scope(local_, where);
  return ir::Value::local(type, local_);
}

void LocalHandle::assign(const ir::Type &type, ir::Value value, SourceLocation where) {
  Trace &trace = Trace::current(where);
  check_capture(type, where);
  if (LocalHandle *owner = trace.owner(local_); owner != this) {
    const ir::Value handed_on = ir::Value::local(type, local_);
    if (owner && moved_in_ == trace.block_of(local_)) {
      local_ = trace.let_in(moved_in_, {ir::Op::Copy, type, {ir::Value::zero(type)}}, where);
    } else if (owner) {
      owner->local_ = trace.let_in(moved_in_, {ir::Op::Copy, type, {handed_on}}, where);
      trace.set_owner(owner->local_, owner);
      // Statements captured since the move, in blocks that may run several times, must refer to the owner's value.
      trace.rename_inside(moved_in_, local_, owner->local_);
      if (value == handed_on) value = ir::Value::local(type, owner->local_);
    }
    trace.set_owner(local_, this);
  }
  trace.assign(local_, value, where);
}

SourceLocation latest_location() { return Trace::current({}).latest_location(); }

ir::Value literal(ScalarType type, double rounded, double value, SourceLocation where) {
  const bool too_large = is_too_large(type, value), too_small = rounded == 0 && value != 0;
  if (too_large || too_small) {
    const FloatingRange range = floating_range(type);
    throw UserError(where, fmt::format("the literal {} does not fit into {}, whose {} is {}; use a wider type", value,
                                       cpp_name(type), too_large ? "largest number" : "least number above zero",
                                       too_large ? range.largest : range.least));
  }
  return ir::Value::constant(type, rounded);
}

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
