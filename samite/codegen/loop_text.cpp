#include "samite/codegen/loop_text.h"

namespace samite::codegen {

using namespace ir;

namespace {

// Such a loop is written out whole, so that its indices are constants.
bool is_short(const For &loop) {
  constexpr std::int64_t few = 32;
  return loop.begin.is_constant() && loop.end.is_constant() && loop.end.as_int() - loop.begin.as_int() <= few;
}

}  // namespace

void LoopText::declare(const std::vector<Carried> &carried) {
  for (const Carried &value : carried)
    emission_.out.line("{} {} = {};", values_.type(value.type, value.inner), values_.name(value.inner),
                       values_.assigned(value.initial, value.inner));
}

// A next value may be another's inner value, which is read before it is written.
std::vector<std::string> LoopText::next_values(const std::vector<Carried> &carried) {
  const auto is_inner = [&](const Value &value) {
    for (const Carried &other : carried)
      if (value.is_local() && value.id() == other.inner) return true;
    return false;
  };
  std::vector<std::string> next;
  for (const Carried &value : carried) {
    std::string text = values_.assigned(value.next, value.inner);
    if (is_inner(value.next) && !stays(value)) {
      const std::string kept = emission_.fresh("t");
      emission_.out.line("const {} {} = {};", values_.type(value.type, value.inner), kept, text);
      text = kept;
    }
    next.push_back(std::move(text));
  }
  return next;
}

void LoopText::advance(const std::vector<Carried> &carried) {
  const std::vector<std::string> next = next_values(carried);
  for (std::size_t i = 0; i < carried.size(); ++i)
    if (!stays(carried[i])) emission_.out.line("{} = {};", values_.name(carried[i].inner), next[i]);
}

void LoopText::name_results(const std::vector<Carried> &carried) {
  for (const Carried &value : carried)
    if (emission_.used(value.result))
      emission_.out.line("const {} {} = {};", values_.type(value.type, value.inner), values_.name(value.result),
                         values_.name(value.inner));
}

std::string LoopText::continues(const For &loop) const {
  const std::string index = values_.name(loop.index), end = values_.scalar(loop.end);
  const auto compare = [&](std::string_view op) { return fmt::format("{} {} {}", index, op, end); };
  if (loop.step.is_constant()) return compare(loop.step.as_int() > 0 ? "<" : ">");
  if (class_of(loop.type) == ScalarClass::Unsigned) return compare("<");
  return fmt::format("({} > {} ? {} : {})", values_.scalar(loop.step), literal(Value::zero(loop.type)), compare("<"),
                     compare(">"));
}

LoopHead::LoopHead(bool rotated, const std::string &begin, const std::string &condition, const std::string &step,
                   std::string_view wish)
    : open(rotated ? fmt::format("if ({}{}) {}do {{", begin.empty() ? "" : begin + "; ", condition, wish)
                   : fmt::format("for ({}; {}; {}) {{", begin, condition, step)),
      close(rotated ? fmt::format("}} while ({}, {});", step, condition) : "}") {}

std::string LoopText::open(const For &loop) {
  if (loop.rolled && loop.step.is_constant(1.0)) return open_counted(loop);
  const std::string index = values_.name(loop.index);
  const LoopHead head(rotated_, fmt::format("{} {} = {}", scalar_name(loop.type), index, values_.scalar(loop.begin)),
                      continues(loop), fmt::format("{} += {}", index, values_.scalar(loop.step)),
                      is_short(loop) ? "" : "_Pragma(\"clang loop unroll(disable) interleave_count(1)\") ");
  emission_.out.open("{}", head.open);
  return head.close;
}

// The iterations are counted in an unsigned type. With a signed one the compiler would know that no address wraps
// around, and would keep the next address of each array in registers, which does not pay in a loop that rarely runs.
std::string LoopText::open_counted(const For &loop) {
  const std::string type(scalar_name(loop.type)), count = emission_.fresh("k"), whole = type == "i64" ? "u64" : "u32";
  const LoopHead head(
      rotated_, fmt::format("{} {} = 0", whole, count),
      fmt::format("{} + {}({}) < {}", values_.scalar(loop.begin), type, count, values_.scalar(loop.end)), "++" + count);
  emission_.out.open("{}", head.open);
  emission_.out.line("const {0} {1} = {2} + {0}({3});", type, values_.name(loop.index), values_.scalar(loop.begin),
                     count);
  return head.close;
}

}  // namespace samite::codegen
