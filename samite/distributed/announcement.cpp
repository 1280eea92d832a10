#include "samite/distributed/announcement.h"

#include <fmt/format.h>

#include <string_view>

namespace samite::distributed {

Announcement announcement_of(const CallName &call, std::uint64_t number) {
  Announcement announcement{.number = number};
  fmt::format_to_n(announcement.call.data(), announcement.call.size() - 1, "{}{}", call.operation, call.arguments());
  fmt::format_to_n(announcement.where.data(), announcement.where.size() - 1, "{}", call.where.to_string());
  return announcement;
}

bool same_call(const Announcement &a, const Announcement &b) {
  return a.number == b.number && std::string_view(a.call.data()) == b.call.data();
}

std::string difference(const std::string &call, const Announcement &met, int rank) {
  return fmt::format("{} is met by {} ({}) on rank {}: all ranks must make the same calls in the same order", call,
                     met.call.data(), met.where.data(), rank);
}

}  // namespace samite::distributed
