#include "samite/base/error.h"

namespace samite {

void Error::add_call(const char *what, SourceLocation where) {
  const std::string message = std::runtime_error::what(), line = where.to_string();
  if (text_ || !where.known() || where.in_library()) return;
  const std::size_t told = message.find(line), after = told + line.size();
  if (told != message.npos && (after == message.size() || message[after] < '0' || message[after] > '9')) return;
  text_ = std::make_shared<const std::string>(message + "\n" + what + " at " + line);
}

UserError::UserError(const std::string &message) : Error(message) {}

UserError::UserError(SourceLocation where, const std::string &message)
    : Error(where.known() && !where.in_library() ? where.to_string() + ": " + message : message),
      where_(where.in_library() ? SourceLocation() : where) {}

DeviceError::DeviceError(const std::string &call, const std::string &reason) : Error(call + " failed: " + reason) {}

DeviceError::DeviceError(const std::string &message) : Error(message) {}

InternalError::InternalError(const std::string &what, std::source_location where)
    : Error(SourceLocation(where).to_string() + ": internal error: " + what +
            "\nThis is a mistake in Samite, not in your program: please report it with the kernel that led here.") {}

}  // namespace samite
