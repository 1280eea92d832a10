// Preconditioners by polynomials and by incomplete factors, against their formulas and in solves.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <numbers>

namespace samite::test {
namespace {

using namespace systems;
using solvers::chebyshev;
using solvers::incomplete_cholesky;
using solvers::Preconditioner;
using solvers::SolveReport;
using testing::HasSubstr;

Numbers applied(const Preconditioner &preconditioner, const Numbers &r) {
  const Buffer<double> from = on_device(r, Gradient::untracked), to = on_device(Numbers(r.size()), Gradient::untracked);
  preconditioner.apply(from, to);
  return to.to_vector();
}

// The Laplacian of 5 points on a square.
Dense grid(std::size_t side) {
  Dense a(side * side, side * side);
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j) {
      const std::size_t here = i * side + j;
      a.at(here, here) = 4;
      if (j > 0) a.at(here, here - 1) = a.at(here - 1, here) = -1;
      if (i > 0) a.at(here, here - side) = a.at(here - side, here) = -1;
    }
  return a;
}

// L with L L^T = A where A has entries, and no others.
Dense incomplete_factor(const Dense &a) {
  Dense l(a.rows, a.rows);
  for (std::size_t j = 0; j < a.rows; ++j)
    for (std::size_t i = j; i < a.rows; ++i) {
      if (a.at(i, j) == 0) continue;
      double sum = a.at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= l.at(i, k) * l.at(j, k);
      l.at(i, j) = i == j ? std::sqrt(sum) : sum / l.at(j, j);
    }
  return l;
}

TEST(IncompleteCholesky, SolvesWithItsFactor) {
  const Dense a = grid(7), l = incomplete_factor(a);
  const Numbers r = random_numbers(49, 1), z = applied(incomplete_cholesky(sparse(a)), r);
  const Numbers back = product(l, product(transposed(l), z));
  for (std::size_t i = 0; i < r.size(); ++i) EXPECT_NEAR(back[i], r[i], 1e-12);
}

TEST(IncompleteCholesky, SweepsComeCloser) {
  const Dense a = grid(7);
  const Numbers r = random_numbers(49, 2), exact = applied(incomplete_cholesky(sparse(a)), r);
  double before = 1e300;
  for (const int sweeps : {1, 2, 5, 12, 13}) {
    const Numbers z = applied(incomplete_cholesky(sparse(a), {.sweeps = sweeps}), r);
    double error = 0;
    for (std::size_t i = 0; i < r.size(); ++i) error = std::max(error, std::abs(z[i] - exact[i]));
    EXPECT_LT(error, before);
    before = error + 1e-13;
  }
  EXPECT_LT(before, 1e-12);  // after as many sweeps as there are levels
}

// 1 - x p(x) is the Chebyshev polynomial of the interval, scaled to 1 at zero; and a sine is an eigenvector.
TEST(Chebyshev, IsThePolynomialOfItsInterval) {
  constexpr std::size_t n = 20;
  const solvers::SparseMatrix a = sparse(tridiagonal(n, 2));
  for (const int degree : {1, 3}) {
    const Preconditioner preconditioner = chebyshev(a, {.degree = degree, .ratio = 10});
    for (const int wave : {1, 5, 20}) {
      Numbers v(n);
      const double angle = std::numbers::pi * wave / (n + 1);
      for (std::size_t i = 0; i < n; ++i) v[i] = std::sin(angle * static_cast<double>(i + 1));
      const double eigenvalue = 1 - std::cos(angle), middle = 1.1, half = 0.9;  // between 0.2 and 2
      const auto polynomial = [&](double x) {
        return std::abs(x) <= 1 ? std::cos((degree + 1) * std::acos(x)) : std::cosh((degree + 1) * std::acosh(x));
      };
      const double left = polynomial((middle - eigenvalue) / half) / polynomial(middle / half);
      const Numbers z = applied(preconditioner, v);
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(z[i], (1 - left) / eigenvalue * v[i] / 2, 1e-12);
    }
  }
}

TEST(Preconditioner, BothSaveIterations) {
  const Dense dense = grid(24);
  const solvers::SparseMatrix a = sparse(dense), in_blocks = sparse(dense, {2, 2});
  const Numbers b = random_numbers(dense.rows, 3);
  const auto iterations = [&](const solvers::SparseMatrix &of, const Preconditioner &preconditioner) {
    Buffer<double> x = on_device(Numbers(b.size()));
    const SolveReport report =
        conjugate_gradients(of, on_device(b), x, {.tolerance = 1e-10, .preconditioner = preconditioner});
    EXPECT_TRUE(report.converged()) << report;
    return report.iterations;
  };
  const std::int64_t by_jacobi = iterations(a, jacobi(a));
  for (const auto &of : {a, in_blocks}) {
    EXPECT_LT(2 * iterations(of, chebyshev(of)), by_jacobi);
    EXPECT_LT(2 * iterations(of, incomplete_cholesky(of)), by_jacobi);
    EXPECT_LT(3 * iterations(of, incomplete_cholesky(of, {.sweeps = 3})), 2 * by_jacobi);
  }
}

TEST(Preconditioner, InFloat) {
  const Dense dense = grid(6);
  const solvers::SparseMatrix a = sparse<float>(dense);
  const Buffer<float> b(device(), {36}, std::vector<float>(36, 1));
  for (const auto &preconditioner : {chebyshev(a), incomplete_cholesky(a)}) {
    const Buffer<float> x(device(), {36});
    EXPECT_TRUE(conjugate_gradients(a, b, x, {.tolerance = 1e-5, .preconditioner = preconditioner}).converged());
    EXPECT_NEAR(x.at(14), solution(dense, Numbers(36, 1))[14], 1e-4);
  }
}

// Kershaw's matrix, for which IC(0) has a negative pivot.
TEST(IncompleteCholesky, EnlargesTheDiagonalWhereItMust) {
  Dense a(4, 4);
  for (std::size_t i = 0; i < 4; ++i) a.at(i, i) = 3;
  a.at(0, 1) = a.at(1, 0) = a.at(1, 2) = a.at(2, 1) = a.at(2, 3) = a.at(3, 2) = -2;
  a.at(0, 3) = a.at(3, 0) = 2;
  Buffer<double> x = on_device(Numbers(4));
  const SolveReport report = conjugate_gradients(
      sparse(a), on_device({1, 2, 3, 4}), x, {.tolerance = 1e-12, .preconditioner = incomplete_cholesky(sparse(a))});
  EXPECT_TRUE(report.converged()) << report;
  EXPECT_NEAR(x.at(2), solution(a, {1, 2, 3, 4})[2], 1e-9);
}

TEST(Preconditioner, RefusesWhatDoesNotFit) {
  Dense a = tridiagonal(4, 2);
  a.at(2, 2) = -1;
  const auto message = [](const auto &call) { return message_of<UserError>(call); };
  EXPECT_THAT(message([&] { chebyshev(sparse(a)); }), HasSubstr("the number on the diagonal of row 2 is -1"));
  EXPECT_THAT(message([&] { incomplete_cholesky(sparse(a)); }), HasSubstr("the number on the diagonal of row 2 is -1"));
  const solvers::SparseMatrix good = sparse(tridiagonal(4, 2)), wide = sparse(random_dense(3, 5, 0.5, 1, 4));
  EXPECT_THAT(message([&] { incomplete_cholesky(wide); }), HasSubstr("a square matrix is expected, 3 x 5"));
  EXPECT_THAT(message([&] { chebyshev(good, {.degree = 0}); }), HasSubstr("a degree of at least 1"));
  EXPECT_THAT(message([&] { incomplete_cholesky(good, {.sweeps = -1}); }), HasSubstr("at least 0 sweeps"));
  Dense infinite = tridiagonal(4, 2);
  infinite.at(2, 1) = std::numeric_limits<double>::infinity();
  EXPECT_THAT(message([&] { incomplete_cholesky(sparse(infinite)); }), HasSubstr("has no positive pivot"));
}

}  // namespace
}  // namespace samite::test
