// A row of an example's report: what it tells, and the value in a column of its own.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace examples {

inline void print_row(std::string_view what, const std::string &value) { fmt::print("{:<44} {}\n", what, value); }

}  // namespace examples
