#include "samite/ir/difference.h"

#include "samite/base/lines.h"
#include "samite/ir/print.h"

#include <fmt/format.h>

namespace samite::ir {

std::string structural_difference(const Kernel &actual, const Kernel &expected) {
  // The printed form is exact, so two kernels that print the same are the same; numbering locals in the order of their
  // definitions makes the names canonical.
  std::string actual_text = to_string(actual, {.renumber = true});
  std::string expected_text = to_string(expected, {.renumber = true});
  std::string_view rest = actual_text, expected_rest = expected_text;
  for (int line = 1; !rest.empty() || !expected_rest.empty(); ++line) {
    std::string_view a = take_line(rest), b = take_line(expected_rest);
    if (a != b) return fmt::format("line {}\n  actual:   {}\n  expected: {}", line, a, b);
  }
  return "";
}

}  // namespace samite::ir
