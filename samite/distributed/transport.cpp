#include "samite/distributed/transport.h"

#include <fmt/format.h>

namespace samite::distributed {

std::string CallName::arguments() const {
  std::string text;
  if (reduction) text += fmt::format(" ({})", samite::name(*reduction));
  if (count >= 0) text += fmt::format(" of {} {}", count, samite::name(type));
  if (root >= 0) text += fmt::format(", root {}", root);
  return text;
}
std::string CallName::to_string() const { return fmt::format("{}{} ({})", operation, arguments(), where.to_string()); }

std::string waited(Timeout timeout) {
  const auto milliseconds = timeout.count();
  return milliseconds % 1000 == 0 ? fmt::format("waited {} s", milliseconds / 1000)
                                  : fmt::format("waited {} ms", milliseconds);
}

}  // namespace samite::distributed
