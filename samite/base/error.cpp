#include "samite/base/error.h"

namespace samite {

UserError::UserError(const std::string &message) : Error(message) {}

UserError::UserError(SourceLocation where, const std::string &message)
    : Error(where.known() ? where.to_string() + ": " + message : message), where_(where) {}

DeviceError::DeviceError(const std::string &call, const std::string &reason) : Error(call + " failed: " + reason) {}

DeviceError::DeviceError(const std::string &message) : Error(message) {}

InternalError::InternalError(const std::string &what, std::source_location where)
    : Error(SourceLocation(where).to_string() + ": internal error: " + what +
            "\nThis is a mistake in Samite, not in your program: please report it with the kernel that led here.") {}

}  // namespace samite
