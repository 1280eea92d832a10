#include "samite/schedule/identity.h"

#include <limits>

namespace samite::schedules {

using namespace ir;

std::optional<Value> identity_of(Op op, ScalarType type) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::size_t bits = 8 * size_of(type);
  const bool is_unsigned = class_of(type) == ScalarClass::Unsigned;
  switch (op) {
    case Op::Add:
    case Op::Sub: return Value::zero(type);
    case Op::Mul: return Value::constant(type, 1);
    case Op::Or:
    case Op::Xor: return Value::zero(type);
    case Op::And: return type == ScalarType::Bool ? Value::boolean(true) : Value::constant(type, -1);
    case Op::Min:
    case Op::Max: {
      const bool least = op == Op::Min;
      if (is_floating(type)) {
        if (bits == 8) return std::nullopt;  // f8e4m3 has no infinity
        const double infinity = std::numeric_limits<double>::infinity();
        return Value::constant(type, least ? infinity : -infinity);
      }
      if (is_unsigned) return Value::constant(type, least ? -1 : 0);
      const int unused = 64 - static_cast<int>(bits);
      return Value::constant(type, (least ? Limits::max() : Limits::min()) >> unused);
    }
    default: return std::nullopt;
  }
}

}  // namespace samite::schedules
