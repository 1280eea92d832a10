#include "samite/solve/lbfgs.h"

#include "samite/base/error.h"
#include "samite/solve/line_search.h"
#include "samite/solve/parameter_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <ostream>

namespace samite::solvers {
namespace {

using Vectors = std::vector<AnyBuffer>;

class Minimiser {
 public:
  Minimiser(const std::vector<AnyBuffer> &parameters, const std::function<double()> &objective,
            const LbfgsOptions &options, SourceLocation where)
      : objective_(objective),
        options_(options),
        runs_("lbfgs", parameters, where),
        start_(runs_.zeros()),
        old_gradient_(runs_.zeros()),
        direction_(runs_.zeros()) {}

  MinimiseReport run() {
    report_.value = evaluate();
    report_.gradient = gradient_norm();
    report_.history.push_back(report_.value);
    if (!std::isfinite(report_.value) || !std::isfinite(report_.gradient))
      return end(MinimiseEnd::not_finite, fmt::format("the value is {} and the gradient's norm {} at the first point",
                                                      report_.value, report_.gradient));
    while (report_.gradient > options_.gradient_tolerance) {
      if (report_.iterations >= options_.iterations) return end(MinimiseEnd::iterations, "as many as are allowed");
      const double before = report_.value;
      if (!take_step()) return report_;
      if (options_.progress && !options_.progress({report_.iterations, report_.value, report_.gradient}))
        return end(MinimiseEnd::stopped, "the program stopped it");
      if (before - report_.value <= options_.change_tolerance * std::abs(before) && options_.change_tolerance > 0)
        return end(MinimiseEnd::small_change, "the value hardly changes");
    }
    return end(MinimiseEnd::small_gradient, "the gradient is small enough");
  }

 private:
  struct Step {
    Vectors change, gradient_change;
    double curvature;  // their product
  };

  MinimiseReport end(MinimiseEnd how, std::string reason) {
    report_.ended = how;
    report_.reason = std::move(reason);
    return report_;
  }

  double evaluate() {
    for (AnyBuffer run : runs_.runs()) run.zero_gradient();
    ++report_.evaluations;
    return objective_();
  }

  double gradient_norm() const {
    const Vectors gradients = runs_.gradients();
    return std::sqrt(runs_.dot(gradients, gradients));
  }

  // -H g by the two-loop recursion, into direction_.
  void find_direction() {
    runs_.combine(-1, runs_.gradients(), 0, direction_);
    std::vector<double> factors(steps_.size());
    for (std::size_t i = steps_.size(); i-- > 0;) {
      factors[i] = runs_.dot(steps_[i].change, direction_) / steps_[i].curvature;
      runs_.combine(-factors[i], steps_[i].gradient_change, 1, direction_);
    }
    if (!steps_.empty()) {
      const Step &last = steps_.back();
      const double scale = last.curvature / runs_.dot(last.gradient_change, last.gradient_change);
      runs_.combine(scale, direction_, 0, direction_copy());
      std::swap(direction_, spare_);
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const double factor = runs_.dot(steps_[i].gradient_change, direction_) / steps_[i].curvature;
      runs_.combine(factors[i] - factor, steps_[i].change, 1, direction_);
    }
  }

  const Vectors &direction_copy() {
    if (spare_.empty()) spare_ = runs_.zeros();
    return spare_;
  }

  void move_to(double step) {
    runs_.combine(1, start_, 0, runs_.runs());
    runs_.combine(step, direction_, 1, runs_.runs());
  }

  // Returns whether it found a step; otherwise the report says why, and the parameters are unchanged.
  bool take_step() {
    find_direction();
    double slope = runs_.dot(runs_.gradients(), direction_);
    if (!(slope < 0)) {  // rounding has spoiled the stored steps
      steps_.clear();
      find_direction();
      slope = -report_.gradient * report_.gradient;
    }
    runs_.combine(1, runs_.runs(), 0, start_);
    runs_.combine(1, runs_.gradients(), 0, old_gradient_);
    const double first = steps_.empty() ? std::min(1.0, 1 / report_.gradient) : 1;
    const detail::LineSearch search{
        .decrease = options_.decrease, .curvature = options_.curvature, .evaluations = options_.search_evaluations};
    const auto point = detail::strong_wolfe_point({0, report_.value, slope}, first, search, [&](double step) {
      move_to(step);
      const double value = evaluate();
      return detail::LinePoint{step, value, runs_.dot(runs_.gradients(), direction_)};
    });
    if (!point) {
      runs_.combine(1, start_, 0, runs_.runs());
      end(MinimiseEnd::no_descent,
          fmt::format("no step along a direction of slope {:.3g} satisfies the Wolfe conditions", slope));
      return false;
    }
    ++report_.iterations;
    report_.value = point->value;
    report_.gradient = gradient_norm();
    report_.history.push_back(report_.value);
    remember(point->step);
    return true;
  }

  void remember(double step) {
    Step one{runs_.zeros(), runs_.zeros(), 0};
    runs_.combine(step, direction_, 0, one.change);
    runs_.combine(1, runs_.gradients(), 0, one.gradient_change);
    runs_.combine(-1, old_gradient_, 1, one.gradient_change);
    one.curvature = runs_.dot(one.change, one.gradient_change);
    if (!(one.curvature > 0)) return;  // positive by the second condition, up to rounding
    steps_.push_back(std::move(one));
    if (steps_.size() > static_cast<std::size_t>(options_.history)) steps_.pop_front();
  }

  const std::function<double()> &objective_;
  const LbfgsOptions &options_;
  detail::ParameterRuns runs_;
  Vectors start_, old_gradient_, direction_, spare_;
  std::deque<Step> steps_;
  MinimiseReport report_;
};

const char *text(MinimiseEnd end) {
  switch (end) {
    case MinimiseEnd::small_gradient:
    case MinimiseEnd::small_change: return "converged";
    case MinimiseEnd::iterations:
    case MinimiseEnd::stopped: return "was stopped";
    case MinimiseEnd::no_descent: return "found no step";
    case MinimiseEnd::not_finite: return "met a number that is not finite";
  }
  return "";
}

}  // namespace

std::string MinimiseReport::to_string() const {
  return fmt::format(
      "lbfgs {} after {} iterations and {} evaluations, with the value {:.6g} and a gradient of {:.3g}: {}",
      text(ended), iterations, evaluations, value, gradient, reason);
}

std::ostream &operator<<(std::ostream &stream, const MinimiseReport &report) { return stream << report.to_string(); }

MinimiseReport lbfgs(const std::vector<AnyBuffer> &parameters, const std::function<double()> &objective,
                     const LbfgsOptions &options, SourceLocation where) {
  if (!objective) throw UserError(where, "lbfgs: no objective is given");
  if (options.iterations < 0 || options.history < 1 || options.search_evaluations < 1 ||
      !(options.gradient_tolerance >= 0) || !(options.change_tolerance >= 0) || !(options.decrease > 0) ||
      !(options.decrease < options.curvature) || !(options.curvature < 1))
    throw UserError(where,
                    "lbfgs: iterations and tolerances of at least 0, a history and evaluations of at least 1, and "
                    "0 < decrease < curvature < 1 are expected");
  return Minimiser(parameters, objective, options, where).run();
}

}  // namespace samite::solvers
