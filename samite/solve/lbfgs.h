// L-BFGS: minimises a function of parameters by its gradients.
//
//   MinimiseReport report = lbfgs(weights, [&] {
//     tape.backward(loss);                    // leaves the gradients in the parameters
//     return double(loss.at(0));
//   });
//
// The objective is evaluated at the parameters' present values. Their gradients are zero when it is called. It returns
// the value and leaves the gradient. The two-loop recursion of the last steps gives a direction; along it a line search
// finds a step with the strong Wolfe conditions, f(x + t d) <= f(x) + decrease t g d and |g(x + t d) d| <= curvature |g
// d| (Nocedal and Wright, Numerical Optimization, algorithms 7.4, 3.5 and 3.6). A value that is infinite or NaN counts
// as too large, so that the search retreats from points where the objective is undefined.
//
// The parameters end at the best point that satisfied both conditions. Every loop has a limit. Parameters as for an
// Optimiser; errors are UserErrors.
#pragma once

#include "samite/runtime/any_buffer.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace samite::solvers {

struct MinimiseProgress {
  std::int64_t iterations;
  double value, gradient;  // the norm of the gradient
};

struct LbfgsOptions {
  std::int64_t iterations = 200;
  std::int64_t history = 10;         // steps that are remembered
  double gradient_tolerance = 1e-8;  // of the gradient's norm
  double change_tolerance = 0;       // relative change of the value in one iteration
  double decrease = 1e-4, curvature = 0.9;
  std::int64_t search_evaluations = 25;                         // limit of one line search
  std::function<bool(const MinimiseProgress &)> progress = {};  // after each iteration; false stops
};

enum class MinimiseEnd {
  small_gradient,
  small_change,
  iterations,  // as many as allowed
  no_descent,  // no step along the direction satisfies the conditions: the gradient is wrong, or rounding hides it
  not_finite,  // the value or the gradient at the first point
  stopped
};

struct MinimiseReport {
  MinimiseEnd ended = MinimiseEnd::iterations;
  std::string reason;
  std::int64_t iterations = 0, evaluations = 0;
  double value = 0, gradient = 0;  // the gradient's norm
  std::vector<double> history;     // the value at the first point, and after each iteration

  bool converged() const { return ended == MinimiseEnd::small_gradient || ended == MinimiseEnd::small_change; }
  std::string to_string() const;
};
std::ostream &operator<<(std::ostream &stream, const MinimiseReport &report);

MinimiseReport lbfgs(const std::vector<AnyBuffer> &parameters, const std::function<double()> &objective,
                     const LbfgsOptions &options = {}, SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
