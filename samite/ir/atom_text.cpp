#include "samite/ir/atom_text.h"

#include "samite/ir/tokens.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace samite::ir {
namespace {

constexpr std::uint64_t quiet_nan = 0x7ff8'0000'0000'0000;

std::string digits(ScalarType type, double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  auto bits = std::bit_cast<std::uint64_t>(value);
  if (std::isnan(value)) return bits == quiet_nan ? "nan" : fmt::format("nan({:#x})", bits);
  // The shortest digits of an f32 distinguish it from other floats, not from other doubles.
  std::string text =
      type == ScalarType::Float64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  // A point or an exponent distinguishes a floating constant from an integer.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string at_name(std::string_view name) {
  bool identifier = !name.empty() && is_letter(name[0]);
  for (char c : name) identifier = identifier && (is_letter(c) || is_digit(c));
  return "@" + (identifier ? std::string(name) : in_quotes(name));
}

std::string constant_text(const Value &value) {
  if (value.type().is_tile()) {
    const std::string element = constant_text(Value::from_bits(value.type().element(), value.bits()));
    return fmt::format("{}:{}", element.substr(0, element.rfind(':')), name(value.type()));
  }
  switch (value.type()) {
    case ScalarType::Bool:
      if (value.bits() > 1) return fmt::format("{}:bool", value.bits());
      return value.bits() == 1 ? "true" : "false";
    case ScalarType::Int32: return fmt::format("{}", value.as_int());
    case ScalarType::Float32: return digits(value.type(), value.as_double());
    case ScalarType::Float8E4M3:
    case ScalarType::Float8E5M2:
    case ScalarType::Float16:
    case ScalarType::BFloat16:
    case ScalarType::Float64: return fmt::format("{}:{}", digits(value.type(), value.as_double()), name(value.type()));
    case ScalarType::UInt64: return fmt::format("{}:u64", value.bits());
    default: return fmt::format("{}:{}", value.as_int(), name(value.type()));
  }
}

}  // namespace samite::ir
