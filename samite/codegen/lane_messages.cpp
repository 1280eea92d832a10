// Prints and checks in lanes: each instance passes its values to the launcher, which has the texts.
#include "samite/codegen/lanes_emitter.h"
#include "samite/codegen/message_site.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

namespace samite::codegen {

using namespace ir;

// The value in lane k.
std::string LanesEmitter::of_lane(const Value &value) const {
  if (!values_.in_lanes() || values_.shape(value) == Shape::Uniform) return values_.scalar(value);
  const auto type = scalar_name(value.type());
  if (values_.shape(value) == Shape::Linear) return fmt::format("{}({} + {}(k))", type, values_.scalar(value), type);
  if (value.type() == ScalarType::Bool) return fmt::format("bool(bits({}) >> k & 1)", values_.name(value.id()));
  return fmt::format("{}({}[k])", type, values_.name(value.id()));
}

// The values of all lanes, or their common value.
std::string LanesEmitter::in_lanes(const Value &value) const {
  if (values_.shape(value) != Shape::Uniform) return values_.vector(value);
  return fmt::format("{}({})", scalar_name(value.type()), values_.scalar(value));
}

void LanesEmitter::say(const Message &message, const std::vector<Value> &instance, MessageSite site) {
  std::string values, indices;
  for (const Value &value : message.values)
    values += fmt::format("{}message_value({})", values.empty() ? "" : ", ", of_lane(value));
  for (const Value &index : instance) indices += fmt::format("{}{}", indices.empty() ? "" : ", ", of_lane(index));
  const std::size_t number = emission_.message(with_message(std::move(site), message));
  if (!values.empty()) out_.line("const u64 values[] = {{{}}};", values);
  if (!indices.empty()) out_.line("const i64 instance[] = {{{}}};", indices);
  out_.line("failure->message(failure, {}, {}, {});", number, indices.empty() ? "nullptr" : "instance",
            values.empty() ? "nullptr" : "values");
}

void LanesEmitter::print(const Print &print, SourceLocation where) {
  if (values_.in_lanes()) {
    const std::string left = fresh("left");
    out_.open("for (u32 {0} = bits({1}); {0} != 0; {0} &= {0} - 1) {{", left, values_.mask());
    out_.line("[[maybe_unused]] const u32 k = u32(__builtin_ctz({}));", left);
  } else {
    out_.open("{{");
  }
  say(print.message, {}, {.where = where, .is_check = false});
  out_.close();
}

// Reports the first lane that fails: it has the lowest index.
void LanesEmitter::check(const Check &check, SourceLocation where) {
  if (race_steps_.is_written(check)) return;
  MessageSite site{.where = where, .is_check = true, .is_race = check.race};
  if (values_.in_lanes()) {
    const std::string failed = fresh("m");
    std::string values;
    for (const auto *all : {&check.instance, &check.message.values})
      for (const Value &value : *all) values += ", " + in_lanes(value);
    out_.line("if (const Mask {0} = {1} & !{2}; __builtin_expect(any({0}), 0))", failed, values_.mask(),
              values_.vector(check.condition));
    out_.line("  say_of_first<{}>(failure, {}, {}{});", check.instance.size(), failed,
              emission_.message(with_message(std::move(site), check.message)), values);
    return;
  }
  out_.open("if (__builtin_expect(!{}, 0)) {{", scalar(check.condition));
  say(check.message, check.instance, std::move(site));
  out_.close();
}

// The name of the lanes' instances for the prelude's race functions.
std::string LanesEmitter::racing_instances(const RaceStep &step) {
  const auto wide = [&](const Value &value) {
    if (values_.shape(value) == Shape::Uniform) return fmt::format("I64(i64({}))", values_.scalar(value));
    return fmt::format(fmt::runtime(value.type() == ScalarType::Int64 ? "{}" : "__builtin_convertvector({}, I64)"),
                       values_.vector(value));
  };
  std::string index;
  for (const Value &value : step.check->instance) index += (index.empty() ? "" : ", ") + wide(value);
  const std::string text = fmt::format("{{failure, {}, {}, {{{}}}}};", values_.mask(), wide(step.instance), index);
  for (const Racing &known : racing_)
    if (known.text == text && out_.is_open(known.scope)) return known.name;
  const std::string name = fresh("racing");
  out_.line("const Racing<{}> {}{}", step.check->instance.size(), name, text);
  racing_.push_back({text, name, out_.scope()});
  return name;
}

// An atomic step on a shadow, with the check of the word that it finds. False if the statement is not such a step, or
// all lanes share the element.
bool LanesEmitter::race_step(const Let &let, SourceLocation where) {
  const RaceStep *step = race_steps_.find(let.local);
  if (!step || !values_.in_lanes()) return false;
  const Operation &operation = let.value;
  const LaneElements at = access_.elements(operation.array, element_indices(operation), where);
  if (at.shape == Shape::Uniform) return false;
  std::string indices;
  for (const Value &index : element_indices(operation))
    indices +=
        ", " + (values_.shape(index) == Shape::Varying   ? values_.vector(index)
                : values_.shape(index) == Shape::Uniform ? fmt::format("i64({})", values_.scalar(index))
                                                         : fmt::format("Neighbours{{{}}}", values_.scalar(index)));
  const std::string racing = racing_instances(*step);
  const bool claims = operation.op == Op::AtomicCompareExchange;
  MessageSite site{.where = where, .is_check = true, .is_race = true};
  out_.line("const I64 {} = {}({}, {}, p{}, {}, {}ll{}{});", name(let.local),
            claims ? "claim_element" : "look_at_claim", racing, at.mask, operation.array,
            emission_.message(with_message(std::move(site), step->check->message)), step->access,
            claims ? "" : ", " + values_.vector(operation.operands.back()), indices);
  race_steps_.write(*step);
  return true;
}

}  // namespace samite::codegen
