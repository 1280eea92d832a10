#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/scalar_rows.h"
#include "samite/solve/solver.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

namespace samite::solvers {
namespace {

template <class T>
const auto &chebyshev_start() {
  static const Kernel kernel{"chebyshev_start",
                             {"z", "residual", "step", "r", "inverse_diagonal", "factor"},
                             [](Array<T, 1> z, Array<T, 1> residual, Array<T, 1> step, Array<const T, 1> r,
                                Array<const T, 1> inverse_diagonal, const Traced<T> &factor) {
                               const Int i = thread_index();
                               const Traced<T> first = factor * inverse_diagonal(i) * r(i);
                               residual(i) = r(i), step(i) = first, z(i) = first;
                             }};
  return kernel;
}

// `product` is A times the step before.
template <class T>
const auto &chebyshev_step() {
  static const Kernel kernel{
      "chebyshev_step",
      {"z", "residual", "step", "product", "inverse_diagonal", "of_step", "of_residual"},
      [](Array<T, 1> z, Array<T, 1> residual, Array<T, 1> step, Array<const T, 1> product,
         Array<const T, 1> inverse_diagonal, const Traced<T> &of_step, const Traced<T> &of_residual) {
        const Int i = thread_index();
        const Traced<T> left = residual(i) - product(i);
        const Traced<T> next = of_step * step(i) + of_residual * inverse_diagonal(i) * left;
        residual(i) = left, step(i) = next, z(i) += next;
      }};
  return kernel;
}

// By Gershgorin's circles.
double bound_of_eigenvalues(const detail::ScalarRows &rows, const std::vector<double> &diagonal) {
  double bound = 0;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    double sum = 0;
    for (std::size_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) sum += std::abs(rows.values[k]);
    bound = std::max(bound, sum / diagonal[i]);
  }
  return bound;
}

template <class T>
Preconditioner polynomial(const SparseMatrix &a, const ChebyshevOptions &options, SourceLocation where) {
  const detail::ScalarRows rows(a);
  const std::vector<double> diagonal = rows.positive_diagonal("chebyshev", where);
  std::vector<T> inverses;
  for (const double number : diagonal) inverses.push_back(static_cast<T>(1 / number));
  const Buffer<T> inverse_diagonal(a.device(), {inverses.size()}, inverses), residual(a.device(), {inverses.size()}),
      step(a.device(), {inverses.size()}), product(a.device(), {inverses.size()});
  const double largest = bound_of_eigenvalues(rows, diagonal), smallest = largest / options.ratio;
  const double middle = (largest + smallest) / 2, half = (largest - smallest) / 2;
  const auto apply = [=](const AnyBuffer &r, const AnyBuffer &z) {
    const LaunchExtents all(r.extents());
    chebyshev_start<T>().launch(all, Buffer<T>(z), residual, step, Buffer<T>(r), inverse_diagonal,
                                static_cast<T>(1 / middle));
    double rho = half / middle;
    for (int k = 0; k < options.degree; ++k) {
      const double next = 1 / (2 * middle / half - rho);
      multiply(a, step, product);
      chebyshev_step<T>().launch(all, Buffer<T>(z), residual, step, product, inverse_diagonal,
                                 static_cast<T>(next * rho), static_cast<T>(2 * next / half));
      rho = next;
    }
  };
  return {.apply = apply};
}

}  // namespace

Preconditioner chebyshev(const SparseMatrix &a, const ChebyshevOptions &options, SourceLocation where) {
  a.pattern(where);
  if (options.degree < 1 || !(options.ratio > 1) || !std::isfinite(options.ratio))
    throw UserError(where, "chebyshev: a degree of at least 1 and a ratio above 1 are expected; " +
                               std::to_string(options.degree) + " and " + std::to_string(options.ratio) + " are given");
  return detail::with_floating_type(a.type(), "", where, [&]<class T>(T) { return polynomial<T>(a, options, where); });
}

}  // namespace samite::solvers
