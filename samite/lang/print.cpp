#include "samite/lang/print.h"

#include "samite/lang/trace.h"

#include <fmt/format.h>

namespace samite::lang {
namespace {

ir::Message message(const std::vector<MessagePart> &parts) {
  ir::Message message;
  for (const MessagePart &part : parts) {
    if (auto *text = std::get_if<std::string>(&part.part())) {
      message.texts.back() += *text;
    } else {
      message.values.push_back(std::get<ir::Value>(part.part()));
      message.texts.emplace_back();
    }
  }
  return message;
}

}  // namespace

std::string MessagePart::floating_text(double number, bool single) {
  return single ? fmt::format("{}", static_cast<float>(number)) : fmt::format("{}", number);
}

void record_print(const std::vector<MessagePart> &parts, SourceLocation where) {
  Trace::current(where).append(ir::Stmt(ir::Print{message(parts)}, where));
}

void record_check(ir::Value condition, const std::vector<MessagePart> &parts, SourceLocation where) {
  Trace::current(where).append(ir::Stmt(ir::Check{condition, message(parts), {}}, where));
}

}  // namespace samite::lang
