#include "samite/solve/least_squares_solve.h"

#include "samite/base/error.h"
#include "samite/solve/vector_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace samite::solvers::detail {
namespace {

using Numbers = std::vector<double>;
using Clock = std::chrono::steady_clock;

constexpr double smallest_radius = 1e-32, least_diagonal = 1e-6, largest_diagonal = 1e32;
constexpr double accepted_ratio = 1e-3;
// The fraction of a diagonal that remains in the next iteration.
constexpr double remembered = 0.9;
// Keeps a step within its bounds: any other diagonal is negligible in comparison.
constexpr double frozen = 1e30;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Adds the time of a scope.
class Stopwatch {
 public:
  explicit Stopwatch(double &seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += seconds_since(start_); }
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

 private:
  double &seconds_;
  Clock::time_point start_ = Clock::now();
};

double dot(const Numbers &a, const Numbers &b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

Numbers sum_of(double a, const Numbers &x, double b, const Numbers &y) {
  Numbers sum(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] = a * x[i] + b * y[i];
  return sum;
}

// The current point of the iteration, and the point that it tries.
struct Points {
  Linearisation at, trial;
  std::vector<Buffer<double>> values, trial_values;
};

struct Scaling {
  Numbers first;    // 1 / (1 + the length of each column of J at the first guess)
  Numbers largest;  // the diagonals of J^T J in recent iterations
};

struct Region {
  double radius = 0, factor = 2;
  std::vector<bool> active = {};  // columns that stay at their bounds
  // For a dogleg, while the point stays: the Gauss-Newton step, and the distance along the gradient.
  Numbers newton = {};
  double cauchy = 0;
  std::optional<double> predicted = {};  // the decrease by the last step, if it is known
};

class Minimisation {
 public:
  Minimisation(LeastSquaresProblem &problem, const LeastSquaresOptions &options, SourceLocation where)
      : problem_(problem),
        options_(options),
        where_(where),
        columns_(problem.columns(where)),
        finder_(problem, columns_, options, where),
        points_{Linearisation(problem, true), Linearisation(problem, false), {}, {}} {
    region_.radius = options.radius;
    for (const Parameters &of : problem.parameters) {
      points_.values.push_back(of.values);
      points_.trial_values.emplace_back(problem.device(), of.values.extents());
    }
  }

  LeastSquaresReport run() {
    describe();
    linearise();
    report_.initial_cost = cost_;
    require_finite();
    scaling_.first = vectors_.diagonal;
    for (double &number : scaling_.first) number = 1 / (1 + std::sqrt(number));
    add_iteration(0, 0, 0, true);
    while (!has_ended()) iterate();
    report_.final_cost = cost_;
    report_.seconds.total = seconds_since(start_);
    return report_;
  }

  void add_structure_seconds(double seconds) { report_.seconds.structure = seconds; }

 private:
  void describe() {
    for (const Parameters &of : problem_.parameters) {
      report_.blocks += of.blocks();
      report_.parameters += of.blocks() * of.manifold.size();
      report_.fixed_blocks += std::count(of.fixed.begin(), of.fixed.end(), true);
    }
    report_.effective_parameters = columns_.all;
    for (const Residuals &of : problem_.residuals) report_.residual_blocks += of.count;
    report_.residuals = problem_.residual_count();
    report_.trust_region = options_.trust_region == TrustRegion::dogleg ? "dogleg" : "Levenberg-Marquardt";
    switch (finder_.kind()) {
      case StepSolver::dense_qr: report_.solver = "dense QR"; break;
      case StepSolver::schur: report_.solver = "Schur complement"; break;
      case StepSolver::conjugate_gradients: report_.solver = "conjugate gradients"; break;
      default: report_.solver = "sparse LDLT";
    }
  }

  void linearise() {
    {
      const Stopwatch watch(report_.seconds.jacobians);
      cost_ = points_.at.compute(problem_, points_.values, true, where_);
    }
    const Stopwatch watch(report_.seconds.linear_solver);
    vectors_ = finder_.prepare(points_.at);
    scaling_.largest.resize(vectors_.diagonal.size());
    for (std::size_t i = 0; i < scaling_.largest.size(); ++i)
      scaling_.largest[i] = std::max(remembered * scaling_.largest[i], vectors_.diagonal[i]);
    find_active_bounds();
  }

  void require_finite() const {
    const auto finite = [](const Numbers &numbers) {
      return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
    };
    if (!std::isfinite(cost_)) points_.at.refuse_not_finite(problem_, false, where_);
    if (!finite(vectors_.gradient) || !finite(vectors_.diagonal)) points_.at.refuse_not_finite(problem_, true, where_);
    if (!std::isfinite(cost_)) throw UserError(where_, "least squares: the cost at the first guess is not finite");
  }

  // Numbers of Euclidean parameters with bounds: f(column, value, lower, upper).
  template <class F>
  void each_bounded(const F &f) const {
    for (std::size_t p = 0; p < problem_.parameters.size(); ++p) {
      const Parameters &of = problem_.parameters[p];
      if (of.lower.empty() && of.upper.empty()) continue;
      const Numbers values = of.values.to_vector();
      const auto size = static_cast<std::size_t>(of.manifold.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::int32_t column = columns_.of[p][i / size];
        if (column >= 0)
          f(static_cast<std::size_t>(column) + i % size, values[i], of.lower.empty() ? -HUGE_VAL : of.lower[i % size],
            of.upper.empty() ? HUGE_VAL : of.upper[i % size]);
      }
    }
  }

  // A number at a bound that the gradient pushes against stays there in this iteration.
  void find_active_bounds() {
    region_.active.assign(vectors_.gradient.size(), false);
    each_bounded([&](std::size_t column, double value, double lower, double upper) {
      const double gradient = vectors_.gradient[column];
      region_.active[column] = (value <= lower && gradient > 0) || (value >= upper && gradient < 0);
    });
  }

  double gradient_norm() const {
    double largest = 0;
    for (std::size_t i = 0; i < region_.active.size(); ++i)
      if (!region_.active[i]) largest = std::max(largest, std::abs(vectors_.gradient[i]));
    return largest;
  }

  double values_norm() const {
    double sum = 0;
    for (const Buffer<double> &values : points_.values) {
      if (values.count() == 0) continue;
      const Buffer<double> flat = values.reshape({values.count()});
      sum += VectorSpace(problem_.device(), ScalarType::Float64, flat.count(), where_).dot(flat, flat);
    }
    return std::sqrt(sum);
  }

  // The largest diagonal of J^T J in recent iterations, clamped in units in which the columns of the first guess have
  // length one; the result is in the parameters' own units. The largest, so that a parameter whose column becomes short
  // cannot move far (Moré, The Levenberg-Marquardt algorithm: implementation and theory, 1978); in recent iterations,
  // because a distant first guess may have columns that are longer by orders of magnitude.
  Numbers clamped_diagonal() const {
    Numbers diagonal = scaling_.largest;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      const double squared = scaling_.first[i] * scaling_.first[i];
      diagonal[i] = std::clamp(diagonal[i] * squared, least_diagonal, largest_diagonal) / squared;
    }
    return diagonal;
  }

  Numbers frozen_bounds(Numbers damping) const {
    for (std::size_t i = 0; i < damping.size(); ++i)
      if (region_.active[i]) damping[i] = frozen * (1 + vectors_.diagonal[i]);
    return damping;
  }

  Numbers solved(Numbers damping) {
    Numbers step = finder_.step(vectors_, frozen_bounds(std::move(damping)));
    for (std::size_t i = 0; i < step.size(); ++i)
      if (region_.active[i]) step[i] = 0;
    return step;
  }

  Numbers levenberg_marquardt_step() {
    Numbers damping = clamped_diagonal();
    for (double &number : damping) number /= region_.radius;
    Numbers step = solved(damping);
    const bool is_exact = finder_.kind() == StepSolver::schur || finder_.kind() == StepSolver::sparse;
    if (is_exact && !step.empty() && !has_bounds()) {
      // d^T H d = -g^T d - d^T D d.
      double damped = 0;
      for (std::size_t i = 0; i < step.size(); ++i) damped += damping[i] * step[i] * step[i];
      region_.predicted = 0.5 * (damped - dot(vectors_.gradient, step));
    }
    return step;
  }

  bool has_bounds() const {
    return std::ranges::any_of(problem_.parameters,
                               [](const Parameters &of) { return !of.lower.empty() || !of.upper.empty(); });
  }

  // The second derivative of the residuals along the step by differences, and the step that it implies. Empty if the
  // step is too long for it, or leaves the region of finite residuals.
  Numbers accelerated(const Numbers &step) {
    constexpr double h = 0.1, longest = 0.75;
    trial_cost(sum_of(h, step, 0, step));
    const std::vector<Buffer<double>> &along = finder_.product(step);
    std::vector<Buffer<double>> bend;
    for (std::size_t r = 0; r < problem_.residuals.size(); ++r) {
      // 2 / h ((r(x + h v) - r(x)) / h - J v)
      const Buffer<double> &part = points_.trial.residuals[r];
      bend.emplace_back(problem_.device(), part.extents());
      if (part.count() == 0) continue;
      const VectorSpace space(problem_.device(), ScalarType::Float64, part.count(), where_);
      const auto flat = [](const Buffer<double> &of) { return of.reshape({of.count()}); };
      space.combine(2 / (h * h), flat(part), 0, flat(bend.back()));
      space.combine(-2 / (h * h), flat(points_.at.residuals[r]), 1, flat(bend.back()));
      space.combine(-2 / h, flat(along[r]), 1, flat(bend.back()));
    }
    Numbers damping = clamped_diagonal(), squares = damping;
    for (double &number : damping) number /= region_.radius;
    const Numbers acceleration = finder_.step_for(bend, vectors_, frozen_bounds(std::move(damping)));
    if (acceleration.empty()) return {};
    double length = 0, turn = 0;
    for (std::size_t i = 0; i < step.size(); ++i) {
      length += squares[i] * step[i] * step[i];
      turn += squares[i] * acceleration[i] * acceleration[i];
    }
    if (!(2 * std::sqrt(turn) <= longest * std::sqrt(length))) return {};
    return sum_of(1, step, 0.5, acceleration);
  }

  // Along the gradient, and then towards the Gauss-Newton step, up to the radius, all in scaled units.
  Numbers dogleg_step() {
    const Numbers squares = clamped_diagonal();
    Numbers steepest = vectors_.gradient;
    for (std::size_t i = 0; i < steepest.size(); ++i) steepest[i] = region_.active[i] ? 0 : -steepest[i] / squares[i];
    const auto scaled_norm = [&](const Numbers &step) {
      double sum = 0;
      for (std::size_t i = 0; i < step.size(); ++i) sum += squares[i] * step[i] * step[i];
      return std::sqrt(sum);
    };
    if (region_.newton.empty()) {
      // Enough for a matrix that is singular.
      for (int power = -14; region_.newton.empty() && power < 0; power += 2) {
        const double damping = std::pow(10.0, power);
        Numbers all = squares;
        for (double &number : all) number *= damping;
        region_.newton = solved(std::move(all));
      }
      const double along = finder_.squared_product(steepest), length = scaled_norm(steepest);
      region_.cauchy = along > 0 ? length * length / along : 0;
    }
    const Numbers cauchy = sum_of(region_.cauchy, steepest, 0, steepest);
    if (region_.newton.empty()) return sum_of(std::min(1.0, region_.radius / scaled_norm(cauchy)), cauchy, 0, cauchy);
    if (scaled_norm(region_.newton) <= region_.radius) return region_.newton;
    const double length = scaled_norm(cauchy);
    if (length >= region_.radius) return sum_of(region_.radius / length, cauchy, 0, cauchy);
    // |cauchy + t (newton - cauchy)| = radius.
    const Numbers way = sum_of(1, region_.newton, -1, cauchy);
    double a = 0, b = 0;
    for (std::size_t i = 0; i < way.size(); ++i)
      a += squares[i] * way[i] * way[i], b += squares[i] * way[i] * cauchy[i];
    const double c = length * length - region_.radius * region_.radius;
    const double t = (-b + std::sqrt(std::max(b * b - a * c, 0.0))) / a;
    return sum_of(1, cauchy, t, way);
  }

  void iterate() {
    const auto started = Clock::now();
    Numbers step;
    {
      const Stopwatch watch(report_.seconds.linear_solver);
      step = options_.trust_region == TrustRegion::dogleg ? dogleg_step() : levenberg_marquardt_step();
    }
    ++iteration_;
    if (step.empty()) return reject(0, 0, started);
    const bool accelerates = options_.acceleration && options_.trust_region == TrustRegion::levenberg_marquardt;
    // An acceleration is beyond the linear model, which predicts for the step without it.
    double predicted = accelerates ? predicted_decrease(step) : 0;
    if (accelerates) {
      step = accelerated(step);
      if (step.empty()) return reject(0, 0, started);
    }
    each_bounded([&](std::size_t column, double value, double lower, double upper) {
      step[column] = std::clamp(value + step[column], lower, upper) - value;
    });
    const double norm = std::sqrt(dot(step, step));
    if (!accelerates) predicted = predicted_decrease(step);
    if (norm <= options_.step_tolerance * (values_norm() + options_.step_tolerance)) {
      end(LeastSquaresEnd::small_step, fmt::format("the norm of the step is {:.3g}", norm));
      --iteration_;
      return;
    }
    if (!(predicted > 0)) return reject(norm, 0, started);
    const double cost = trial_cost(step), ratio = (cost_ - cost) / predicted;
    if (!(ratio > accepted_ratio)) return reject(norm, ratio, started);
    accept(cost, norm, ratio, started, step);
  }

  double predicted_decrease(const Numbers &step) {
    if (region_.predicted) return *std::exchange(region_.predicted, {});
    const Stopwatch watch(report_.seconds.linear_solver);
    return -dot(vectors_.gradient, step) - 0.5 * finder_.squared_product(step);
  }

  double trial_cost(const Numbers &step) {
    const Stopwatch watch(report_.seconds.residuals);
    const Buffer<double> on_device(problem_.device(), {columns_.all}, step);
    for (std::size_t p = 0; p < problem_.parameters.size(); ++p)
      if (problem_.parameters[p].blocks() > 0)
        take_step(problem_.parameters[p], columns_.on_device[p], on_device, points_.trial_values[p], where_);
    return points_.trial.compute(problem_, points_.trial_values, false, where_);
  }

  void reject(double norm, double ratio, Clock::time_point started) {
    if (options_.trust_region == TrustRegion::dogleg)
      region_.radius *= 0.5;
    else
      region_.radius /= region_.factor, region_.factor *= 2;
    add_iteration(norm, std::isfinite(ratio) ? ratio : 0, seconds_since(started), false);
    if (region_.radius < smallest_radius) end(LeastSquaresEnd::no_decrease, "no step decreases the cost further");
  }

  void accept(double cost, double norm, double ratio, Clock::time_point started, const Numbers &step) {
    for (std::size_t p = 0; p < points_.values.size(); ++p) points_.values[p].copy_from(points_.trial_values[p]);
    if (options_.trust_region == TrustRegion::dogleg) {
      const Numbers squares = clamped_diagonal();
      double length = 0;
      for (std::size_t i = 0; i < step.size(); ++i) length += squares[i] * step[i] * step[i];
      if (ratio < 0.25) region_.radius *= 0.5;
      if (ratio > 0.75) region_.radius = std::max(region_.radius, 3 * std::sqrt(length));
    } else {
      const double cubed = std::pow(2 * ratio - 1, 3);
      region_.radius = std::min(region_.radius / std::max(1.0 / 3, 1 - cubed), 1e16);
      region_.factor = 2;
    }
    region_.newton.clear();
    change_ = cost_ - cost;
    // Nothing needs the derivatives at the last point.
    const bool is_last = std::abs(change_) <= options_.cost_tolerance * cost_;
    if (is_last)
      end(LeastSquaresEnd::small_cost_change,
          fmt::format("the cost changed by {:.3g}, relative to it", cost_ > 0 ? change_ / cost_ : 0.0));
    else
      linearise();
    cost_ = cost;  // of the same kernel as those it is compared with
    add_iteration(norm, ratio, seconds_since(started), true);
  }

  void add_iteration(double norm, double ratio, double seconds, bool accepted) {
    report_.iterations.push_back({iteration_, cost_, iteration_ > 0 && accepted ? change_ : 0, gradient_norm(), norm,
                                  ratio, region_.radius, seconds, accepted});
    if (ended_ || iteration_ == 0 || !options_.progress) return;
    if (!options_.progress({iteration_, cost_, gradient_norm(), norm}))
      end(LeastSquaresEnd::stopped, "the program stopped it");
  }

  void end(LeastSquaresEnd how, std::string reason) {
    if (ended_) return;
    ended_ = true;
    report_.ended = how;
    report_.reason = std::move(reason);
  }

  bool has_ended() {
    if (!ended_ && gradient_norm() <= options_.gradient_tolerance)
      end(LeastSquaresEnd::small_gradient,
          fmt::format("the largest component of the gradient is {:.3g}", gradient_norm()));
    if (!ended_ && iteration_ >= options_.iterations)
      end(LeastSquaresEnd::iterations, fmt::format("{} iterations are allowed", options_.iterations));
    return ended_;
  }

  LeastSquaresProblem &problem_;
  const LeastSquaresOptions &options_;
  SourceLocation where_;
  Clock::time_point start_ = Clock::now();
  Columns columns_;
  StepFinder finder_;
  Points points_;
  NormalVectors vectors_;
  double cost_ = 0, change_ = 0;
  Scaling scaling_;
  Region region_;
  std::int64_t iteration_ = 0;
  bool ended_ = false;
  LeastSquaresReport report_;
};

}  // namespace

LeastSquaresReport minimise(LeastSquaresProblem &problem, const LeastSquaresOptions &options, SourceLocation where) {
  const auto start = Clock::now();
  Minimisation minimisation(problem, options, where);
  minimisation.add_structure_seconds(seconds_since(start));
  return minimisation.run();
}

}  // namespace samite::solvers::detail
