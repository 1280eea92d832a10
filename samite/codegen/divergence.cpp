// Divergent branches and loops: with masks.
//
// In a divergent loop a lane that has left must keep its value: vectors are written under the mask, and if the inner
// value is a scalar because all running lanes agree on it, the result is a separate vector.
#include "samite/codegen/lanes_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/passes/analysis/op_cost.h"

namespace samite::codegen {

using namespace ir;

// Each side runs under its own mask. A result starts as the value of a side without statements, or uninitialised.
void LanesEmitter::branch(const If &branch) {
  if (!values_.in_lanes() || !values_.uniformity().divergent(branch)) return common_branch(branch);
  std::string condition = scalar(branch.condition);
  const bool is_inside = inside_.of(branch);
  if (is_inside) condition = fmt::format("({} | Mask({}))", condition, is_inside_);
  const std::string outer = values_.mask();
  const bool only_then = branch.else_block.empty(), only_else = branch.then_block.empty() && !only_then;
  if (only_then && branch.then_block.empty()) {
    for (const BranchResult &result : branch.results)
      if (emission_.used(result.local))
        out_.line("const {} {} = {} ? {} : {};", vector_name(result.type), name(result.local), condition,
                  values_.vector(result.then_value), values_.vector(result.else_value));
    return;
  }
  const bool likely = likely_.of(branch);
  if (likely) out_.line("if ({} && any({} & !{})) return false;", is_likely_, outer, condition);
  for (const BranchResult &result : branch.results)
    if (emission_.used(result.local))
      out_.line("{0} {1} = {2};", vector_name(result.type), name(result.local),
                only_then   ? values_.vector(result.else_value)
                : only_else ? values_.vector(result.then_value)
                            : fmt::format("{}(0)", vector_name(result.type)));

  const auto harmless = [&](LocalArrayId array, const Value &index) {
    return arrays_.harmless_without_lanes(array, index);
  };
  auto side = [&](const Block &statements, std::string_view lanes, Value BranchResult::*value, bool first) {
    const std::string mask = fresh("m");
    values_.enter(mask);
    if (likely && first)
      out_.line("const Mask {0} = {1} ? {2} : {2} & {3};", mask, is_likely_, outer, lanes);
    else
      out_.line("const Mask {} = {} & {};", mask, outer, lanes);
    if (likely)
      out_.open("if ({}{} any({})) {{", first ? "" : "!", is_likely_ + (first ? " ||" : " &&"), mask);
    else if (passes::worth_flattening(statements, values_.uniformity(), options_.debug, harmless))
      out_.open("{{");
    else
      out_.open("if (any({})) {{", mask);
    block(statements);
    for (const BranchResult &result : branch.results) {
      if (!emission_.used(result.local)) continue;
      // Without masks Clang recognises copies of rows in the loop, and calls memcpy for each before it does the rest,
      // instead of overlapping their latencies.
      if (is_inside && result.type != ScalarType::Bool)
        out_.line("{0} = opaque({1} ? {2} : {0});", name(result.local), mask, values_.vector(result.*value));
      else if (first)
        out_.line("{} = {};", name(result.local), values_.vector(result.*value));
      else
        out_.line("{0} = {1} ? {2} : {0};", name(result.local), mask, values_.vector(result.*value));
    }
    out_.close();
    values_.enter(outer);
  };
  if (!branch.then_block.empty()) side(branch.then_block, condition, &BranchResult::then_value, !only_then);
  if (!branch.else_block.empty()) side(branch.else_block, "!" + condition, &BranchResult::else_value, false);
}

void LanesEmitter::declare(const std::vector<Carried> &carried) {
  for (const Carried &value : carried) {
    out_.line("{} {} = {};", values_.type(value.type, value.inner), name(value.inner),
              values_.assigned(value.initial, value.inner));
    if (values_.shape(value.inner) != Shape::Varying && emission_.used(value.result))
      out_.line("{} {} = {};", vector_name(value.type), name(value.result), values_.vector(value.initial));
  }
}

void LanesEmitter::advance(const std::vector<Carried> &carried) {
  const std::vector<std::string> next = loop_text_.next_values(carried);
  for (const Carried &value : carried)
    if (values_.shape(value.inner) != Shape::Varying && emission_.used(value.result))
      out_.line("{0} = {1} ? {2} : {0};", name(value.result), values_.mask(), values_.vector(value.next));
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (stays(carried[i])) continue;
    if (values_.shape(carried[i].inner) == Shape::Varying)
      out_.line("{0} = {1} ? {2} : {0};", name(carried[i].inner), values_.mask(), next[i]);
    else
      out_.line("{} = {};", name(carried[i].inner), next[i]);
  }
}

void LanesEmitter::name_results(const std::vector<Carried> &carried) {
  for (const Carried &value : carried)
    if (emission_.used(value.result) && values_.shape(value.inner) == Shape::Varying)
      out_.line("const {} {} = {};", vector_name(value.type), name(value.result), name(value.inner));
}

// The rest of a divergent loop, from its body on. `outer` is the mask around it.
void LanesEmitter::finish(const Block &body, const std::vector<Carried> &carried, const std::string &outer) {
  block(body);
  advance(carried);
  out_.close();
  values_.enter(outer);
  name_results(carried);
}

// The lanes in which a loop continues with its index.
std::string LanesEmitter::continues(const For &loop) const {
  const Value index = Value::local(loop.type, loop.index);
  auto compare = [&](std::string_view op) {
    const bool spread = values_.shape(index) == Shape::Uniform && values_.shape(loop.end) == Shape::Uniform;
    return fmt::format("to_mask({} {} {})", spread ? values_.vector(index) : values_.beside_vector(index), op,
                       values_.beside_vector(loop.end));
  };
  if (loop.step.is_constant()) return compare(loop.step.as_int() > 0 ? "<" : ">");
  if (class_of(loop.type) == ScalarClass::Unsigned) return compare("<");
  const std::string zero = literal(Value::zero(loop.type));
  if (!values_.varying(loop.step))
    return fmt::format("({} > {} ? {} : {})", values_.scalar(loop.step), zero, compare("<"), compare(">"));
  return fmt::format("(to_mask({0} > {1}) ? {2} : {3})", values_.vector(loop.step), zero, compare("<"), compare(">"));
}

void LanesEmitter::divergent_loop(const For &loop) {
  const std::string index = name(loop.index);
  declare(loop.carried);
  const std::string mask = fresh("m"), outer = values_.enter(mask);
  out_.line("Mask {} = {};", mask, outer);
  out_.open("for ({} {} = {};; {} += {}) {{", values_.type(loop.type, loop.index), index,
            values_.assigned(loop.begin, loop.index), index, values_.assigned(loop.step, loop.index));
  out_.line("{} &= {};", mask, continues(loop));
  out_.line("if (!any({})) break;", mask);
  finish(loop.body, loop.carried, outer);
}

// The index runs from the first place at which an active lane starts. A lane becomes active at its own place, and the
// lane that starts first is active throughout.
void LanesEmitter::late_loop(const For &loop) {
  const std::string index = name(loop.index);
  const bool down = loop.step.as_int() < 0;
  declare(loop.carried);
  const std::string mask = fresh("m"), outer = values_.enter(mask);
  const std::string first = fmt::format("{}({}, {}({}), {})", down ? "largest_or" : "smallest_or", outer,
                                        scalar_name(loop.type), scalar(loop.end), values_.vector(loop.begin));
  out_.open("for ({} {} = {}; {}; {} += {}) {{", scalar_name(loop.type), index, first, loop_text_.continues(loop),
            index, scalar(loop.step));
  out_.line("const Mask {} = {} & to_mask({} {} {});", mask, outer, values_.vector(loop.begin),
            down ? ">=" : "<=", index);
  finish(loop.body, loop.carried, outer);
}

void LanesEmitter::loop(const While &loop) {
  if (values_.in_lanes() && values_.uniformity().divergent(loop))
    divergent_loop(loop);
  else
    common_loop(loop);
}

void LanesEmitter::divergent_loop(const While &loop) {
  declare(loop.carried);
  const std::string mask = fresh("m"), outer = values_.enter(mask);
  out_.line("Mask {} = {};", mask, outer);
  out_.open("for (;;) {{");
  block(loop.condition_block);
  out_.line("{} &= {};", mask, scalar(loop.condition));
  out_.line("if (!any({})) break;", mask);
  finish(loop.body, loop.carried, outer);
}

}  // namespace samite::codegen
