// Operations whose result is a scalar.
#include "samite/codegen/operation_text.h"
#include "samite/codegen/spelling.h"
#include "samite/codegen/walk.h"

namespace samite::codegen {

using ir::Op;
using ir::Operation;
using ir::Typing;
using ir::Value;

std::string Walk::expression(const Operation &operation, SourceLocation where) {
  const auto &operands = operation.operands;
  const std::string_view type = scalar_name(operation.type);
  switch (ir::info(operation.op).typing) {
    case Typing::Load:
    case Typing::LocalLoad:
    case Typing::Atomic: return access(operation, where);
    default: break;
  }
  switch (operation.op) {
    case Op::Cast: return cast_text(operation, scalar(operands[0]));
    case Op::BitCast: return fmt::format("bit_cast<{}>({})", type, scalar(operands[0]));
    case Op::Select:
      return fmt::format("{} ? {} : {}", condition(operands[0]), scalar(operands[1]), scalar(operands[2]));
    case Op::Div:
    case Op::Rem: return division(operation, where);
    case Op::LaunchBegin: return fmt::format("{}(begin[{}])", type, operation.attribute);
    case Op::LaunchEnd: return fmt::format("{}(end[{}])", type, operation.attribute);
    case Op::Extent: return fmt::format("{}(p{}.extent[{}])", type, operation.array, operation.attribute);
    default: break;
  }
  const auto written = [&](const Value &value) { return scalar(value); };
  return operation_text(operation, {written, written});
}

// The prelude's `divide` defines division by every integer.
std::string Walk::division(const Operation &operation, SourceLocation where) {
  const Value &a = operation.operands[0], &b = operation.operands[1];
  const bool remainder = operation.op == Op::Rem;
  if (!needs_definition(operation)) return fmt::format("{} {} {}", scalar(a), remainder ? "%" : "/", scalar(b));
  if (options_.debug && !(b.is_constant() && b.as_int() != 0)) check_divisor(b, where);
  return fmt::format("{}({}, {})", remainder ? "remainder" : "divide", scalar(a), scalar(b));
}

}  // namespace samite::codegen
