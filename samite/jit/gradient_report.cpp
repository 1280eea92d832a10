#include "samite/jit/gradient_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>

namespace samite {

void GradientReport::take(std::size_t of_input, const std::string &input_name, std::vector<std::int64_t> element,
                          double given, double difference, double size) {
  ++checked;
  double found = std::fabs(given - difference) / std::max(1 / size, std::fabs(difference));
  bool worse = checked == 1 || found > error || (std::isnan(found) && !std::isnan(error));
  if (!worse) return;
  error = found, analytic = given, numeric = difference;
  input = of_input, name = input_name, index = std::move(element);
}

std::string GradientReport::to_string() const {
  std::string which = name.empty() ? fmt::format("input {}", input) : fmt::format("input {} ('{}')", input, name);
  return fmt::format(
      "{} check {}: of {} elements the worst is ({}) of {}: analytic {:.10g}, numeric {:.10g}, error {:.3g}", of,
      passed ? "passed" : "FAILED", checked, fmt::join(index, ", "), which, analytic, numeric, error);
}

std::ostream &operator<<(std::ostream &stream, const GradientReport &report) { return stream << report.to_string(); }

}  // namespace samite
