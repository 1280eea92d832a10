// The ranks' announcements of a collective call, which reveal calls that differ.
#pragma once

#include "samite/distributed/transport.h"

#include <array>
#include <string>

namespace samite::distributed {

// Plain bytes, of one size on all ranks.
struct Announcement {
  std::uint64_t number;                   // of the call, if ranks count them
  std::array<char, 248> call{}, where{};  // "all_reduce (sum) of 4 f32", "solver.cpp:41"
};

Announcement announcement_of(const CallName &call, std::uint64_t number = 0);
// The lines may differ.
bool same_call(const Announcement &a, const Announcement &b);
// "<call> is met by <the other> (<its line>) on rank 3: all ranks must make the same calls in the same order".
std::string difference(const std::string &call, const Announcement &met, int rank);

}  // namespace samite::distributed
