#include "samite/codegen/spelling.h"

#include "samite/base/error.h"

#include <fmt/format.h>
#include <cmath>
#include <limits>

namespace samite::codegen {
namespace {

std::string floating_literal(double value, bool single) {
  const std::string_view suffix = single ? "f" : "";
  const std::string_view type = single ? "f32" : "f64";
  if (std::isnan(value)) return fmt::format("nan_{}()", type);
  if (std::isinf(value)) return fmt::format("{}infinity_{}()", value < 0 ? "-" : "", type);
  std::string digits = single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits + std::string(suffix);
}

}  // namespace

std::string_view scalar_name(ScalarType type) { return is_small_float(type) ? "f32" : name(type); }
std::string_view memory_name(ScalarType type) { return name(type); }

std::string_view vector_name(ScalarType type) {
  switch (type) {
    case ScalarType::Bool: return "Mask";
    case ScalarType::Int8: return "I8";
    case ScalarType::Int16: return "I16";
    case ScalarType::Int32: return "I32";
    case ScalarType::Int64: return "I64";
    case ScalarType::UInt8: return "U8";
    case ScalarType::UInt16: return "U16";
    case ScalarType::UInt32: return "U32";
    case ScalarType::UInt64: return "U64";
    case ScalarType::Float8E4M3:
    case ScalarType::Float8E5M2:
    case ScalarType::Float16:
    case ScalarType::BFloat16:
    case ScalarType::Float32: return "F32";
    case ScalarType::Float64: return "F64";
  }
  throw InternalError("a scalar type without a vector");
}

std::string literal(const ir::Value &constant) {
  const std::int64_t value = is_floating(constant.type()) ? 0 : constant.as_int();
  switch (constant.type()) {
    case ScalarType::Bool: return value != 0 ? "true" : "false";
    case ScalarType::Int8:
    case ScalarType::Int16:
    case ScalarType::UInt8:
    case ScalarType::UInt16: return fmt::format("{}({})", scalar_name(constant.type()), value);
    case ScalarType::Int32:
      // C++ has no negative literals: -2147483648 negates a number that does not fit an int.
      if (value == std::numeric_limits<std::int32_t>::min()) return "(-2147483647 - 1)";
      return fmt::format("{}", value);
    case ScalarType::Int64:
      if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
      return fmt::format("{}ll", value);
    case ScalarType::UInt32: return fmt::format("{}u", value);
    case ScalarType::UInt64: return fmt::format("{}ull", constant.bits());
    case ScalarType::Float8E4M3:
    case ScalarType::Float8E5M2:
    case ScalarType::Float16:
    case ScalarType::BFloat16:
    case ScalarType::Float32: return floating_literal(constant.as_double(), true);
    case ScalarType::Float64: return floating_literal(constant.as_double(), false);
  }
  throw InternalError("a constant of an unknown type");
}

Spelling spelling(ir::Op op) {
  using ir::Op;
  using enum Spelling::Form;
  switch (op) {
    case Op::Neg: return {Prefix, "-"};
    case Op::Add: return {Infix, "+"};
    case Op::Sub: return {Infix, "-"};
    case Op::Mul: return {Infix, "*"};
    case Op::And: return {Infix, "&"};
    case Op::Or: return {Infix, "|"};
    case Op::Xor: return {Infix, "^"};
    case Op::ShiftLeft: return {Shift, "<<"};
    case Op::ShiftRight: return {Shift, ">>"};
    case Op::Equal: return {Comparison, "=="};
    case Op::NotEqual: return {Comparison, "!="};
    case Op::Less: return {Comparison, "<"};
    case Op::LessEqual: return {Comparison, "<="};
    case Op::Greater: return {Comparison, ">"};
    case Op::GreaterEqual: return {Comparison, ">="};
    case Op::AtomicAdd: return {Atomic, "AtomicAdd"};
    case Op::AtomicMin: return {Atomic, "AtomicMin"};
    case Op::AtomicMax: return {Atomic, "AtomicMax"};
    case Op::AtomicAnd: return {Atomic, "AtomicAnd"};
    case Op::AtomicOr: return {Atomic, "AtomicOr"};
    case Op::AtomicXor: return {Atomic, "AtomicXor"};
    case Op::AtomicExchange: return {Atomic, "AtomicExchange"};
    case Op::AtomicCompareExchange: return {Atomic, "AtomicCompareExchange"};
    case Op::Copy:
    case Op::StopGradient:
    case Op::Cast:
    case Op::BitCast:
    case Op::Select:
    case Op::Div:
    case Op::Rem:
    case Op::Abs:
    case Op::Not:
    case Op::ThreadIndex:
    case Op::LaunchBegin:
    case Op::LaunchEnd:
    case Op::Extent:
    case Op::Load:
    case Op::Exchange:
    case Op::LocalLoad: return {Special, ""};
    default: return {Function, ir::info(op).name};  // the IR and the prelude agree on the names
  }
}

}  // namespace samite::codegen
