#include "samite/jit/moved_from.h"

#include "samite/base/error.h"

#include <string>

namespace samite::jit {

void refuse_moved_from(const char *type, SourceLocation where) {
  const std::string name(type);
  const std::string message = "this " + name +
                              " was moved from, or constructed of nothing, and holds nothing: use the " + name +
                              " that it was moved to, or assign to it first";
  throw where.known() ? UserError(where, message) : UserError(message);
}

}  // namespace samite::jit
