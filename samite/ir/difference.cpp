#include "samite/ir/difference.h"

#include "samite/ir/print.h"

#include <fmt/format.h>

namespace samite::ir {
namespace {

// Takes the first line off `text`.
std::string_view next_line(std::string_view &text) {
  std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::string structural_difference(const Kernel &actual, const Kernel &expected) {
  // The printed form is exact, so two kernels that print alike are alike; numbering locals in the order of their
  // definitions makes the names canonical.
  std::string actual_text = to_string(actual, {.renumber = true});
  std::string expected_text = to_string(expected, {.renumber = true});
  std::string_view rest = actual_text, expected_rest = expected_text;
  for (int line = 1; !rest.empty() || !expected_rest.empty(); ++line) {
    std::string_view a = next_line(rest), b = next_line(expected_rest);
    if (a != b) return fmt::format("line {}\n  actual:   {}\n  expected: {}", line, a, b);
  }
  return "";
}

}  // namespace samite::ir
