// Prints and checks: each instance hands its values to the launcher, which has the texts.
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

using namespace ir;

std::string KernelEmitter::of_lane(const Value &value) const {
  if (!in_lanes() || shape(value) == Shape::Uniform) return scalar(value);
  const auto type = scalar_name(value.type());
  if (shape(value) == Shape::Linear) return fmt::format("{}({} + {}(k))", type, scalar(value), type);
  if (value.type() == ScalarType::Bool) return fmt::format("bool(bits({}) >> k & 1)", name(value.id()));
  return fmt::format("{}({}[k])", type, name(value.id()));
}

void KernelEmitter::say(const Message &message, const std::vector<Value> &instance, MessageSite site) {
  const bool is_check = site.is_check;
  site.texts = message.texts;
  std::string values, indices;
  for (const Value &value : message.values) {
    site.types.push_back(is_small_float(value.type()) ? ScalarType::Float32 : value.type().element());
    values += fmt::format("{}message_value({})", values.empty() ? "" : ", ", of_lane(value));
  }
  for (const Value &index : instance) indices += fmt::format("{}{}", indices.empty() ? "" : ", ", of_lane(index));
  const std::size_t number = emission_.message(std::move(site));
  if (!target_.explicit_lanes()) {
    std::string words;
    for (const Value &index : instance) words += fmt::format("u64(i64({})), ", scalar(index));
    out_.line("const u64 words[] = {{{}0}};", words + (values.empty() ? "" : values + ", "));
    out_.line("send(channel, {}, {}, {}, words);", number, is_check, instance.size() + message.values.size());
    return;
  }
  if (!values.empty()) out_.line("const u64 values[] = {{{}}};", values);
  if (!indices.empty()) out_.line("const i64 instance[] = {{{}}};", indices);
  out_.line("failure->message(failure, {}, {}, {});", number, indices.empty() ? "nullptr" : "instance",
            values.empty() ? "nullptr" : "values");
}

void KernelEmitter::print(const Print &print, SourceLocation where) {
  if (in_lanes()) {
    const std::string left = fresh("left");
    out_.open("for (u32 {0} = bits({1}); {0} != 0; {0} &= {0} - 1) {{", left, mask_);
    out_.line("[[maybe_unused]] const u32 k = u32(__builtin_ctz({}));", left);
  } else {
    out_.open("{{");
  }
  say(print.message, {}, {.where = where, .is_check = false});
  out_.close();
}

// Reports the first lane that fails: it has the lowest index.
void KernelEmitter::check(const Check &check, SourceLocation where) {
  if (in_lanes()) {
    const std::string failed = fresh("m");
    out_.open("if (const Mask {0} = {1} & !{2}; __builtin_expect(any({0}), 0)) {{", failed, mask_,
              vector(check.condition));
    out_.line("[[maybe_unused]] const u32 k = u32(first_active({}));", failed);
  } else {
    out_.open("if (__builtin_expect(!{}, 0)) {{", scalar(check.condition));
  }
  say(check.message, check.instance, {.where = where, .is_check = true, .is_race = check.race});
  out_.close();
}

}  // namespace samite::codegen
