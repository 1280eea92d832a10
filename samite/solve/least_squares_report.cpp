#include "samite/solve/least_squares.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace samite::solvers {
namespace {

const char *verdict(LeastSquaresEnd end) {
  switch (end) {
    case LeastSquaresEnd::small_cost_change:
    case LeastSquaresEnd::small_gradient:
    case LeastSquaresEnd::small_step: return "converged";
    case LeastSquaresEnd::iterations:
    case LeastSquaresEnd::stopped: return "was stopped";
    case LeastSquaresEnd::no_decrease: return "found no better point";
  }
  return "";
}

}  // namespace

bool LeastSquaresReport::converged() const {
  return ended == LeastSquaresEnd::small_cost_change || ended == LeastSquaresEnd::small_gradient ||
         ended == LeastSquaresEnd::small_step;
}

std::string LeastSquaresReport::to_string() const {
  return fmt::format("least squares {} after {} iterations, from the cost {:.6g} to {:.6g}: {}", verdict(ended),
                     iterations.empty() ? 0 : iterations.back().iteration, initial_cost, final_cost, reason);
}

std::ostream &operator<<(std::ostream &stream, const LeastSquaresReport &report) {
  return stream << report.to_string();
}

std::string LeastSquaresReport::history() const {
  std::string text = "iter          cost        change      gradient          step     ratio    radius   seconds\n";
  for (const LeastSquaresIteration &of : iterations)
    text +=
        fmt::format("{:4} {:13.6e} {:13.3e} {:13.3e} {:13.3e} {:9.2e} {:9.2e} {:9.3f}{}\n", of.iteration, of.cost,
                    of.change, of.gradient, of.step, of.ratio, of.radius, of.seconds, of.accepted ? "" : " rejected");
  return text;
}

std::string LeastSquaresReport::summary() const {
  const auto accepted =
      std::count_if(iterations.begin(), iterations.end(), [](const LeastSquaresIteration &of) { return of.accepted; });
  const auto tried = static_cast<std::ptrdiff_t>(iterations.size());
  std::string text;
  const auto line = [&](const char *what, const std::string &value) {
    text += fmt::format("{:28}{:>20}\n", what, value);
  };
  line("parameter blocks", std::to_string(blocks));
  line("  of them fixed", std::to_string(fixed_blocks));
  line("parameters", std::to_string(parameters));
  line("  of a step", std::to_string(effective_parameters));
  line("observations", std::to_string(residual_blocks));
  line("residuals", std::to_string(residuals));
  line("trust region", trust_region);
  line("linear solver", solver);
  line("initial cost", fmt::format("{:.6e}", initial_cost));
  line("final cost", fmt::format("{:.6e}", final_cost));
  line("change", fmt::format("{:.6e}", initial_cost - final_cost));
  line("successful steps", std::to_string(std::max<std::ptrdiff_t>(accepted - 1, 0)));
  line("rejected steps", std::to_string(tried - accepted));
  line("seconds: structure", fmt::format("{:.3f}", seconds.structure));
  line("  residuals", fmt::format("{:.3f}", seconds.residuals));
  line("  Jacobians", fmt::format("{:.3f}", seconds.jacobians));
  line("  linear solver", fmt::format("{:.3f}", seconds.linear_solver));
  line("  total", fmt::format("{:.3f}", seconds.total));
  return text + fmt::format("It {}: {}.\n", verdict(ended), reason);
}

}  // namespace samite::solvers
