#include "samite/codegen/messages.h"

#include "samite/codegen/spelling.h"

namespace samite::codegen {

using namespace ir;
using passes::Shape;

std::string Messages::of_lane(const Value &value) const {
  if (!values_.in_lanes() || values_.shape(value) == Shape::Uniform) return values_.scalar(value);
  const auto type = scalar_name(value.type());
  if (values_.shape(value) == Shape::Linear) return fmt::format("{}({} + {}(k))", type, values_.scalar(value), type);
  if (value.type() == ScalarType::Bool) return fmt::format("bool(bits({}) >> k & 1)", values_.name(value.id()));
  return fmt::format("{}({}[k])", type, values_.name(value.id()));
}

void Messages::say(const Message &message, const std::vector<Value> &instance, MessageSite site) {
  const bool is_check = site.is_check;
  site.texts = message.texts;
  std::string values, indices;
  for (const Value &value : message.values) {
    site.types.push_back(is_small_float(value.type()) ? ScalarType::Float32 : value.type().element());
    values += fmt::format("{}message_value({})", values.empty() ? "" : ", ", of_lane(value));
  }
  for (const Value &index : instance) indices += fmt::format("{}{}", indices.empty() ? "" : ", ", of_lane(index));
  const std::size_t number = emission_.message(std::move(site));
  if (!values_.explicit_lanes()) {
    std::string words;
    for (const Value &index : instance) words += fmt::format("u64(i64({})), ", values_.scalar(index));
    emission_.out.line("const u64 words[] = {{{}0}};", words + (values.empty() ? "" : values + ", "));
    emission_.out.line("send(channel, {}, {}, {}, words);", number, is_check, instance.size() + message.values.size());
    return;
  }
  if (!values.empty()) emission_.out.line("const u64 values[] = {{{}}};", values);
  if (!indices.empty()) emission_.out.line("const i64 instance[] = {{{}}};", indices);
  emission_.out.line("failure->message(failure, {}, {}, {});", number, indices.empty() ? "nullptr" : "instance",
                     values.empty() ? "nullptr" : "values");
}

void Messages::print(const Print &print, SourceLocation where) {
  if (values_.in_lanes()) {
    const std::string left = emission_.fresh("left");
    emission_.out.open("for (u32 {0} = bits({1}); {0} != 0; {0} &= {0} - 1) {{", left, values_.mask());
    emission_.out.line("[[maybe_unused]] const u32 k = u32(__builtin_ctz({}));", left);
  } else {
    emission_.out.open("{{");
  }
  say(print.message, {}, {.where = where, .is_check = false});
  emission_.out.close();
}

// Reports the first lane that fails: it has the lowest index.
void Messages::check(const Check &check, SourceLocation where) {
  if (values_.in_lanes()) {
    const std::string failed = emission_.fresh("m");
    emission_.out.open("if (const Mask {0} = {1} & !{2}; __builtin_expect(any({0}), 0)) {{", failed, values_.mask(),
                       values_.vector(check.condition));
    emission_.out.line("[[maybe_unused]] const u32 k = u32(first_active({}));", failed);
  } else {
    emission_.out.open("if (__builtin_expect(!{}, 0)) {{", values_.scalar(check.condition));
  }
  say(check.message, check.instance, {.where = where, .is_check = true, .is_race = check.race});
  emission_.out.close();
}

}  // namespace samite::codegen
