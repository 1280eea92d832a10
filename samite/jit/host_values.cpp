#include "samite/jit/host_values.h"

#include "samite/base/error.h"
#include "samite/jit/messages.h"
#include "samite/passes/simplify/fold.h"

#include <cmath>
#include <cstring>

namespace samite::jit {
namespace {

// Between a scalar argument, whose first bytes hold it, and a constant.
template <class T>
ir::Value constant_of(std::uint64_t bits) {
  T scalar;
  std::memcpy(static_cast<void *>(&scalar), &bits, sizeof scalar);
  if constexpr (FloatingScalar<T>)
    return ir::Value::constant(scalar_type_of<T>, static_cast<double>(scalar));
  else
    return ir::Value::constant(scalar_type_of<T>, static_cast<std::int64_t>(scalar));
}
template <class T>
std::uint64_t bits_of_constant(const ir::Value &constant) {
  std::uint64_t bits = 0;
  T scalar;
  if constexpr (FloatingScalar<T>)
    scalar = static_cast<T>(constant.as_double());
  else
    scalar = static_cast<T>(constant.bits());
  std::memcpy(&bits, static_cast<const void *>(&scalar), sizeof scalar);
  return bits;
}

ir::Value constant_of(ScalarType type, std::uint64_t bits) {
  switch (type) {
#define SAMITE_CASE(name, text, host, bytes, kind) \
  case ScalarType::name: return constant_of<host>(bits);
    SAMITE_SCALAR_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
  }
  throw InternalError("a scalar type of no values");
}

bool is_signed(const ir::Value &value) { return class_of(value.type()) == ScalarClass::Signed; }

// Operations that `fold` leaves to the target, because targets may differ or report them.
std::optional<ir::Value> evaluate_rest(ir::Op op, ir::Type type, std::span<const ir::Value> operands) {
  if (operands.empty()) return std::nullopt;
  const ir::Value &x = operands[0];
  if (op == ir::Op::Cast) {
    if (type == ScalarType::Bool) return ir::Value::boolean(is_floating(x.type()) ? x.as_double() != 0 : x.bits() != 0);
    if (is_floating(x.type()) && !is_floating(type)) {
      const double whole = std::trunc(x.as_double());
      if (std::abs(whole) < 0x1p62) return ir::Value::constant(type, static_cast<std::int64_t>(whole));
      if (!is_integer(type.element())) return std::nullopt;
      // Kernels may give something else, but a bound must stay beyond all indices.
      const std::int64_t most = std::int64_t{1} << (8 * size_of(type.element()) - 2);
      return std::isnan(whole) ? ir::Value::zero(type) : ir::Value::constant(type, whole < 0 ? -most : most);
    }
    return std::nullopt;
  }
  if (is_floating(type)) {
    switch (op) {
      case ir::Op::Floor: return ir::Value::constant(type, std::floor(x.as_double()));
      case ir::Op::Ceil: return ir::Value::constant(type, std::ceil(x.as_double()));
      case ir::Op::Round: return ir::Value::constant(type, std::round(x.as_double()));
      case ir::Op::Trunc: return ir::Value::constant(type, std::trunc(x.as_double()));
      case ir::Op::Abs: return ir::Value::constant(type, std::abs(x.as_double()));
      case ir::Op::Sqrt: return ir::Value::constant(type, std::sqrt(x.as_double()));
      case ir::Op::Min: return ir::Value::constant(type, std::fmin(x.as_double(), operands[1].as_double()));
      case ir::Op::Max: return ir::Value::constant(type, std::fmax(x.as_double(), operands[1].as_double()));
      default: return std::nullopt;
    }
  }
  if (op == ir::Op::Abs)
    return ir::Value::constant(type,
                               static_cast<std::int64_t>(is_signed(x) && x.as_int() < 0 ? 0 - x.bits() : x.bits()));
  if (operands.size() != 2) return std::nullopt;
  const ir::Value &y = operands[1];
  const std::uint64_t width = 8 * size_of(type.element()), count = y.bits() % width;
  switch (op) {
    case ir::Op::Div:
      if (y.bits() == 0) return ir::Value::zero(type);
      return ir::Value::constant(type, static_cast<std::int64_t>(0 - x.bits()));  // by -1
    case ir::Op::Rem: return y.bits() == 0 ? x : ir::Value::zero(type);
    case ir::Op::ShiftLeft: return ir::Value::constant(type, static_cast<std::int64_t>(x.bits() << count));
    case ir::Op::ShiftRight:
      return ir::Value::constant(type,
                                 is_signed(x) ? x.as_int() >> count : static_cast<std::int64_t>(x.bits() >> count));
    default: return std::nullopt;
  }
}

}  // namespace

HostValues::HostValues(const schedules::Program &program, std::span<const Argument> arguments)
    : program_(program),
      arguments_(arguments),
      locals_(program.local_count, ir::Value::zero(ScalarType::Int32)),
      operation_{ir::Op::Copy, ScalarType::Int32, {}} {}

ir::Value HostValues::of(const ir::Value &value) const {
  switch (value.kind()) {
    case ir::Value::Kind::Constant: return value;
    case ir::Value::Kind::Parameter:
      return constant_of(value.type().element(), arguments_[value.parameter_index()].scalar);
    case ir::Value::Kind::Local: return locals_[value.id()];
  }
  return value;
}

void HostValues::define(const ir::Let &let) {
  const ir::Operation &wanted = let.value;
  if (wanted.op == ir::Op::Extent) {
    locals_[let.local] = ir::Value::constant(wanted.type, arguments_[wanted.array].buffer->extents()[wanted.attribute]);
    return;
  }
  operation_.op = wanted.op;
  operation_.type = wanted.type;
  operation_.attribute = wanted.attribute;
  operation_.operands.clear();
  for (const ir::Value &operand : wanted.operands) operation_.operands.push_back(of(operand));
  std::optional<ir::Value> result = passes::fold(operation_);
  if (!result) result = evaluate_rest(wanted.op, wanted.type, operation_.operands);
  if (!result)
    throw InternalError("pipeline '" + program_.name + "': the host cannot compute '" +
                        std::string(info(wanted.op).name) + "'");
  locals_[let.local] = *result;
}

std::uint64_t HostValues::bits_of(const ir::Value &value) const {
  const ir::Value constant = of(value);
  switch (constant.type().element()) {
#define SAMITE_CASE(name, text, host, bytes, kind) \
  case ScalarType::name: return bits_of_constant<host>(constant);
    SAMITE_SCALAR_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
  }
  throw InternalError("a scalar type of no values");
}

std::string HostValues::text(const ir::Message &message) const {
  std::string text = message.texts[0];
  for (std::size_t i = 0; i < message.values.size(); ++i)
    text += text_of(message.values[i].type().element(), bits_of(message.values[i])) + message.texts[i + 1];
  return text;
}

}  // namespace samite::jit
