#include "samite/ir/value.h"

#include <bit>

namespace samite::ir {

Value Value::constant(Type type, double value) {
  if (!is_floating(type)) return constant(type, static_cast<std::int64_t>(value));
  // Rounded here, so that equal numbers are equal constants.
  switch (type.element()) {
    case ScalarType::Float32: value = static_cast<float>(value); break;
    case ScalarType::Float8E4M3: value = static_cast<float>(f8e4m3(value)); break;
    case ScalarType::Float8E5M2: value = static_cast<float>(f8e5m2(value)); break;
    case ScalarType::Float16: value = static_cast<float>(half(value)); break;
    case ScalarType::BFloat16: value = static_cast<float>(bfloat16(value)); break;
    default: break;
  }
  return {Kind::Constant, type, std::bit_cast<std::uint64_t>(value)};
}

Value Value::constant(Type type, std::int64_t value) {
  switch (type.element()) {
    case ScalarType::Bool: value = value != 0; break;
    case ScalarType::Int8: value = static_cast<std::int8_t>(value); break;
    case ScalarType::Int16: value = static_cast<std::int16_t>(value); break;
    case ScalarType::Int32: value = static_cast<std::int32_t>(value); break;
    case ScalarType::UInt8: value = static_cast<std::uint8_t>(value); break;
    case ScalarType::UInt16: value = static_cast<std::uint16_t>(value); break;
    case ScalarType::UInt32: value = static_cast<std::uint32_t>(value); break;
    case ScalarType::Int64:
    case ScalarType::UInt64: break;
    case ScalarType::Float16: return constant(type, static_cast<double>(static_cast<float>(half(value))));
    case ScalarType::BFloat16: return constant(type, static_cast<double>(static_cast<float>(bfloat16(value))));
    case ScalarType::Float8E4M3:
    case ScalarType::Float8E5M2:
    case ScalarType::Float32:
    case ScalarType::Float64: return constant(type, static_cast<double>(value));
  }
  return {Kind::Constant, type, static_cast<std::uint64_t>(value)};
}

double Value::as_double() const {
  if (is_floating(type_)) return std::bit_cast<double>(payload_);
  if (type_.element() == ScalarType::UInt64) return static_cast<double>(payload_);
  return static_cast<double>(static_cast<std::int64_t>(payload_));
}

std::int64_t Value::as_int() const {
  if (is_floating(type_)) return static_cast<std::int64_t>(std::bit_cast<double>(payload_));
  return static_cast<std::int64_t>(payload_);
}

}  // namespace samite::ir
