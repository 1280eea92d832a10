// Many systems of one pattern against elimination, and their gradients against differences of it.
#include "samite/solve/many_systems.h"

#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using namespace systems;
using solvers::conjugate_gradients_of_many;
using solvers::ManySolvesReport;
using solvers::SparseMatrix;
using testing::HasSubstr;

constexpr std::size_t rows = 12, systems_count = 37;

// One pattern, and each system with a diagonal of its own.
Dense system_number(std::size_t s) {
  Dense a = symmetric(random_dense(rows, rows, 0.2, 0, 1));
  for (std::size_t i = 0; i < rows; ++i) a.at(i, i) = 3 + 0.1 * static_cast<double>((7 * s + i) % 11);
  return a;
}

struct SystemsOfOnePattern {
  SparseMatrix pattern = sparse(system_number(0));
  Numbers values, b;

  SystemsOfOnePattern() : b(random_numbers(rows * systems_count, 2)) {
    values.resize(static_cast<std::size_t>(pattern.entries()) * systems_count);
    for (std::size_t s = 0; s < systems_count; ++s) {
      const Numbers own = Buffer<double>(sparse(system_number(s)).values()).to_vector();
      for (std::size_t k = 0; k < own.size(); ++k) values[k * systems_count + s] = own[k];
    }
  }
  Buffer<double> on(const Numbers &numbers, Gradient gradient = Gradient::tracked) const {
    return Buffer<double>(device(), {numbers.size() / systems_count, systems_count}, numbers, gradient);
  }
  Numbers right(std::size_t s) const {
    Numbers own(rows);
    for (std::size_t i = 0; i < rows; ++i) own[i] = b[i * systems_count + s];
    return own;
  }
};

TEST(ManySystems, EachHasItsSolution) {
  const SystemsOfOnePattern many;
  const Buffer<double> x = many.on(Numbers(rows * systems_count));
  const ManySolvesReport report =
      conjugate_gradients_of_many(many.pattern, many.on(many.values), many.on(many.b), x, {.tolerance = 1e-12});
  EXPECT_TRUE(report.converged()) << report.to_string();
  EXPECT_EQ(report.iterations.size(), systems_count);
  const Numbers actual = x.to_vector();
  for (std::size_t s = 0; s < systems_count; ++s) {
    const Numbers expected = solution(system_number(s), many.right(s));
    for (std::size_t i = 0; i < rows; ++i) ASSERT_NEAR(actual[i * systems_count + s], expected[i], 1e-10);
  }
}

TEST(ManySystems, GradientsMatchDifferences) {
  const SystemsOfOnePattern many;
  const Buffer<double> values = many.on(many.values), b = many.on(many.b), x = many.on(Numbers(many.b.size()));
  const Numbers weights = random_numbers(many.b.size(), 3);
  Tape tape;
  bool had_adjoint = false;
  tape.record([&] {
    conjugate_gradients_of_many(
        many.pattern, values, b, x,
        {.tolerance = 1e-13, .on_adjoint = [&](const ManySolvesReport &report) { had_adjoint = report.converged(); }});
  });
  tape.backward({{x, many.on(weights, Gradient::untracked)}});
  EXPECT_TRUE(had_adjoint);
  const std::size_t s = 5;
  const auto objective = [&](const Dense &a, const Numbers &right) {
    const Numbers x = solution(a, right);
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += weights[i * systems_count + s] * x[i];
    return sum;
  };
  constexpr double step = 1e-6;
  const Numbers by_b = b.gradient().to_vector(), by_values = values.gradient().to_vector();
  for (std::size_t i = 0; i < rows; i += 5) {
    Numbers more = many.right(s), less = many.right(s);
    more[i] += step, less[i] -= step;
    EXPECT_NEAR(by_b[i * systems_count + s],
                (objective(system_number(s), more) - objective(system_number(s), less)) / (2 * step), 1e-8);
  }
  const std::vector<std::int32_t> offsets = many.pattern.offsets().to_vector(),
                                  indices = many.pattern.indices().to_vector();
  for (std::size_t i = 0; i < rows; i += 3)
    for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); ++k) {
      Dense more = system_number(s), less = more;
      more.at(i, static_cast<std::size_t>(indices[k])) += step,
          less.at(i, static_cast<std::size_t>(indices[k])) -= step;
      EXPECT_NEAR(by_values[k * systems_count + s],
                  (objective(more, many.right(s)) - objective(less, many.right(s))) / (2 * step), 1e-8);
    }
}

TEST(ManySystems, NamesWhatHasNotConverged) {
  SystemsOfOnePattern many;
  for (std::size_t k = 0; k < static_cast<std::size_t>(many.pattern.entries()); ++k)
    many.values[k * systems_count + 3] *= -1;  // system 3 is negative definite
  const Buffer<double> values = many.on(many.values), b = many.on(many.b), x = many.on(Numbers(many.b.size()));
  Tape tape;
  ManySolvesReport report;
  tape.record([&] { report = conjugate_gradients_of_many(many.pattern, values, b, x); });
  EXPECT_THAT(report.unsolved(), testing::ElementsAre(3));
  EXPECT_THAT(report.to_string(), HasSubstr("36 of 37 systems converged; system 3 has a residual of"));
  const auto backward = [&] { tape.backward({{x, many.on(many.b, Gradient::untracked)}}); };
  EXPECT_THAT(message_of<UserError>(backward), HasSubstr("not all of the systems have converged"));
}

TEST(ManySystems, RefusesWhatDoesNotFit) {
  const SystemsOfOnePattern many;
  const Buffer<double> values = many.on(many.values), b = many.on(many.b), x = many.on(Numbers(many.b.size()));
  const auto message = [](const auto &call) { return message_of<UserError>(call); };
  EXPECT_THAT(message([&] { conjugate_gradients_of_many(many.pattern, b, b, x); }), HasSubstr("values of"));
  EXPECT_THAT(message([&] { conjugate_gradients_of_many(many.pattern, values, x, x); }),
              HasSubstr("an array of its own"));
  EXPECT_THAT(message([&] { conjugate_gradients_of_many(sparse(system_number(0), {2, 2}), values, b, x); }),
              HasSubstr("a square matrix of numbers"));
  EXPECT_THAT(message([&] { conjugate_gradients_of_many(many.pattern, values, b, x, {.iterations = -1}); }),
              HasSubstr("-1 are given"));
  EXPECT_THAT(message([&] { conjugate_gradients_of_many(sparse(Dense(rows, rows)), values, b, x); }),
              HasSubstr("a matrix without entries is singular"));
}

}  // namespace
}  // namespace samite::test
