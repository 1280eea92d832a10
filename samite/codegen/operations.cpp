// Operations as expressions.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

using ir::Op;
using ir::Operation;
using ir::Value;

namespace {

// Whether the result may have more digits than its operands, and must be rounded. Casts and memory accesses round by
// themselves.
bool rounds(Op op) {
  switch (op) {
    case Op::Copy:
    case Op::StopGradient:
    case Op::Select:
    case Op::Cast:
    case Op::Neg:
    case Op::Min:
    case Op::Max:
    case Op::Abs:
    case Op::CopySign:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc: return false;
    default: return ir::info(op).pure;
  }
}

}  // namespace

std::string KernelEmitter::load(const Operation &operation, SourceLocation where) {
  if (const auto loaded = warp_loops_.load(operation)) return *loaded;
  const Access from = memory_.access(operation.array, operation.operands, where);
  if (const auto grouped = element_loops_.grouped_load(operation, from.element)) return *grouped;
  return memory_.load(operation, from);
}

void KernelEmitter::let(const ir::Let &let, SourceLocation where) {
  const Shape result = uniformity_.of(let.local);
  const bool wraps = !explicit_lanes() && !memory_.only_indexes(let.local);
  std::string text = wraps ? wrapping(let.value) : "";
  if (text.empty()) text = expression(let.value, result, where);
  if (is_small_float(let.value.type) && rounds(let.value.op))
    text = fmt::format("round_to<{}>({})", memory_name(let.value.type), text);
  const bool acts = let.value.op == Op::Exchange || ir::info(let.value.op).typing == ir::Typing::Atomic;
  const bool of_block = is_tile_kernel(kernel_) && !explicit_lanes() && !element_loops_.is_open();
  if (acts && of_block)
    text = fmt::format("of_one_thread<{}>([&] {{ return {}; }})", scalar_name(let.value.type), text);
  out_.line("const {} {} = {};", type(let.value.type, result), name(let.local), text);
}

std::string KernelEmitter::expression(const Operation &operation, Shape result, SourceLocation where) {
  const auto &operands = operation.operands;
  const bool vectors = result == Shape::Varying;
  auto operand = [&](std::size_t i) { return vectors ? mixed(operands[i]) : scalar(operands[i]); };
  auto whole = [&](std::size_t i) { return as(operands[i], result); };

  if (const auto coordinate = element_loops_.coordinate(operation)) return *coordinate;
  switch (operation.op) {
    case Op::Copy:
    case Op::StopGradient: return whole(0);
    case Op::Cast: return cast(operation, result);
    case Op::Select: {
      const std::string condition = scalar(operands[0]);  // of a Varying condition: its name, too
      return fmt::format("{} ? {} : {}", condition, whole(1), whole(2));
    }
    case Op::Div:
    case Op::Rem: return division(operation, result, where);
    case Op::Not: return fmt::format("{}{}", operation.type == ScalarType::Bool ? "!" : "~", whole(0));
    case Op::Abs:
      return class_of(operation.type) == ScalarClass::Unsigned ? whole(0) : fmt::format("abs({})", whole(0));
    case Op::LaunchBegin: return fmt::format("{}(begin[{}])", scalar_name(operation.type), operation.attribute);
    case Op::LaunchEnd: return fmt::format("{}(end[{}])", scalar_name(operation.type), operation.attribute);
    case Op::Extent:
      return fmt::format("{}(p{}.extent[{}])", scalar_name(operation.type), operation.array, operation.attribute);
    case Op::Load: return load(operation, where);
    case Op::Exchange: return memory_.exchange(operation, where);
    case Op::LocalLoad: return local_arrays_.load(operation, where);
    case Op::AtomicAdd:
    case Op::AtomicMin:
    case Op::AtomicMax:
    case Op::AtomicAnd:
    case Op::AtomicOr:
    case Op::AtomicXor:
    case Op::AtomicExchange:
    case Op::AtomicCompareExchange: return memory_.atomic(operation, where);
    case Op::ThreadIndex: throw InternalError("the emitter was given a kernel that is not lowered");
    default: break;
  }

  const Spelling spelled = spelling(operation.op);
  switch (spelled.form) {
    case Spelling::Form::Infix: return fmt::format("{} {} {}", operand(0), spelled.text, operand(1));
    case Spelling::Form::Prefix: return fmt::format("{}({})", spelled.text, whole(0));
    case Spelling::Form::Comparison: {
      const bool masks = vectors && operands[0].type() == ScalarType::Bool;
      const std::string comparison = fmt::format("{} {} {}", operand(0), spelled.text, operand(1));
      return vectors && !masks ? fmt::format("to_mask({})", comparison) : comparison;
    }
    case Spelling::Form::Shift: {
      const auto width = static_cast<std::int64_t>(8 * size_of(operation.type));
      const Value limit = Value::constant(operation.type, width - 1);
      const Value &amount = operands[1];
      const std::string count = amount.is_constant()
                                    ? as(Value::constant(operation.type, amount.as_int() & (width - 1)), result)
                                    : fmt::format("({} & {})", whole(1), literal(limit));
      return fmt::format("{} {} {}", whole(0), spelled.text, count);
    }
    case Spelling::Form::Function: {
      std::string arguments = whole(0);
      for (std::size_t i = 1; i < operands.size(); ++i) arguments += ", " + whole(i);
      return fmt::format("{}({})", spelled.text, arguments);
    }
    case Spelling::Form::Atomic:
    case Spelling::Form::Special: break;
  }
  throw InternalError(fmt::format("the emitter does not know the operation {}", ir::info(operation.op).name));
}

// Integer arithmetic whose overflow is undefined in C++. Empty where C++'s own operator is right.
std::string KernelEmitter::wrapping(const Operation &operation) const {
  if (class_of(operation.type) != ScalarClass::Signed && operation.type != ScalarType::UInt16) return "";
  const auto operand = [&](std::size_t i) { return scalar(operation.operands[i]); };
  switch (operation.op) {
    case Op::Add: return fmt::format("wrapping_add({}, {})", operand(0), operand(1));
    case Op::Sub: return fmt::format("wrapping_sub({}, {})", operand(0), operand(1));
    case Op::Mul: return fmt::format("wrapping_mul({}, {})", operand(0), operand(1));
    case Op::Neg: return fmt::format("wrapping_neg({})", operand(0));
    default: return "";
  }
}

std::string KernelEmitter::cast(const Operation &operation, Shape result) const {
  const Value &from = operation.operands[0];
  const ScalarType to = operation.type;
  if (from.type() == to) return as(from, result);
  const bool small = is_small_float(to) && from.type() != ScalarType::Bool;
  if (small)
    return fmt::format("{}<{}>({})", result == Shape::Varying ? "cast_lanes_to" : "cast_to", memory_name(to),
                       as(from, result));
  if (result != Shape::Varying) {
    if (to == ScalarType::Bool) return fmt::format("{} != {}", scalar(from), literal(Value::zero(from.type())));
    return fmt::format("{}({})", scalar_name(to), scalar(from));
  }
  if (to == ScalarType::Bool) return fmt::format("to_mask({} != {})", vector(from), literal(Value::zero(from.type())));
  if (from.type() == ScalarType::Bool) return fmt::format("from_mask<{}>({})", vector_name(to), vector(from));
  return fmt::format("__builtin_convertvector({}, {})", vector(from), vector_name(to));
}

// The prelude's `divide` defines division by every integer. A constant divisor that needs no such definition gets the
// operator of C++, of which the compiler makes a multiplication.
std::string KernelEmitter::division(const Operation &operation, Shape result, SourceLocation where) {
  const Value &a = operation.operands[0], &b = operation.operands[1];
  const bool remainder = operation.op == Op::Rem;
  const bool vectors = result == Shape::Varying;
  const bool harmless = b.is_constant() && b.as_int() != 0 && (b.as_int() != -1 || !is_integer(operation.type));
  if (is_floating(operation.type) || harmless)
    return fmt::format("{} {} {}", vectors ? mixed(a) : scalar(a), remainder ? "%" : "/",
                       vectors ? mixed(b) : scalar(b));
  const bool zero_possible = !b.is_constant() || b.as_int() == 0;
  if (options_.debug && zero_possible) {
    if (shape(b) == Shape::Uniform)
      out_.line("check_divisor(failure, {}, {});", scalar(b), failures_.blame_all(where));
    else
      out_.line("check_divisor(failure, {}, {}, {});", mask_, vector(b), failures_.blame(where));
  }
  return fmt::format("{}({}, {})", remainder ? "remainder" : "divide", as(a, result), as(b, result));
}

}  // namespace samite::codegen
