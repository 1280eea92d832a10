#include "samite/codegen/loop_text.h"

#include "samite/ir/visit.h"
#include "samite/passes/op_cost.h"

namespace samite::codegen {

using namespace ir;
using passes::Shape;

void LoopText::declare(const std::vector<Carried> &carried, bool divergent) {
  for (const Carried &value : carried) {
    const Shape inner = values_.shape(value.inner);
    emission_.out.line("{} {} = {};", values_.type(value.type, inner), values_.name(value.inner),
                       values_.as(value.initial, inner));
    if (divergent && inner != Shape::Varying && emission_.used(value.result))
      emission_.out.line("{} {} = {};", vector_name(value.type), values_.name(value.result),
                         values_.vector(value.initial));
  }
}

void LoopText::advance(const std::vector<Carried> &carried, bool divergent) {
  // All next values are read before any is written, since one may be another's inner value.
  auto is_inner = [&](const Value &value) {
    for (const Carried &other : carried)
      if (value.is_local() && value.id() == other.inner) return true;
    return false;
  };
  std::vector<std::string> next;
  for (const Carried &value : carried) {
    const Shape inner = values_.shape(value.inner);
    std::string text = values_.as(value.next, inner);
    if (is_inner(value.next) && value.next.id() != value.inner) {
      const std::string kept = emission_.fresh("t");
      emission_.out.line("const {} {} = {};", values_.type(value.type, inner), kept, text);
      text = kept;
    }
    next.push_back(std::move(text));
    if (divergent && inner != Shape::Varying && emission_.used(value.result))
      emission_.out.line("{0} = {1} ? {2} : {0};", values_.name(value.result), values_.mask(),
                         values_.vector(value.next));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (carried[i].next.is_local() && carried[i].next.id() == carried[i].inner) continue;
    if (divergent && values_.shape(carried[i].inner) == Shape::Varying)
      emission_.out.line("{0} = {1} ? {2} : {0};", values_.name(carried[i].inner), values_.mask(), next[i]);
    else
      emission_.out.line("{} = {};", values_.name(carried[i].inner), next[i]);
  }
}

void LoopText::name_results(const std::vector<Carried> &carried, bool divergent) {
  for (const Carried &value : carried) {
    const Shape inner = values_.shape(value.inner);
    if (emission_.used(value.result) && (!divergent || inner == Shape::Varying))
      emission_.out.line("const {} {} = {};", values_.type(value.type, inner), values_.name(value.result),
                         values_.name(value.inner));
  }
}

std::string LoopText::continues(const For &loop, Shape shape) const {
  const Value index = Value::local(loop.type, loop.index);
  const bool vectors = shape == Shape::Varying;
  auto compare = [&](std::string_view op) {
    if (!vectors) return fmt::format("{} {} {}", values_.scalar(index), op, values_.scalar(loop.end));
    const bool spread = values_.shape(index) == Shape::Uniform && values_.shape(loop.end) == Shape::Uniform;
    return fmt::format("to_mask({} {} {})", spread ? values_.vector(index) : values_.mixed(index), op,
                       values_.mixed(loop.end));
  };
  if (loop.step.is_constant()) return compare(loop.step.as_int() > 0 ? "<" : ">");
  if (class_of(loop.type) == ScalarClass::Unsigned) return compare("<");
  const std::string zero = literal(Value::zero(loop.type));
  if (!values_.varying(loop.step))
    return fmt::format("({} > {} ? {} : {})", values_.scalar(loop.step), zero, compare("<"), compare(">"));
  return fmt::format("(to_mask({0} > {1}) ? {2} : {3})", values_.vector(loop.step), zero, compare("<"), compare(">"));
}

void LoopText::open(const For &loop) {
  keep_small(loop);
  if (loop.rolled && loop.step.is_constant(1.0)) return open_counted(loop);
  const std::string index = values_.name(loop.index);
  emission_.out.open("for ({} {} = {}; {}; {} += {}) {{", scalar_name(loop.type), index, values_.scalar(loop.begin),
                     continues(loop, Shape::Uniform), index, values_.scalar(loop.step));
}

// The iterations are counted without a sign. With one the compiler would know that no address wraps round, and would
// keep the next address of each array in registers, which is not worth them where a loop rarely runs.
void LoopText::open_counted(const For &loop) {
  const std::string type(scalar_name(loop.type)), count = emission_.fresh("k"), whole = type == "i64" ? "u64" : "u32";
  emission_.out.open("for ({0} {1} = 0; {2} + {3}({1}) < {4}; ++{1}) {{", whole, count, values_.scalar(loop.begin),
                     type, values_.scalar(loop.end));
  emission_.out.line("const {0} {1} = {2} + {0}({3});", type, values_.name(loop.index), values_.scalar(loop.begin),
                     count);
}

void LoopText::keep_small(const For &loop) {
  bool calls = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) { calls = calls || stmt.as<TileCall>(); });
  if (!values_.explicit_lanes() &&
      (loop.rolled || calls || passes::instructions_of_one(loop) > passes::largest_unrolled))
    emission_.out.line("#pragma unroll 1");
}

}  // namespace samite::codegen
