// Products with types known at run time, with a layer's epilogue, and their gradients.
#include "samite/ops/matmul_by_type.h"
#include "samite/ops/grouped_by_type.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

double silu(double x) { return x / (1 + std::exp(-x)); }
double slope_of_silu(double x) {
  const double s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}

TEST(MatmulByType, ALayerAndItsGradients) {
  const Matrix a(5, 70, 1), b(70, 66, 2), residual(5, 66, 3), weights(5, 66, 4);
  const std::vector<double> bias = numbers(66, 5);
  const auto left = buffer<double>(a.extents(), a.values, Gradient::tracked);
  const auto right = buffer<double>(b.extents(), b.values, Gradient::tracked);
  const auto biases = buffer<double>({66}, bias, Gradient::tracked);
  const auto residuals = buffer<double>({5, 66}, residual.values, Gradient::tracked);
  const auto c = poisoned<double>({5, 66}, Gradient::tracked);
  const ops::PlannedLaunch planned = ops::matmul_launch(
      {ScalarType::Float64, {ScalarType::Float64, ops::Activation::silu, true, true}}, {1, 5, 66, 70}, {});
  Tape tape;
  tape.record([&] { ops::detail::launch_planned(planned, {{&left}, {&right}, {&biases}, {&residuals}, {&c}}, {}); });
  const Matrix sums = product(a, b);
  const auto before = [&](std::int64_t i, std::int64_t j) { return sums(i, j) + bias[static_cast<std::size_t>(j)]; };
  const Matrix expected(5, 66, [&](std::int64_t i, std::int64_t j) { return silu(before(i, j)) + residual(i, j); });
  expect_near(c, expected.values, 1e-10);

  tape.backward({{c, buffer<double>({5, 66}, weights.values)}});
  const Matrix inner(5, 66,
                     [&](std::int64_t i, std::int64_t j) { return weights(i, j) * slope_of_silu(before(i, j)); });
  std::vector<double> of_bias(66, 0);
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 66; ++j) of_bias[static_cast<std::size_t>(j)] += inner(i, j);
  expect_near(left.gradient(), product(inner, turned(b)).values, 1e-10);
  expect_near(right.gradient(), product(turned(a), inner).values, 1e-10);
  expect_near(biases.gradient(), of_bias, 1e-10);
  expect_near(residuals.gradient(), weights.values, 1e-12);
}

TEST(MatmulByType, NamesOfActivations) {
  EXPECT_EQ(ops::activation_named("gelu"), ops::Activation::gelu);
  EXPECT_EQ(ops::activation_named("softplus"), std::nullopt);
}

TEST(MatmulByType, NamesTypesThatThereAreNot) {
  EXPECT_THAT(
      message_of<UserError>([] { ops::matmul_launch({ScalarType::Float32, {ScalarType::Float16}}, {1, 2, 2, 2}, {}); }),
      HasSubstr("factors of float with results of half given"));
  EXPECT_THAT(message_of<UserError>([] {
                ops::matmul_launch({ScalarType::Int8, {ScalarType::Int32, ops::Activation::relu}}, {1, 2, 2, 2}, {});
              }),
              HasSubstr("relu is for floating results; int32_t given"));
  EXPECT_THAT(message_of<UserError>([] {
                ops::scaled_matmul_launch(
                    {ScalarType::Float8E5M2, ScalarType::Float8E5M2, {}, {}, {ScalarType::Float32}}, {1, 2, 2, 2}, {});
              }),
              HasSubstr("quantise one to f8e4m3"));
  EXPECT_THAT(message_of<UserError>(
                  [] { ops::grouped_matmul_launch({ScalarType::Int8, {ScalarType::Int32}}, {1, 2, 2, 2}, {}); }),
              HasSubstr("factors of int8_t with results of int32_t given"));
  EXPECT_THAT(message_of<UserError>([] {
                ops::scaled_grouped_matmul_launch(
                    {ScalarType::Float8E5M2, ScalarType::Float8E5M2, {}, {}, {ScalarType::Float32}}, {1, 2, 2, 2}, {});
              }),
              HasSubstr("factors of f8e5m2 and f8e5m2"));
}

}  // namespace
}  // namespace samite::test
