// Direct solvers against elimination with pivots.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <limits>

namespace samite::test {
namespace {

using namespace systems;
using solvers::DirectSolver;
using solvers::Factorisation;
using solvers::SolveReport;
using solvers::SparseMatrix;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr std::size_t direct_size = 24;

Dense positive_definite(unsigned seed) { return symmetric(random_dense(direct_size, direct_size, 0.15, 3, seed)); }

TEST(DirectSolver, Solutions) {
  const Dense dense = positive_definite(1);
  const Numbers b = random_numbers(direct_size, 2);
  for (const Factorisation kind : {Factorisation::ldlt, Factorisation::llt})
    for (const solvers::BlockExtents block : {solvers::BlockExtents{1, 1}, solvers::BlockExtents{3, 3}}) {
      Buffer<double> x = on_device(Numbers(direct_size));
      const SolveReport report = DirectSolver(sparse(dense, block), kind).solve(on_device(b), x);
      EXPECT_TRUE(report.converged()) << report;
      EXPECT_THAT(x.to_vector(), Pointwise(DoubleNear(1e-12), solution(dense, b)));
    }
  Dense indefinite = dense;
  for (std::size_t i = 0; i < direct_size; i += 3) indefinite.at(i, i) -= 6;
  Buffer<double> x = on_device(Numbers(direct_size));
  EXPECT_TRUE(DirectSolver(sparse(indefinite)).solve(on_device(b), x).converged());
  EXPECT_THAT(x.to_vector(), Pointwise(DoubleNear(1e-10), solution(indefinite, b)));
}

TEST(DirectSolver, FactorsAgain) {
  const SparseMatrix a = sparse(positive_definite(3));
  const Dense dense = positive_definite(3);
  DirectSolver solver(a);
  Numbers twice = Buffer<double>(a.values()).to_vector();
  for (double &value : twice) value *= 2;
  Buffer<double>(a.values()).copy_from(std::span<const double>(twice));
  const Numbers b = random_numbers(direct_size, 4);
  Buffer<double> x = on_device(Numbers(direct_size));
  EXPECT_THAT(message_of<UserError>([&] { solver.solve(on_device(b), x); }), HasSubstr("call factor() again"));
  solver.factor(a);
  solver.solve(on_device(b), x);
  Numbers expected = solution(dense, b);
  for (double &value : expected) value /= 2;
  EXPECT_THAT(x.to_vector(), Pointwise(DoubleNear(1e-12), expected));
}

TEST(DirectSolver, GradientsMatchDifferences) {
  const Dense dense = positive_definite(5);
  const Numbers b = random_numbers(direct_size, 6), weights = random_numbers(direct_size, 7);
  const SparseMatrix a = sparse(dense);
  Buffer<double> right = on_device(b), x = on_device(Numbers(direct_size));
  DirectSolver solver(a);
  Tape tape;
  tape.record([&] { solver.solve(right, x); });
  Numbers twice = Buffer<double>(a.values()).to_vector();
  for (double &value : twice) value *= 2;
  const Buffer<double> others(device(), a.values().extents(), std::span<const double>(twice));
  solver.factor(a.with_values(others));  // the tape keeps the factor that it used
  tape.backward({{x, on_device(weights, Gradient::untracked)}});
  const Numbers multiplier = solution(transposed(dense), weights), solved = solution(dense, b);
  EXPECT_THAT(right.gradient().to_vector(), Pointwise(DoubleNear(1e-11), multiplier));
  const Numbers by_values = Buffer<double>(a.values()).gradient().to_vector();
  const std::vector<std::int32_t> offsets = a.offsets().to_vector(), indices = a.indices().to_vector();
  const auto objective = [&](const Dense &of) {
    const Numbers x = solution(of, b);
    double sum = 0;
    for (std::size_t i = 0; i < direct_size; ++i) sum += weights[i] * x[i];
    return sum;
  };
  for (std::size_t i = 0; i < direct_size; i += 5) {
    const auto k = static_cast<std::size_t>(offsets[i]);
    const auto j = static_cast<std::size_t>(indices[k]);
    Dense more = dense, less = dense;
    more.at(i, j) += 1e-6, less.at(i, j) -= 1e-6;
    EXPECT_NEAR(by_values[k], (objective(more) - objective(less)) / 2e-6, 1e-7);
    EXPECT_NEAR(by_values[k], -multiplier[i] * solved[j], 1e-11);
  }
}

TEST(DirectSolver, NamesWhatIsWrong) {
  const auto message = [](const Dense &dense, Factorisation kind = Factorisation::ldlt) {
    return message_of<UserError>([&] { DirectSolver(sparse(dense), kind); });
  };
  Dense negative = tridiagonal(5, 3);
  negative.at(3, 3) = -4;
  EXPECT_THAT(message(negative, Factorisation::llt), HasSubstr("not positive definite: pivot"));
  EXPECT_THAT(message(negative, Factorisation::llt), HasSubstr("of row 3, is -"));
  Dense singular = tridiagonal(3, 2);
  for (std::size_t i = 0; i < 3; ++i) singular.at(i, 1) = singular.at(1, i) = 0;
  EXPECT_THAT(message(singular), HasSubstr("singular"));
  Dense skew = tridiagonal(3, 2);
  skew.at(0, 1) = 5;
  EXPECT_THAT(message(skew), HasSubstr("a symmetric matrix is expected; entries (0, 1) and (1, 0)"));
  Dense bad = tridiagonal(3, 2);
  bad.at(1, 1) = std::numeric_limits<double>::infinity();
  EXPECT_THAT(message(bad), HasSubstr("the number inf"));
  EXPECT_THAT(message(random_dense(3, 4, 1, 0, 1)), HasSubstr("square"));

  const SparseMatrix a = sparse(tridiagonal(5, 3));
  DirectSolver solver(a, Factorisation::llt);
  Buffer<double> x = on_device(Numbers(5)), b = on_device(Numbers(5, 1));
  EXPECT_THAT(message_of<UserError>([&] { solver.factor(sparse(tridiagonal(6, 3))); }), HasSubstr("the pattern of"));
  EXPECT_THAT(message_of<UserError>([&] { solver.factor(sparse(negative)); }), HasSubstr("not positive definite"));
  EXPECT_THAT(message_of<UserError>([&] { solver.solve(b, x); }), HasSubstr("the last factor() failed"));
  solver.factor(a);
  EXPECT_TRUE(solver.solve(b, x).converged());
  EXPECT_THAT(message_of<UserError>([&] { solver.solve(b, b); }), HasSubstr("apart from each other"));
  DirectSolver nothing(sparse(Dense(0, 0)));
  EXPECT_TRUE(nothing.solve(on_device({}), on_device({})).converged());
}

}  // namespace
}  // namespace samite::test
