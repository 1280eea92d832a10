#include "samite/codegen/operation_text.h"

#include "samite/base/error.h"
#include "samite/codegen/spelling.h"

#include <fmt/format.h>

namespace samite::codegen {

using namespace ir;

namespace {

bool rounds(Op op) {
  switch (op) {
    case Op::Copy:
    case Op::StopGradient:
    case Op::Select:
    case Op::Cast:
    case Op::BitCast:
    case Op::Neg:
    case Op::Min:
    case Op::Max:
    case Op::Abs:
    case Op::CopySign:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc: return false;
    default: return info(op).pure;
  }
}

std::string shift_text(const Operation &operation, std::string_view shift, const OperandText &text) {
  const auto width = static_cast<std::int64_t>(8 * size_of(operation.type));
  const Value limit = Value::constant(operation.type, width - 1), &amount = operation.operands[1];
  const std::string count = amount.is_constant()
                                ? text.whole(Value::constant(operation.type, amount.as_int() & (width - 1)))
                                : fmt::format("({} & {})", text.whole(amount), literal(limit));
  return fmt::format("{} {} {}", text.whole(operation.operands[0]), shift, count);
}

}  // namespace

std::string operation_text(const Operation &operation, const OperandText &text) {
  const auto &operands = operation.operands;
  switch (operation.op) {
    case Op::Copy:
    case Op::StopGradient: return text.whole(operands[0]);
    case Op::Not: return fmt::format("{}{}", operation.type == ScalarType::Bool ? "!" : "~", text.whole(operands[0]));
    case Op::Abs:
      return class_of(operation.type) == ScalarClass::Unsigned ? text.whole(operands[0])
                                                               : fmt::format("abs({})", text.whole(operands[0]));
    case Op::ThreadIndex: throw InternalError("the emitter was given a kernel that is not lowered");
    default: break;
  }
  const Spelling spelled = spelling(operation.op);
  switch (spelled.form) {
    case Spelling::Form::Infix:
    case Spelling::Form::Comparison:
      return fmt::format("{} {} {}", text.beside(operands[0]), spelled.text, text.beside(operands[1]));
    case Spelling::Form::Prefix: return fmt::format("{}({})", spelled.text, text.whole(operands[0]));
    case Spelling::Form::Shift: return shift_text(operation, spelled.text, text);
    case Spelling::Form::Function: {
      std::string arguments = text.whole(operands[0]);
      for (std::size_t i = 1; i < operands.size(); ++i) arguments += ", " + text.whole(operands[i]);
      return fmt::format("{}({})", spelled.text, arguments);
    }
    case Spelling::Form::Atomic:
    case Spelling::Form::Special: break;
  }
  throw InternalError(fmt::format("the emitter does not know the operation {}", info(operation.op).name));
}

std::string rounded(const Operation &operation, std::string text) {
  if (!is_small_float(operation.type) || !rounds(operation.op)) return text;
  return fmt::format("round_to<{}>({})", memory_name(operation.type), text);
}

std::string cast_text(const Operation &operation, const std::string &from) {
  const Type given = operation.operands[0].type(), to = operation.type;
  if (given == to) return from;
  if (is_small_float(to) && given != ScalarType::Bool) return fmt::format("cast_to<{}>({})", memory_name(to), from);
  if (to == ScalarType::Bool) return fmt::format("{} != {}", from, literal(Value::zero(given)));
  return fmt::format("{}({})", scalar_name(to), from);
}

bool needs_definition(const Operation &division) {
  const Value &divisor = division.operands[1];
  if (is_floating(division.type)) return false;
  return !divisor.is_constant() || divisor.as_int() == 0 || divisor.as_int() == -1;
}

}  // namespace samite::codegen
