#include "samite/distributed.h"
#include "samite/samite.h"
#include "samite/solve.h"

#include "tests/distributed/ranks.h"

#include <gmock/gmock.h>

#include <cmath>
#include <mutex>
#include <random>

namespace samite::test::systems {
namespace {

using solvers::SolveReport;
using testing::AllOf;
using testing::DoubleNear;
using testing::Each;
using testing::HasSubstr;
using testing::Pointwise;

using Numbers = std::vector<double>;

// The whole system: diagonally dominant, and positive definite if it is symmetric.
struct Whole {
  std::int64_t size;
  std::vector<std::int64_t> rows, columns;
  Numbers values, b, weights;

  Whole(std::int64_t size, bool symmetric, unsigned seed = 1) : size(size) {
    std::mt19937 random(seed);
    const auto number = [&] { return std::uniform_real_distribution<double>(-1, 1)(random); };
    const auto add = [&](std::int64_t row, std::int64_t column, double value) {
      rows.push_back(row), columns.push_back(column), values.push_back(value);
    };
    for (std::int64_t row = 0; row < size; ++row) {
      add(row, row, 5 + number());
      for (int k = 0; k < 3; ++k) {
        const auto column = static_cast<std::int64_t>(random() % static_cast<unsigned>(size));
        const double value = number();
        add(row, column, value);
        if (symmetric) add(column, row, value);
      }
      b.push_back(number()), weights.push_back(number());
    }
  }
};

// This rank's part of a Whole with unevenly distributed rows: the last rank but one has none.
struct Part {
  std::int64_t begin, count;
  std::vector<std::size_t> triplets;
  Buffer<std::int64_t> rows, columns;
  Buffer<double> values;

  Part(const Communicator &ranks, const Whole &whole) {
    const int size = ranks.size();
    const auto cut = [&](int rank) {
      if (rank == size) return whole.size;
      const int before = size > 2 && rank == size - 1 ? rank - 1 : rank;
      return whole.size * before * (before + 1) / (size * (size + 1));
    };
    begin = cut(ranks.rank()), count = cut(ranks.rank() + 1) - begin;
    std::vector<std::int64_t> own_rows, own_columns;
    Numbers own_values;
    for (std::size_t i = 0; i < whole.rows.size(); ++i)
      if (whole.rows[i] >= begin && whole.rows[i] < begin + count) {
        triplets.push_back(i);
        own_rows.push_back(whole.rows[i]), own_columns.push_back(whole.columns[i]);
        own_values.push_back(whole.values[i]);
      }
    const Device device = ranks.device();
    rows = {device, {own_rows.size()}, own_rows}, columns = {device, {own_rows.size()}, own_columns};
    values = {device, {own_values.size()}, own_values, Gradient::tracked};
  }

  Buffer<double> of(const Numbers &vector, Gradient gradient = Gradient::untracked) const {
    const Numbers own(vector.begin() + begin, vector.begin() + begin + count);
    return {Device::cpu(), {count}, own, gradient};
  }
};

struct Outcome {
  Numbers result, b_gradient, values_gradient;
  std::int64_t iterations = 0;
};

// Runs `work(a, b, x)` on a tape of each rank; d (weights * x) / d b and d values, glued together.
using Work = std::function<std::int64_t(const Communicator &ranks, const DistributedMatrix &a, const Buffer<double> &b,
                                        const Buffer<double> &x)>;
Outcome outcome_of(int ranks, const Whole &whole, const Work &work) {
  const auto size = static_cast<std::size_t>(whole.size);
  Outcome all{Numbers(size), Numbers(size), Numbers(whole.values.size())};
  std::mutex mutex;
  const auto errors = errors_of_ranks(ranks, [&](const Communicator &rank) {
    const Part part(rank, whole);
    Tape tape;
    const Buffer<double> b = part.of(whole.b, Gradient::tracked), x(rank.device(), {part.count}, Gradient::tracked);
    std::int64_t iterations = 0;
    tape.record([&] {
      const DistributedMatrix a{rank, part.count, part.rows, part.columns, part.values};
      iterations = work(rank, a, b, x);
    });
    tape.backward({{x, part.of(whole.weights)}});
    const std::lock_guard lock(mutex);
    all.iterations = iterations;
    std::ranges::copy(x.to_vector(), all.result.begin() + part.begin);
    std::ranges::copy(Buffer<double>(b.gradient()).to_vector(), all.b_gradient.begin() + part.begin);
    const Numbers gradient = Buffer<double>(part.values.gradient()).to_vector();
    for (std::size_t i = 0; i < gradient.size(); ++i) all.values_gradient[part.triplets[i]] = gradient[i];
  });
  EXPECT_THAT(errors, Each(""));
  return all;
}

void expect_same(const Outcome &some, const Outcome &one, double tolerance) {
  EXPECT_THAT(some.result, Pointwise(DoubleNear(tolerance), one.result));
  EXPECT_THAT(some.b_gradient, Pointwise(DoubleNear(tolerance), one.b_gradient));
  EXPECT_THAT(some.values_gradient, Pointwise(DoubleNear(tolerance), one.values_gradient));
}

// The same by one solver of one rank, without communicators.
Outcome of_one(
    const Whole &whole,
    const std::function<void(const solvers::SparseMatrix &, const Buffer<double> &, const Buffer<double> &)> &work) {
  const Part part(Communicator::of_threads(1)[0], whole);
  std::vector<std::int32_t> rows(whole.rows.begin(), whole.rows.end()),
      columns(whole.columns.begin(), whole.columns.end());
  const Device cpu = Device::cpu();
  const auto count = static_cast<std::int64_t>(rows.size());
  const solvers::Assembly assembly(whole.size, whole.size, {cpu, {count}, rows}, {cpu, {count}, columns});
  const Buffer<double> b = part.of(whole.b, Gradient::tracked), x(cpu, {whole.size}, Gradient::tracked);
  Tape tape;
  tape.record([&] { work(assembly.assemble(part.values), b, x); });
  tape.backward({{x, part.of(whole.weights)}});
  return {x.to_vector(), Buffer<double>(b.gradient()).to_vector(), Buffer<double>(part.values.gradient()).to_vector()};
}

class DistributedSystem : public testing::TestWithParam<int> {};

TEST_P(DistributedSystem, Products) {
  const Whole whole(41, false);
  expect_same(
      outcome_of(GetParam(), whole,
                 [](const auto &, const auto &a, const auto &b, const auto &x) { return multiply(a, b, x), 0; }),
      of_one(whole, [](const auto &a, const auto &b, const auto &x) { multiply(a, b, x); }), 1e-13);
  expect_same(outcome_of(GetParam(), whole,
                         [](const auto &, const auto &a, const auto &b, const auto &x) {
                           return multiply_transposed(a, b, x), 0;
                         }),
              of_one(whole, [](const auto &a, const auto &b, const auto &x) { multiply_transposed(a, b, x); }), 1e-13);
}

TEST_P(DistributedSystem, ConjugateGradients) {
  const Whole whole(60, true, 3);
  const Outcome some = outcome_of(GetParam(), whole, [](const auto &rank, const auto &a, const auto &b, const auto &x) {
    const SolveReport report = conjugate_gradients(
        a.linear_operator(), b, x,
        {.tolerance = 1e-13, .preconditioner = jacobi(a.own_block()), .sum_over_ranks = sum_over(rank)});
    EXPECT_TRUE(report.converged()) << report;
    return report.iterations;
  });
  std::int64_t iterations = 0;
  expect_same(some,
              of_one(whole,
                     [&](const auto &a, const auto &b, const auto &x) {
                       iterations =
                           conjugate_gradients(a, b, x, {.tolerance = 1e-13, .preconditioner = jacobi(a)}).iterations;
                     }),
              1e-11);
  EXPECT_NEAR(static_cast<double>(some.iterations), static_cast<double>(iterations), 2);
}

TEST_P(DistributedSystem, OtherSolvers) {
  for (const auto solver : {solvers::minres, solvers::bicgstab, solvers::gmres}) {
    const Whole whole(30, solver == solvers::minres, 4);
    const Outcome some =
        outcome_of(GetParam(), whole, [&](const auto &rank, const auto &a, const auto &b, const auto &x) {
          const SolveReport report =
              solver(a.linear_operator(), b, x, {.tolerance = 1e-12, .restart = 100, .sum_over_ranks = sum_over(rank)},
                     std::source_location::current());
          EXPECT_TRUE(report.converged()) << report;
          return report.iterations;
        });
    expect_same(some,
                of_one(whole,
                       [&](const auto &a, const auto &b, const auto &x) {
                         solver(a, b, x, {.tolerance = 1e-12, .restart = 100}, std::source_location::current());
                       }),
                1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, DistributedSystem, testing::Values(1, 2, 3, 5));

TEST(DistributedMatrix, AssembledAgain) {
  EXPECT_THAT(errors_of_ranks(2,
                              [](const Communicator &rank) {
                                const Whole whole(11, false);
                                const Part part(rank, whole);
                                DistributedMatrix a{rank, part.count, part.rows, part.columns, part.values};
                                const Buffer<double> x = part.of(whole.b), y(rank.device(), {part.count}),
                                                     z(rank.device(), {part.count});
                                multiply(a, x, y);
                                Numbers twice = part.values.to_vector();
                                for (double &value : twice) value *= 2;
                                a.assemble(Buffer<double>(rank.device(), {twice.size()}, twice));
                                multiply(a, x, z);
                                const Numbers once = y.to_vector();
                                for (std::size_t i = 0; i < once.size(); ++i)
                                  EXPECT_DOUBLE_EQ(z.to_vector()[i], 2 * once[i]);
                              }),
              Each(""));
}

TEST(DistributedMatrix, RefusesOnAllRanks) {
  const auto errors = [](const auto &rows, const auto &columns) {
    return errors_of_ranks(2, [&](const Communicator &rank) {
      const auto r = static_cast<std::size_t>(rank.rank());
      const Device cpu = Device::cpu();
      DistributedMatrix{rank, 3, Buffer<std::int64_t>(cpu, {1}, {rows[r]}),
                        Buffer<std::int64_t>(cpu, {1}, {columns[r]}), Buffer<double>(cpu, {1}, {1.0})};
    });
  };
  using Two = std::vector<std::int64_t>;
  EXPECT_THAT(errors(Two{0, 2}, Two{0, 0}),
              testing::ElementsAre(HasSubstr("rank 1 has failed"),
                                   HasSubstr("triplet 0 is in row 2, and this rank has rows 3 to 5")));
  EXPECT_THAT(errors(Two{0, 3}, Two{6, -1}),
              testing::ElementsAre(HasSubstr("column 6, and the matrix has columns 0 to 5"), HasSubstr("column -1")));
}

TEST(DistributedMatrix, RefusesVectorsThatDoNotFit) {
  EXPECT_THAT(errors_of_ranks(2,
                              [](const Communicator &rank) {
                                const Whole whole(10, false);
                                const Part part(rank, whole);
                                const DistributedMatrix a{rank, part.count, part.rows, part.columns, part.values};
                                multiply(a, Buffer<double>(rank.device(), {10}), part.of(whole.b));
                              }),
              Each(AllOf(HasSubstr("this rank's parts of x and y are"), HasSubstr("sparse_matrix_test.cpp"))));
}

}  // namespace
}  // namespace samite::test::systems
