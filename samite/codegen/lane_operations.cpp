// Operations in lanes.
#include "samite/codegen/lanes_emitter.h"
#include "samite/codegen/operation_text.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

using namespace ir;

void LanesEmitter::let(const Let &let, SourceLocation where) {
  if (race_steps_.is_written(let.local) || race_step(let, where)) return;
  const Shape result = values_.shape(let.local);
  const std::string text = result == Shape::Varying ? vectors(let.value, where) : expression(let.value, where);
  out_.line("const {} {} = {};", LaneValues::type(let.value.type, result), name(let.local), rounded(let.value, text));
}

// An operation whose result is a vector.
std::string LanesEmitter::vectors(const Operation &operation, SourceLocation where) {
  const auto &operands = operation.operands;
  switch (info(operation.op).typing) {
    case Typing::Load:
    case Typing::LocalLoad:
    case Typing::Atomic: return access(operation, where);
    default: break;
  }
  const auto whole = [&](const Value &value) { return values_.vector(value); };
  const auto beside = [&](const Value &value) { return values_.beside_vector(value); };
  switch (operation.op) {
    case Op::Cast: return cast(operation);
    case Op::BitCast: return fmt::format("bit_cast<{}>({})", vector_name(operation.type), whole(operands[0]));
    case Op::Select:  // the name of a condition that is a mask
      return fmt::format("{} ? {} : {}", scalar(operands[0]), whole(operands[1]), whole(operands[2]));
    case Op::Div:
    case Op::Rem: {
      const bool remainder = operation.op == Op::Rem;
      const Value &a = operands[0], &b = operands[1];
      if (!needs_definition(operation)) return fmt::format("{} {} {}", beside(a), remainder ? "%" : "/", beside(b));
      if (options_.debug && !(b.is_constant() && b.as_int() != 0)) check_divisor(b, where);
      return fmt::format("{}({}, {})", remainder ? "remainder" : "divide", whole(a), whole(b));
    }
    default: break;
  }
  const std::string text = operation_text(operation, {beside, whole});
  const bool compares = spelling(operation.op).form == Spelling::Form::Comparison;
  return compares && operands[0].type() != ScalarType::Bool ? fmt::format("to_mask({})", text) : text;
}

std::string LanesEmitter::cast(const Operation &operation) const {
  const Value &from = operation.operands[0];
  const ScalarType to = operation.type;
  std::string vector = values_.vector(from);
  if (from.type() == to) return vector;
  if (is_small_float(to) && from.type() != ScalarType::Bool)
    return fmt::format("cast_lanes_to<{}>({})", memory_name(to), vector);
  if (to == ScalarType::Bool) return fmt::format("to_mask({} != {})", vector, literal(Value::zero(from.type())));
  if (from.type() == ScalarType::Bool) return fmt::format("from_mask<{}>({})", vector_name(to), vector);
  return fmt::format("__builtin_convertvector({}, {})", vector, vector_name(to));
}

std::string LanesEmitter::access(const Operation &operation, SourceLocation where) {
  switch (operation.op) {
    case Op::Load: return access_.load(operation, where);
    case Op::Exchange: return access_.exchange(operation, where);
    case Op::LocalLoad: return arrays_.load(operation, where);
    default: return access_.atomic(operation, where);
  }
}

void LanesEmitter::check_divisor(const Value &divisor, SourceLocation where) {
  const bool varies = values_.shape(divisor) != Shape::Uniform;
  out_.line("check_divisor(failure, {}{}{}, {});", values_.mask(), values_.in_lanes() ? ", " : "",
            varies ? values_.vector(divisor) : scalar(divisor), failures_.blame(where));
}

}  // namespace samite::codegen
