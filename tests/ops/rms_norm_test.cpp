// RMS norm of rows that a tile holds and of longer ones, and its gradients, against double.
#include "samite/ops/rms_norm.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

struct RmsNorm {
  std::vector<double> y, of_x, of_weight;

  RmsNorm(const Matrix &x, const std::vector<double> &weight, const Matrix &cotangent, double epsilon)
      : of_weight(weight.size(), 0) {
    const auto n = static_cast<double>(x.columns);
    for (std::int64_t i = 0; i < x.rows; ++i) {
      double squares = 0, along = 0;
      for (std::int64_t j = 0; j < x.columns; ++j) squares += x(i, j) * x(i, j) / n;
      const double inverse = 1 / std::sqrt(squares + epsilon);
      const auto w = [&](std::int64_t j) { return weight[static_cast<std::size_t>(j)]; };
      for (std::int64_t j = 0; j < x.columns; ++j) along += cotangent(i, j) * w(j) * x(i, j) * inverse / n;
      for (std::int64_t j = 0; j < x.columns; ++j) {
        const double normal = x(i, j) * inverse;
        y.push_back(normal * w(j));
        of_x.push_back((cotangent(i, j) * w(j) - normal * along) * inverse);
        of_weight[static_cast<std::size_t>(j)] += cotangent(i, j) * normal;
      }
    }
  }
};

template <class T, class S>
void check_rms_norm(std::int64_t rows, std::int64_t columns, double tolerance, double epsilon = 1e-3) {
  SCOPED_TRACE(std::to_string(rows) + " by " + std::to_string(columns));
  const Matrix values(rows, columns, 1), cotangents(rows, columns, 2);
  const std::vector<double> weights = numbers(columns, 3), ones(weights.size(), 1);
  const auto x = buffer<T>(values.extents(), values.values, Gradient::tracked),
             x_alone = buffer<T>(values.extents(), values.values, Gradient::tracked);
  const auto weight = buffer<S>({columns}, weights, Gradient::tracked);
  const auto y = poisoned<T>(values.extents(), Gradient::tracked),
             y_alone = poisoned<T>(values.extents(), Gradient::tracked);
  const auto cotangent = buffer<T>(values.extents(), cotangents.values);
  x.gradient().fill(T(1));  // it is added to
  Tape tape;
  tape.record([&] {
    ops::rms_norm(x, weight, y, {.epsilon = epsilon});
    ops::rms_norm(x_alone, y_alone, {.epsilon = epsilon});
  });
  EXPECT_THAT(tape.to_string(), HasSubstr("1: rms_norm"));
  tape.backward({{y, cotangent}, {y_alone, cotangent}});
  RmsNorm expected(values, weights, cotangents, epsilon);
  const RmsNorm alone(values, ones, cotangents, epsilon);
  expect_near(y, expected.y, tolerance);
  expect_near(y_alone, alone.y, tolerance);
  for (double &gradient : expected.of_x) gradient += 1;
  expect_near(x.gradient(), expected.of_x, tolerance);
  expect_near(x_alone.gradient(), alone.of_x, tolerance);
  const double of_sums = (sizeof(T) == 2 ? 1e-4 : tolerance) * static_cast<double>(rows);
  expect_near(weight.gradient(), expected.of_weight, of_sums);
  EXPECT_EQ(y.gradient().to_vector(), std::vector<T>(cotangents.values.size(), T(0)));

  const auto x_gradient = poisoned<T>(values.extents()), x_gradient_alone = poisoned<T>(values.extents());
  const auto weight_gradient = buffer<S>({columns}, ones);
  ops::rms_norm_adjoint(x, weight, cotangent, x_gradient, weight_gradient, {.epsilon = epsilon});
  ops::rms_norm_adjoint(x, cotangent, x_gradient_alone, {.epsilon = epsilon});
  for (double &gradient : expected.of_x) gradient -= 1;
  for (double &gradient : expected.of_weight) gradient += 1;
  expect_near(x_gradient, expected.of_x, tolerance);
  expect_near(x_gradient_alone, alone.of_x, tolerance);
  expect_near(weight_gradient, expected.of_weight, of_sums);
}

TEST(RmsNorm, OfRowsOfAnyLength) {
  for (const std::int64_t columns : {1, 100, 700}) check_rms_norm<double, double>(5, columns, 1e-11);
  check_rms_norm<double, double>(130, 40, 1e-11, 0);
}

TEST(RmsNorm, OfRowsThatAreGoneOverInParts) { check_rms_norm<double, double>(2, 8200, 1e-11); }

TEST(RmsNorm, Types) {
  check_rms_norm<float, float>(3, 257, 1e-5);
  check_rms_norm<half, float>(3, 70, 4e-3);
  check_rms_norm<bfloat16, float>(3, 70, 3e-2);
}

TEST(RmsNorm, InPlaceAndOfAView) {
  const Matrix values(6, 50, 3), cotangents(6, 50, 4);
  const std::vector<double> ones(50, 1);
  const RmsNorm expected(values, ones, cotangents, 1e-6);
  const auto x = buffer<double>(values.extents(), values.values, Gradient::tracked);
  Tape tape;
  tape.record([&] { ops::rms_norm(x, x); });
  expect_near(x, expected.y, 1e-12);
  tape.backward({{x, buffer<double>(values.extents(), cotangents.values)}});
  expect_near(x.gradient(), expected.of_x, 1e-11);

  const auto turned_x = buffer<double>({50, 6}, turned(values).values), y = poisoned<double>(values.extents());
  ops::rms_norm(turned_x.transpose(), y);
  expect_near(y, expected.y, 1e-12);
}

TEST(RmsNorm, NamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {3, 4}), row(device(), {4});
  const Buffer<double> wide(device(), {4});
  EXPECT_THAT(message_of<UserError>([&] { ops::rms_norm(x, row, Buffer<float>(device(), {4, 3})); }),
              HasSubstr("rms_norm: expected two matrices of the same extents and type"));
  EXPECT_THAT(message_of<UserError>([&] { ops::rms_norm(x, wide, x); }),
              HasSubstr("rms_norm: expected a weight of 4 numbers of float, one for each column of x"));
  EXPECT_THAT(message_of<UserError>([&] { ops::rms_norm_adjoint(x, row, x, x.clone(), wide); }),
              HasSubstr("rms_norm_adjoint: expected a gradient of the weight of 4 numbers of float"));
  EXPECT_THAT(message_of<UserError>([&] { ops::rms_norm(x, x.slice(0, 0, 1).reshape({4}), x); }),
              HasSubstr("shares memory with argument 1 ('weight')"));
  const Buffer<std::int32_t> integers(device(), {3, 4});
  EXPECT_THAT(message_of<UserError>([&] { ops::rms_norm(integers, integers); }),
              HasSubstr("expected elements of half, bfloat16, float or double; int32_t given: convert them"));
}

}  // namespace
}  // namespace samite::test
