// Iterative solvers against elimination, and their gradients against central differences of elimination.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <limits>

namespace samite::test {
namespace {

using namespace systems;
using solvers::Ended;
using solvers::SolveOptions;
using solvers::SolveReport;
using solvers::SparseMatrix;
using testing::HasSubstr;

using Solver = SolveReport (*)(const solvers::LinearOperator &, const AnyBuffer &, const AnyBuffer &,
                               const SolveOptions &, SourceLocation);

struct Case {
  const char *name;
  Solver solver;
  bool symmetric, definite;
};

constexpr Case every_solver[] = {{"cg", solvers::conjugate_gradients, true, true},
                                 {"minres", solvers::minres, true, false},
                                 {"bicgstab", solvers::bicgstab, false, false},
                                 {"gmres", solvers::gmres, false, false}};

constexpr std::size_t size = 30;

// Positive definite, indefinite, or not symmetric, as the solver allows.
Dense system_for(const Case &one, unsigned seed) {
  Dense a = random_dense(size, size, 0.15, 3, seed);
  if (one.symmetric) a = symmetric(a);
  if (one.symmetric && !one.definite)
    for (std::size_t i = 0; i < size; i += 3) a.at(i, i) -= 6;
  return a;
}

SolveReport run_solver(const Case &one, const SparseMatrix &a, const Buffer<double> &b, const Buffer<double> &x,
                       const SolveOptions &options) {
  return one.solver(a, b, x, options, std::source_location::current());
}

double largest_difference(const Numbers &a, const Numbers &b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Solver, SolutionsFromAnyGuess) {
  for (const Case &one : every_solver) {
    SCOPED_TRACE(one.name);
    const Dense dense = system_for(one, 1);
    const Numbers b = random_numbers(size, 2);
    for (const unsigned guess : {0u, 3u}) {
      Buffer<double> x = on_device(guess == 0 ? Numbers(size) : random_numbers(size, guess));
      const SolveReport report = run_solver(one, sparse(dense), on_device(b), x, {.tolerance = 1e-11});
      EXPECT_TRUE(report.converged()) << report;
      EXPECT_LE(report.residual, report.target);
      EXPECT_LT(largest_difference(x.to_vector(), solution(dense, b)), 1e-9);
      EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
    }
  }
}

TEST(Solver, InFloatAndInBlocks) {
  for (const Case &one : every_solver) {
    SCOPED_TRACE(one.name);
    const Dense dense = system_for(one, 4);
    const Numbers b = random_numbers(size, 5);
    const Buffer<float> right(device(), {size}, std::vector<float>(b.begin(), b.end())), x(device(), {size});
    const SolveReport report = one.solver(sparse<float>(dense, {2, 2}), right, x, {.tolerance = 1e-5}, {});
    EXPECT_TRUE(report.converged()) << report;
    const std::vector<float> actual = x.to_vector();
    EXPECT_LT(largest_difference({actual.begin(), actual.end()}, solution(dense, b)), 1e-3);
  }
}

TEST(Solver, PreconditionersSaveIterations) {
  Dense dense = tridiagonal(60, 2.1);
  for (std::size_t i = 0; i < 60; ++i)
    for (std::size_t j = 0; j < 60; ++j) dense.at(i, j) *= std::pow(1.15, static_cast<double>(i + j) / 2);
  const SparseMatrix a = sparse(dense);
  const Numbers b = random_numbers(60, 6);
  for (const Case &one : every_solver) {
    SCOPED_TRACE(one.name);
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (const auto &preconditioner : {solvers::Preconditioner(), jacobi(a), block_jacobi(a, 7)}) {
      Buffer<double> x = on_device(Numbers(60));
      const SolveReport report =
          run_solver(one, a, on_device(b), x,
                     {.tolerance = 1e-10, .iterations = 3000, .preconditioner = preconditioner, .restart = 60});
      if (preconditioner.apply) {
        EXPECT_TRUE(report.converged()) << report;
        EXPECT_LE(report.iterations, before);
      }
      before = report.iterations;
    }
  }
}

TEST(Solver, JacobiOfBlocks) {
  const Dense dense = system_for(every_solver[0], 7);
  const Numbers b = random_numbers(size, 8);
  const SparseMatrix a = sparse(dense, {3, 3});
  for (const auto &preconditioner : {jacobi(a), block_jacobi(a), block_jacobi(a, 6)}) {
    Buffer<double> x = on_device(Numbers(size));
    const SolveReport report =
        conjugate_gradients(a, on_device(b), x, {.tolerance = 1e-11, .preconditioner = preconditioner});
    EXPECT_TRUE(report.converged()) << report;
    EXPECT_LT(largest_difference(x.to_vector(), solution(dense, b)), 1e-9);
  }
}

// The gradient of a weighted sum of the solution, by b and by each stored entry.
TEST(Solver, GradientsMatchDifferences) {
  for (const Case &one : every_solver) {
    SCOPED_TRACE(one.name);
    const Dense dense = system_for(one, 9);
    const Numbers b = random_numbers(size, 10), weights = random_numbers(size, 11);
    const SparseMatrix a = sparse(dense);
    Buffer<double> right = on_device(b), x = on_device(Numbers(size));
    SolveReport adjoint;
    const SolveOptions options{.tolerance = 1e-12,
                               .preconditioner = one.definite ? jacobi(a) : solvers::Preconditioner(),
                               .on_adjoint = [&](const SolveReport &report) { adjoint = report; }};
    Tape tape;
    tape.record([&] { run_solver(one, a, right, x, options); });
    tape.backward({{x, on_device(weights, Gradient::untracked)}});
    EXPECT_TRUE(adjoint.converged()) << adjoint;

    const auto objective = [&](const Dense &of, const Numbers &b) {
      const Numbers x = solution(of, b);
      double sum = 0;
      for (std::size_t i = 0; i < size; ++i) sum += weights[i] * x[i];
      return sum;
    };
    constexpr double step = 1e-6;
    const Numbers by_b = right.gradient().to_vector();
    for (std::size_t i = 0; i < size; i += 7) {
      Numbers more = b, less = b;
      more[i] += step, less[i] -= step;
      EXPECT_NEAR(by_b[i], (objective(dense, more) - objective(dense, less)) / (2 * step), 1e-7);
    }
    const Numbers by_values = Buffer<double>(a.values()).gradient().to_vector();
    const std::vector<std::int32_t> offsets = a.offsets().to_vector(), indices = a.indices().to_vector();
    for (std::size_t i = 0; i < size; i += 3)
      for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); k += 2) {
        Dense more = dense, less = dense;
        const auto j = static_cast<std::size_t>(indices[k]);
        more.at(i, j) += step, less.at(i, j) -= step;
        EXPECT_NEAR(by_values[k], (objective(more, b) - objective(less, b)) / (2 * step), 1e-7);
      }
  }
}

TEST(Solver, GradientOfTheMatrixAsItWas) {
  const Dense dense = system_for(every_solver[0], 12);
  const SparseMatrix a = sparse(dense);
  const Numbers b = random_numbers(size, 13);
  Buffer<double> right = on_device(b), x = on_device(Numbers(size)), twice(device(), a.values().extents());
  Tape tape;
  tape.record([&] {
    conjugate_gradients(a, right, x, {.tolerance = 1e-12});
    AnyBuffer(a.values()).copy_from(twice);  // zeros
  });
  tape.backward({{x, on_device(Numbers(size, 1), Gradient::untracked)}});
  EXPECT_LT(largest_difference(right.gradient().to_vector(), solution(dense, Numbers(size, 1))), 1e-9);
}

// (k + 2) x[i] - x[i - 1] - x[i + 1], by a kernel.
TEST(Solver, OperatorsByKernels) {
  const Kernel stencil{
      "stencil", {"y", "x", "k"}, [](Array<double, 1> y, Array<const double, 1> x, Array<const double, 1> k) {
        Int i = thread_index(), n = x.extent(0);
        y(i) = (k(0) + 2.0) * x(i) - select(i > 0, x(max(i - 1, 0)), 0.0) -
               0.5 * select(i < n - 1, x(min(i + 1, n - 1)), 0.0);
      }};
  const Numbers b = random_numbers(size, 14), weights = random_numbers(size, 15);
  Buffer<double> k = on_device({0.3}), right = on_device(b), x = on_device(Numbers(size));
  k.gradient().fill(100);
  const solvers::LinearOperator a(
      size, size, ScalarType::Float64, device(),
      {.apply = [&](const AnyBuffer &x,
                    const AnyBuffer &y) { stencil.launch({size}, Buffer<double>(y), Buffer<double>(x), k); },
       .parameters = {k}});
  Tape tape;
  tape.record([&] { gmres(a, right, x, {.tolerance = 1e-12}); });
  tape.backward({{x, on_device(weights, Gradient::untracked)}});

  const auto dense = [&](double k) {
    Dense a = tridiagonal(size, 2 + k);
    for (std::size_t i = 0; i + 1 < size; ++i) a.at(i, i + 1) = -0.5;
    return a;
  };
  EXPECT_LT(largest_difference(x.to_vector(), solution(dense(0.3), b)), 1e-9);
  EXPECT_LT(largest_difference(right.gradient().to_vector(), solution(transposed(dense(0.3)), weights)), 1e-9);
  const auto objective = [&](double k) {
    const Numbers x = solution(dense(k), b);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += weights[i] * x[i];
    return sum;
  };
  EXPECT_NEAR(k.gradient().at(0) - 100, (objective(0.3 + 1e-5) - objective(0.3 - 1e-5)) / 2e-5, 1e-7);
}

TEST(Solver, AnOperatorNamesWhatItReads) {
  const Kernel multiple{
      "multiple", {"y", "x", "k"}, [](Array<double, 1> y, Array<const double, 1> x, Array<const double, 1> k) {
        Int i = thread_index();
        y(i) = k(0) * x(i);
      }};
  Buffer<double> k = on_device({2}), b = on_device({1, 2, 3}), x = on_device(Numbers(3));
  k.set_name("k");
  for (const bool symmetric : {false, true}) {
    const solvers::LinearOperator a(
        3, 3, ScalarType::Float64, device(),
        {.apply = [&](const AnyBuffer &x,
                      const AnyBuffer &y) { multiple.launch({3}, Buffer<double>(y), Buffer<double>(x), k); },
         .symmetric = symmetric});
    Tape tape;
    tape.record([&] { gmres(a, b, x); });
    const auto backward = [&] { tape.backward({{x, on_device(Numbers(3, 1), Gradient::untracked)}}); };
    EXPECT_THAT(message_of<UserError>(backward), HasSubstr("reads 'k', which tracks a gradient and is not among"));
  }
}

TEST(Solver, AGradientOfAnUnfinishedSolveIsRefused) {
  const SparseMatrix a = sparse(tridiagonal(50, 2));
  Buffer<double> b = on_device(random_numbers(50, 16)), x = on_device(Numbers(50));
  Tape tape;
  SolveReport report;
  tape.record([&] { report = conjugate_gradients(a, b, x, {.tolerance = 1e-12, .iterations = 5}); });
  EXPECT_EQ(report.ended, Ended::iterations);
  EXPECT_EQ(report.iterations, 5);
  const auto backward = [&] { tape.backward({{x, on_device(Numbers(50, 1), Gradient::untracked)}}); };
  EXPECT_THAT(message_of<UserError>(backward), HasSubstr("the solve itself has not converged"));
}

TEST(Solver, AnUnfinishedTransposedSolveIsRefused) {
  const SparseMatrix a = sparse(tridiagonal(50, 2));
  Buffer<double> b = on_device(Numbers(50)), x = on_device(Numbers(50));
  Tape tape;
  tape.record([&] { conjugate_gradients(a, b, x, {.tolerance = 1e-12, .iterations = 5}); });  // b is zero
  const auto backward = [&] { tape.backward({{x, on_device(random_numbers(50, 17), Gradient::untracked)}}); };
  EXPECT_THAT(message_of<UserError>(backward), HasSubstr("the transposed one has not converged"));
}

TEST(Solver, SaysWhyItEnds) {
  const auto solve = [](const Case &one, const Dense &dense, const Numbers &b, SolveOptions options = {}) {
    Buffer<double> x = on_device(Numbers(b.size()));
    options.tolerance = 1e-10;
    return run_solver(one, sparse(dense), on_device(b), x, options);
  };
  const auto &[cg, minres, bicgstab, gmres] = every_solver;
  Dense indefinite = tridiagonal(4, 3);
  indefinite.at(2, 2) = -3;
  const SolveReport broken = solve(cg, indefinite, {0, 0, 1, 0});
  EXPECT_EQ(broken.ended, Ended::breakdown);
  EXPECT_THAT(broken.to_string(), HasSubstr("A is not positive definite: p A p is -3"));

  Dense singular = tridiagonal(3, 2);
  singular.at(2, 2) = singular.at(2, 1) = singular.at(1, 2) = 0;  // the last row and column are empty
  for (const Case &one : every_solver) {
    SCOPED_TRACE(one.name);
    const SolveReport report = solve(one, singular, {1, 1, 1}, {.iterations = 200});
    EXPECT_FALSE(report.converged()) << report;
    EXPECT_FALSE(report.reason.empty());
  }

  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Case &one : every_solver) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(solve(one, tridiagonal(3, 2), {1, nan, 1}).ended, Ended::not_finite);
    Dense bad = tridiagonal(3, 2);
    bad.at(1, 1) = nan;
    EXPECT_EQ(solve(one, bad, {1, 1, 1}).ended, Ended::not_finite);
    const SolveReport zero = solve(one, tridiagonal(3, 2), {0, 0, 0});
    EXPECT_TRUE(zero.converged());
    EXPECT_EQ(zero.iterations, 0);
    EXPECT_TRUE(solve(one, Dense(0, 0), {}).converged());
    int calls = 0;
    const SolveReport stopped = solve(one, tridiagonal(40, 2), random_numbers(40, 18),
                                      {.progress = [&](const solvers::SolveProgress &) { return ++calls < 3; }});
    EXPECT_EQ(stopped.ended, Ended::stopped) << stopped;
  }
  EXPECT_EQ(solve(bicgstab, tridiagonal(40, 2), random_numbers(40, 19), {.iterations = 2}).ended, Ended::iterations);
}

TEST(Solver, StagnatesWhereRoundingIsLarger) {
  const Numbers numbers = random_numbers(40, 20);
  const Buffer<float> b(device(), {40}, std::vector<float>(numbers.begin(), numbers.end()));
  for (const Case &one : every_solver) {
    SCOPED_TRACE(one.name);
    const Buffer<float> x(device(), {40});
    const SolveReport report =
        one.solver(sparse<float>(tridiagonal(40, 2)), b, x, {.tolerance = 1e-14, .iterations = 100000}, {});
    EXPECT_FALSE(report.converged()) << report;
    EXPECT_LT(report.iterations, 100000) << report;
  }
}

TEST(Solver, RefusesWhatDoesNotFit) {
  const SparseMatrix a = sparse(tridiagonal(5, 2));
  Buffer<double> b = on_device(Numbers(5)), x = on_device(Numbers(4));
  EXPECT_THAT(message_of<UserError>([&] { conjugate_gradients(a, b, x); }), HasSubstr("x is Buffer<f64>(4)"));
  EXPECT_THAT(message_of<UserError>([&] { conjugate_gradients(a, b, b); }), HasSubstr("apart from b"));
  EXPECT_THAT(message_of<UserError>([&] { gmres(sparse(random_dense(5, 4, 1, 0, 1)), b, x); }),
              HasSubstr("a square A is expected, 5 x 4 is given"));
  EXPECT_THAT(message_of<UserError>([&] { minres(a, b, on_device(Numbers(5)), {.tolerance = -1}); }), HasSubstr("-1"));
  Dense hole = tridiagonal(5, 2);
  hole.at(3, 3) = 0;
  EXPECT_THAT(message_of<UserError>([&] { jacobi(sparse(hole)); }), HasSubstr("diagonal of row 3 is zero"));
  EXPECT_THAT(message_of<UserError>([&] { block_jacobi(a, 65); }), HasSubstr("65 is given"));
  EXPECT_THAT(message_of<UserError>([&] { block_jacobi(sparse(Dense(4, 4)), 2); }),
              HasSubstr("from row 0 on is singular"));
}

}  // namespace
}  // namespace samite::test
