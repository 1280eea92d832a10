#include "samite/solve/iteration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace samite::solvers::detail {

System::System(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x, const SolveOptions &options,
               SolveReport &report, SourceLocation where)
    : a(a),
      b(b),
      x(x),
      options(options),
      report(report),
      space(a.device(), a.type(), a.rows(), where, options.sum_over_ranks) {}

double System::residual(const AnyBuffer &r) const {
  a.apply(x, r);
  space.combine(1, b, -1, r);
  return space.norm(r);
}

void System::precondition(const AnyBuffer &r, const AnyBuffer &z) const {
  if (options.preconditioner.apply)
    options.preconditioner.apply(r, z);
  else
    space.combine(1, r, 0, z);
}

bool System::ends(double norm) {
  ++report.iterations;
  report.history.push_back(norm);
  report.residual = norm;
  if (!std::isfinite(norm)) {
    report.ended = Ended::not_finite;
    report.reason = fmt::format("the residual is {} after iteration {}", norm, report.iterations);
    return true;
  }
  if (norm <= report.target) return true;
  if (options.progress && !options.progress({report.iterations, norm, report.target})) {
    report.ended = Ended::stopped;
    report.reason = "the program stopped it";
    return true;
  }
  return report.iterations >= options.iterations;
}

void System::break_down(const std::string &reason) {
  report.ended = Ended::breakdown;
  report.reason = fmt::format("{} in iteration {}", reason, report.iterations + 1);
}

namespace {

// Chronopoulos and Gear, 1989: all products of an iteration are available together, so that ranks wait for each other
// once. It stores and combines one more vector than Hestenes' and Stiefel's form.
void conjugate_gradients_of_ranks(System &system, const AnyBuffer &r) {
  const VectorSpace &space = system.space;
  const bool is_preconditioned = static_cast<bool>(system.options.preconditioner.apply);
  const AnyBuffer p = space.vector(), q = space.vector(), w = space.vector();
  const AnyBuffer z = is_preconditioned ? space.vector() : r;
  double rho = 0, alpha = 0, beta = 0;
  for (bool first = true;; first = false) {
    if (is_preconditioned) system.precondition(r, z);
    system.a.apply(z, w);
    const std::vector<double> products = space.dots({{r, z}, {w, z}, {r, r}});
    if (!first && system.ends(std::sqrt(products[2]))) return;
    const double before = rho;
    rho = products[0];
    if (rho <= 0)
      return system.break_down(fmt::format("the preconditioner is not positive definite: r M r is {}", rho));
    beta = first ? 0 : rho / before;
    const double curvature = first ? products[1] : products[1] - beta * rho / alpha;
    if (curvature <= 0)
      return system.break_down(fmt::format("A is not positive definite: p A p is {} for a direction p", curvature));
    alpha = rho / curvature;
    space.combine(1, z, beta, p);
    space.combine(1, w, beta, q);
    space.combine(alpha, p, 1, system.x);
    space.combine(-alpha, q, 1, r);
  }
}

}  // namespace

// Hestenes and Stiefel, 1952.
void conjugate_gradients_round(System &system, const AnyBuffer &r) {
  if (system.options.sum_over_ranks) return conjugate_gradients_of_ranks(system, r);
  const VectorSpace &space = system.space;
  const bool is_preconditioned = static_cast<bool>(system.options.preconditioner.apply);
  const AnyBuffer p = space.vector(), q = space.vector(), z = is_preconditioned ? space.vector() : r;
  if (is_preconditioned) system.precondition(r, z);
  space.combine(1, z, 0, p);
  double rho = space.dot(r, z);
  while (true) {
    if (rho <= 0)
      return system.break_down(fmt::format("the preconditioner is not positive definite: r M r is {}", rho));
    system.a.apply(p, q);
    const double curvature = space.dot(p, q);
    if (curvature <= 0)
      return system.break_down(fmt::format("A is not positive definite: p A p is {} for a direction p of norm {}",
                                           curvature, space.norm(p)));
    const double alpha = rho / curvature;
    space.combine(alpha, p, 1, system.x);
    space.combine(-alpha, q, 1, r);
    const double norm = space.norm(r);
    if (system.ends(norm)) return;
    if (is_preconditioned) system.precondition(r, z);
    const double next = is_preconditioned ? space.dot(r, z) : norm * norm;
    space.combine(1, z, next / rho, p);
    rho = next;
  }
}

// Paige and Saunders, 1975, with a preconditioner that is positive definite: Lanczos vectors in its inner product, and
// a QR factor by rotations. The estimated norm is then that of the preconditioned residual, so the true one is kept by
// recurrence only without a preconditioner.
void minres_round(System &system, const AnyBuffer &r) {
  const VectorSpace &space = system.space;
  AnyBuffer older = space.vector(), old = space.vector(), now = space.vector(), y = space.vector();
  AnyBuffer direction = space.vector(), before = space.vector(), before_that = space.vector();
  const AnyBuffer v = space.vector(), residual = space.vector();
  space.combine(1, r, 0, old);
  system.precondition(old, y);
  double product = space.dot(old, y);
  if (product <= 0)
    return system.break_down(fmt::format("the preconditioner is not positive definite: r M r is {}", product));
  double beta = std::sqrt(product), beta_before = 0, phi = beta;
  double epsilon = 0, delta_bar = 0, cosine = -1, sine = 0;
  for (bool first = true;; first = false) {
    space.combine(1 / beta, y, 0, v);
    system.a.apply(v, now);
    if (!first) space.combine(-beta / beta_before, older, 1, now);
    const double alpha = space.dot(v, now);
    space.combine(-alpha / beta, old, 1, now);
    std::swap(older, old), std::swap(old, now);
    system.precondition(old, y);
    product = space.dot(old, y);
    if (product < 0)
      return system.break_down(fmt::format("the preconditioner is not positive definite: r M r is {}", product));
    beta_before = beta, beta = std::sqrt(product);
    // The new column of the tridiagonal matrix, rotated by the two rotations before, and one of its own.
    const double epsilon_before = epsilon, delta = cosine * delta_bar + sine * alpha;
    const double gamma_bar = sine * delta_bar - cosine * alpha;
    epsilon = sine * beta, delta_bar = -cosine * beta;
    const double gamma = std::hypot(gamma_bar, beta);
    if (gamma == 0) return system.break_down("A is singular: the next rotation is of two zeros");
    cosine = gamma_bar / gamma, sine = beta / gamma;
    const double step = cosine * phi;
    phi *= sine;
    std::swap(before_that, before), std::swap(before, direction);
    space.combine(1 / gamma, v, 0, direction);
    space.combine(-delta / gamma, before, 1, direction);
    space.combine(-epsilon_before / gamma, before_that, 1, direction);
    space.combine(step, direction, 1, system.x);
    const double norm = system.options.preconditioner.apply ? system.residual(residual) : std::abs(phi);
    if (system.ends(norm)) return;
    if (beta <= std::numeric_limits<double>::epsilon() * gamma) return;  // all of the space has been seen
  }
}

// van der Vorst, 1992, preconditioned from the right.
void bicgstab_round(System &system, const AnyBuffer &r) {
  const VectorSpace &space = system.space;
  const AnyBuffer shadow = space.vector(), p = space.vector(), v = space.vector(), t = space.vector();
  const AnyBuffer p_hat = space.vector(), r_hat = space.vector();
  space.combine(1, r, 0, shadow);
  space.combine(1, r, 0, p);
  double rho = space.dot(shadow, r);
  while (true) {
    system.precondition(p, p_hat);
    system.a.apply(p_hat, v);
    const double product = space.dot(shadow, v);
    if (product == 0 || rho == 0)
      return system.break_down(
          fmt::format("the residual became orthogonal to the first one: products {} and {}", rho, product));
    const double alpha = rho / product;
    space.combine(alpha, p_hat, 1, system.x);
    space.combine(-alpha, v, 1, r);
    const double half = space.norm(r);
    if (half <= system.report.target && system.ends(half)) return;
    system.precondition(r, r_hat);
    system.a.apply(r_hat, t);
    const double square = space.dot(t, t);
    const double omega = square == 0 ? 0 : space.dot(t, r) / square;
    if (omega == 0) {
      if (!system.ends(half)) system.break_down("the stabilising step is zero");
      return;
    }
    space.combine(omega, r_hat, 1, system.x);
    space.combine(-omega, t, 1, r);
    if (system.ends(space.norm(r))) return;
    const double next = space.dot(shadow, r);
    const double beta = next / rho * (alpha / omega);
    rho = next;
    space.combine(-omega, v, 1, p);
    space.combine(1, r, beta, p);
  }
}

namespace {

// The least-squares problem of GMRES: an upper Hessenberg matrix, made triangular by rotations column by column.
class Hessenberg {
 public:
  explicit Hessenberg(double norm) : right_{norm} {}

  // Adds a column, and returns the norm of the residual. The column's last element is the norm of the next vector.
  double add(std::vector<double> column) {
    const std::size_t j = columns_.size();
    for (std::size_t i = 0; i < j; ++i) rotate(rotations_[i], column[i], column[i + 1]);
    const double length = std::hypot(column[j], column[j + 1]);
    const Rotation own = length == 0 ? Rotation{1, 0} : Rotation{column[j] / length, column[j + 1] / length};
    rotate(own, column[j], column[j + 1]);
    right_.push_back(0);
    rotate(own, right_[j], right_[j + 1]);
    rotations_.push_back(own);
    columns_.push_back(std::move(column));
    return std::abs(right_.back());
  }

  // The coefficients of the vectors; empty if the matrix is singular.
  std::vector<double> solution() const {
    std::vector<double> y(columns_.size());
    for (std::size_t i = columns_.size(); i-- > 0;) {
      double sum = right_[i];
      for (std::size_t j = i + 1; j < columns_.size(); ++j) sum -= columns_[j][i] * y[j];
      if (columns_[i][i] == 0) return {};
      y[i] = sum / columns_[i][i];
    }
    return y;
  }

 private:
  struct Rotation {
    double cosine, sine;
  };
  static void rotate(const Rotation &by, double &a, double &b) {
    const double rotated = by.cosine * a + by.sine * b;
    b = by.cosine * b - by.sine * a;
    a = rotated;
  }

  std::vector<std::vector<double>> columns_;
  std::vector<Rotation> rotations_;
  std::vector<double> right_;
};

}  // namespace

// Saad and Schultz, 1986, preconditioned from the right. Gram-Schmidt runs twice, with all products in one pass each,
// which keeps the vectors orthogonal to rounding.
void gmres_round(System &system, const AnyBuffer &r) {
  const VectorSpace &space = system.space;
  const std::int64_t most = std::min(system.options.restart, space.whole_size());
  const AnyBuffer vectors = space.vectors(most + 1), w = space.vector(), z = space.vector();
  const auto row = [&](std::int64_t j) { return vectors.slice(0, j, j + 1).reshape({system.a.rows()}); };
  const double norm = space.norm(r);
  space.combine(1 / norm, r, 0, row(0));
  Hessenberg hessenberg(norm);
  bool singular = false;
  for (std::int64_t j = 0; j < most; ++j) {
    system.precondition(row(j), z);
    system.a.apply(z, w);
    const double before = space.norm(w);
    std::vector<double> column(static_cast<std::size_t>(j) + 1);
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<double> products = space.dots(vectors, j + 1, w);
      for (std::size_t i = 0; i < products.size(); ++i) column[i] += products[i], products[i] = -products[i];
      space.add(vectors, products, w);
    }
    const double next = space.norm(w);
    const bool is_last = next <= 1e-14 * before;  // the space is invariant: this is the exact solution, if there is one
    column.push_back(is_last ? 0 : next);
    const double residual = hessenberg.add(std::move(column));
    singular = is_last && residual > system.report.target;
    if (system.ends(residual) || is_last) break;
    space.combine(1 / next, w, 0, row(j + 1));
  }
  if (system.report.ended == Ended::not_finite) return;
  const std::vector<double> y = hessenberg.solution();
  if (y.empty() || singular) return system.break_down("A is singular on the space of its powers times the residual");
  const AnyBuffer sum = space.vector();
  space.add(vectors, y, sum);
  system.precondition(sum, z);
  space.combine(1, z, 1, system.x);
}

}  // namespace samite::solvers::detail
