// Cross entropy of rows that a tile holds and of longer ones, and its gradient, against double.
#include "samite/ops/cross_entropy.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using ops::Reduction;
using testing::HasSubstr;

constexpr double ignored_target = -100;

struct CrossEntropy {
  std::vector<double> losses, row_sums, slopes;  // the gradient of each row's loss
  double counted = 0;

  CrossEntropy(const Matrix &x, const std::vector<double> &targets, double smoothing) {
    const auto n = static_cast<double>(x.columns);
    for (std::int64_t i = 0; i < x.rows; ++i) {
      const double target = targets[static_cast<std::size_t>(i)];
      const bool counts = target != ignored_target;
      double largest = x(i, 0), sum = 0, all = 0;
      for (std::int64_t j = 0; j < x.columns; ++j) largest = std::max(largest, x(i, j));
      for (std::int64_t j = 0; j < x.columns; ++j) sum += std::exp(x(i, j) - largest), all += x(i, j);
      row_sums.push_back(largest + std::log(sum));
      const double chosen = counts ? x(i, static_cast<std::int64_t>(target)) : 0;
      losses.push_back(counts ? row_sums.back() - (1 - smoothing) * chosen - smoothing * all / n : 0);
      counted += counts;
      for (std::int64_t j = 0; j < x.columns; ++j)
        slopes.push_back(counts ? std::exp(x(i, j) - row_sums.back()) - smoothing / n -
                                      (static_cast<double>(j) == target ? 1 - smoothing : 0)
                                : 0);
    }
  }
};

template <class T, class S, class I>
void check_cross_entropy(std::int64_t rows, std::int64_t classes, Reduction reduction, double smoothing,
                         double tolerance) {
  SCOPED_TRACE(std::to_string(rows) + " by " + std::to_string(classes) + ", reduction " +
               std::to_string(static_cast<int>(reduction)));
  const Matrix plain(rows, classes, 1);
  const Matrix values(rows, classes, [&](std::int64_t i, std::int64_t j) { return plain(i, j) * 4; });
  std::vector<double> targets;
  for (std::int64_t i = 0; i < rows; ++i)
    targets.push_back(i % 3 == 2 ? ignored_target : static_cast<double>(i * 7919 % classes));
  const auto logits = buffer<T>(values.extents(), values.values, Gradient::tracked);
  const auto classes_of = buffer<I>({rows}, targets);
  const std::int64_t count = reduction == Reduction::none ? rows : 1;
  const auto loss = poisoned<S>({count}, Gradient::tracked), row_sums = poisoned<S>({rows});
  const ops::CrossEntropyOptions options{.reduction = reduction, .smoothing = smoothing};
  logits.gradient().fill(T(1));  // it is added to
  Tape tape;
  tape.record([&] { ops::cross_entropy(logits, classes_of, loss, row_sums, options); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: cross_entropy"));
  const CrossEntropy expected(values, targets, smoothing);
  expect_near(row_sums, expected.row_sums, tolerance * 8);
  double total = 0;
  for (const double row : expected.losses) total += row;
  if (reduction == Reduction::none)
    expect_near(loss, expected.losses, tolerance * 8);
  else
    expect_near(loss, {reduction == Reduction::sum ? total : total / expected.counted},
                tolerance * 8 * static_cast<double>(rows));

  const std::vector<double> cotangents = numbers(count, 5);
  std::vector<double> gradient;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < classes; ++j) {
      const double given = reduction == Reduction::none  ? cotangents[static_cast<std::size_t>(i)]
                           : reduction == Reduction::sum ? cotangents[0]
                                                         : cotangents[0] / expected.counted;
      gradient.push_back(expected.slopes[static_cast<std::size_t>(i * classes + j)] * given);
    }
  const auto cotangent = buffer<S>({count}, cotangents);
  tape.backward({{loss, cotangent}});
  std::vector<double> added = gradient;
  for (double &element : added) element += 1;
  const double of_gradients = sizeof(T) == 2 ? 2e-2 : tolerance;
  expect_near(logits.gradient(), added, of_gradients);

  // Over the logits.
  ops::cross_entropy_adjoint(logits, classes_of, row_sums, cotangent, logits, options);
  expect_near(logits, gradient, of_gradients);
}

TEST(CrossEntropy, OfAnyNumberOfClasses) {
  for (const std::int64_t classes : {1, 2, 33, 700})
    check_cross_entropy<double, double, std::int32_t>(7, classes, Reduction::mean, 0, 1e-12);
  check_cross_entropy<double, double, std::int32_t>(130, 40, Reduction::sum, 0.1, 1e-12);
}

TEST(CrossEntropy, OfRowsThatAreGoneOverInParts) {
  for (const std::int64_t classes : {2049, 8200})
    check_cross_entropy<double, double, std::int64_t>(4, classes, Reduction::none, 0.1, 1e-11);
}

TEST(CrossEntropy, Types) {
  check_cross_entropy<float, float, std::int64_t>(5, 70, Reduction::mean, 0.1, 1e-6);
  check_cross_entropy<half, float, std::int32_t>(5, 70, Reduction::none, 0, 1e-6);
  check_cross_entropy<bfloat16, float, std::int64_t>(5, 70, Reduction::sum, 0.25, 1e-6);
}

TEST(CrossEntropy, MeanOfMoreRowsThanOnePart) {
  check_cross_entropy<double, double, std::int32_t>(2500, 3, Reduction::mean, 0, 1e-12);
}

TEST(CrossEntropy, InfiniteLogitsOfOtherClassesDoNotCount) {
  const double none = -std::numeric_limits<double>::infinity();
  const auto logits = buffer<double>({1, 3}, {none, 0, 0}), gradient = poisoned<double>({1, 3}),
             one = buffer<double>({1}, {1});
  const auto target = buffer<std::int32_t>({1}, {1});
  const auto loss = poisoned<double>({1}), row_sums = poisoned<double>({1});
  ops::cross_entropy(logits, target, loss, row_sums);
  expect_near(loss, {std::log(2.0)}, 1e-15);
  ops::cross_entropy_adjoint(logits, target, row_sums, one, gradient);
  expect_near(gradient, {0, -0.5, 0.5}, 1e-15);
}

TEST(CrossEntropy, ATargetThatIsNoClassIsNoNumberAndLeavesOtherRowsAlone) {
  const auto logits = buffer<float>({4, 2}, numbers(8)), gradient = poisoned<float>({4, 2});
  const auto targets = buffer<std::int32_t>({4}, {1, 2, -1, 0});
  const auto losses = poisoned<float>({4}), row_sums = poisoned<float>({4}), ones = buffer<float>({4}, {1, 1, 1, 1});
  const ops::CrossEntropyOptions options{.reduction = Reduction::none};
  ops::cross_entropy(logits, targets, losses, row_sums, options);
  ops::cross_entropy_adjoint(logits, targets, row_sums, ones, gradient, options);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::isnan(losses.at(i)), i == 1 || i == 2) << i;
    EXPECT_EQ(std::isnan(gradient.at(i, 0)), i == 1 || i == 2) << i;
  }
}

// If all rows are ignored, the mean is 0 / 0, and gradients are NaN.
TEST(CrossEntropy, OfIgnoredRows) {
  const auto logits = buffer<float>({2, 2}, numbers(4)), gradient = poisoned<float>({2, 2});
  const auto targets = buffer<std::int32_t>({2}, {5, 5});
  const auto loss = poisoned<float>({1}), row_sums = poisoned<float>({2}), one = buffer<float>({1}, {1});
  ops::cross_entropy(logits, targets, loss, row_sums, {.ignored = 5});
  EXPECT_TRUE(std::isnan(loss.at(0)));
  ops::cross_entropy(logits, targets, loss, row_sums, {.reduction = Reduction::sum, .ignored = 5});
  EXPECT_EQ(loss.at(0), 0);
  ops::cross_entropy_adjoint(logits, targets, row_sums, one, gradient, {.ignored = 5});
  EXPECT_EQ(gradient.to_vector(), std::vector<float>(4, 0));
}

// The derived adjoint, through both launches.
TEST(CrossEntropy, OfLogitsThatAreOneRowForAllTargets) {
  const auto logits = buffer<double>({1, 3}, {0.5, 1, -1}, Gradient::tracked);
  const auto targets = buffer<std::int32_t>({4}, {0, 1, 1, 2});
  const auto loss = poisoned<double>({1}, Gradient::tracked), row_sums = poisoned<double>({4});
  Tape tape;
  tape.record([&] { ops::cross_entropy(logits.broadcast({4, 3}), targets, loss, row_sums); });
  tape.backward({{loss, buffer<double>({1}, {1})}});
  const double sum = std::exp(0.5) + std::exp(1.0) + std::exp(-1.0);
  expect_near(logits.gradient(), {std::exp(0.5) / sum - 0.25, std::exp(1.0) / sum - 0.5, std::exp(-1.0) / sum - 0.25},
              1e-12);
}

TEST(CrossEntropy, NamesWhatDoesNotFit) {
  const Buffer<float> logits(device(), {3, 4}), one(device(), {1}), rows(device(), {3});
  const Buffer<std::int32_t> targets(device(), {3}), few(device(), {2});
  EXPECT_THAT(message_of<UserError>([&] { ops::cross_entropy(logits, rows, one, rows); }),
              HasSubstr("cross_entropy: expected targets of int32 or int64, the numbers of classes; Buffer<f32>(3)"));
  EXPECT_THAT(message_of<UserError>([&] { ops::cross_entropy(logits, few, one, rows); }),
              HasSubstr("expected targets of int32_t with extents (3)"));
  EXPECT_THAT(message_of<UserError>([&] { ops::cross_entropy(logits, targets, rows, rows.clone()); }),
              HasSubstr("expected a loss of float with extents (1)"));
  EXPECT_THAT(message_of<UserError>([&] { ops::cross_entropy(logits, targets, one, one.clone()); }),
              HasSubstr("expected row_sums of float with extents (3)"));
  EXPECT_THAT(message_of<UserError>([&] { ops::cross_entropy(logits, targets, one, rows, {.smoothing = 1.5}); }),
              HasSubstr("expected smoothing from 0 to 1; 1.5 given"));
  EXPECT_THAT(message_of<UserError>([&] { ops::cross_entropy(one, targets, one, rows); }),
              HasSubstr("expected a matrix of logits, a row for each target"));
  const Buffer<float> all(device(), {12});
  EXPECT_THAT(message_of<UserError>([&] { ops::cross_entropy(all.reshape({3, 4}), targets, one, all.slice(0, 0, 3)); }),
              HasSubstr("argument 3 ('row_sums') is written, and shares memory with argument 0 ('logits')"));
}

}  // namespace
}  // namespace samite::test
