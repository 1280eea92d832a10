#include "samite/lang/print.h"

#include "samite/base/error.h"
#include "samite/lang/trace.h"

#include <fmt/format.h>

namespace samite::lang {
namespace {

ir::Message message(std::span<const MessagePart> parts) {
  ir::Message message;
  for (const MessagePart &part : parts)
    for (const MessagePart::Piece &piece : part.pieces()) {
      if (auto *text = std::get_if<std::string>(&piece)) {
        message.texts.back() += *text;
      } else {
        message.values.push_back(std::get<ir::Value>(piece));
        message.texts.emplace_back();
      }
    }
  return message;
}

void refuse_in_pipeline(const Trace &trace, const std::string &what, SourceLocation where) {
  if (trace.pipeline())
    throw UserError(where, what +
                               " in a pipeline, whose values are computed where and as often as a schedule says; "
                               "fill an array with what is to be looked at, and look at that");
}

}  // namespace

MessagePart::MessagePart(const MessagePart &other) = default;
MessagePart &MessagePart::operator=(const MessagePart &other) = default;
MessagePart::~MessagePart() = default;

void MessagePart::add(std::string text) { pieces_.emplace_back(std::move(text)); }
void MessagePart::add(ir::Value value) { pieces_.emplace_back(value); }

std::string MessagePart::floating_text(double number, bool single) {
  return single ? fmt::format("{}", static_cast<float>(number)) : fmt::format("{}", number);
}

void record_print(std::span<const MessagePart> parts, SourceLocation where) {
  Trace &trace = Trace::current(where);
  refuse_in_pipeline(trace, "print", where);
  trace.append(ir::Stmt(ir::Print{message(parts)}, where));
}

void record_check(ir::Value condition, std::span<const MessagePart> parts, SourceLocation where) {
  Trace &trace = Trace::current(where);
  refuse_in_pipeline(trace, "check", where);
  trace.append(ir::Stmt(ir::Check{condition, message(parts), {}}, where));
}

}  // namespace samite::lang
