// Operations of a thread.
#include "samite/codegen/operation_text.h"
#include "samite/codegen/spelling.h"
#include "samite/codegen/threads_emitter.h"

namespace samite::codegen {

using namespace ir;

void ThreadsEmitter::let(const Let &let, SourceLocation where) {
  const std::string_view type = scalar_name(let.value.type);
  std::string text = access_.only_indexes(let.local) ? "" : wrapping(let.value);
  if (text.empty()) text = element_loops_.coordinate(let.value).value_or("");
  if (text.empty()) text = expression(let.value, where);
  text = rounded(let.value, std::move(text));
  const bool acts = let.value.op == Op::Exchange || info(let.value.op).typing == Typing::Atomic;
  const bool of_block = of_blocks() && !element_loops_.is_open();
  if (acts && of_block) text = fmt::format("of_one_thread<{}>([&] {{ return {}; }})", type, text);
  out_.line("const {} {} = {};", type, name(let.local), text);
}

// Integer arithmetic with overflow that is undefined in C++. Empty if C++'s own operator is right.
std::string ThreadsEmitter::wrapping(const Operation &operation) {
  if (class_of(operation.type) != ScalarClass::Signed && operation.type != ScalarType::UInt16) return "";
  const auto operand = [&](std::size_t i) { return scalar_text(operation.operands[i]); };
  switch (operation.op) {
    case Op::Add: return fmt::format("wrapping_add({}, {})", operand(0), operand(1));
    case Op::Sub: return fmt::format("wrapping_sub({}, {})", operand(0), operand(1));
    case Op::Mul: return fmt::format("wrapping_mul({}, {})", operand(0), operand(1));
    case Op::Neg: return fmt::format("wrapping_neg({})", operand(0));
    default: return "";
  }
}

std::string ThreadsEmitter::access(const Operation &operation, SourceLocation where) {
  switch (operation.op) {
    case Op::Load: {
      if (const auto loaded = warp_loops_.load(operation)) return *loaded;
      const ThreadElement from = access_.element(operation.array, operation.operands, where);
      if (const auto grouped = element_loops_.grouped_load(operation, from.lvalue)) return *grouped;
      return access_.load(operation, from);
    }
    case Op::Exchange: return access_.exchange(operation, where);
    case Op::LocalLoad: return arrays_.load(operation, where);
    default: return access_.atomic(operation, where);
  }
}

void ThreadsEmitter::check_divisor(const Value &divisor, SourceLocation where) {
  out_.line("check_divisor(failure, {}, {});", scalar(divisor), failures_.blame(where));
}

}  // namespace samite::codegen
