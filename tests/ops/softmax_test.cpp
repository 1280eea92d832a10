// Softmax of rows that a tile holds and of longer ones, and its gradient, against double.
#include "samite/ops/softmax.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

Matrix softmax(const Matrix &x) {
  std::vector<double> largest, sum;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    largest.push_back(x(i, 0));
    for (std::int64_t j = 0; j < x.columns; ++j) largest.back() = std::max(largest.back(), x(i, j));
    sum.push_back(0);
    for (std::int64_t j = 0; j < x.columns; ++j) sum.back() += std::exp(x(i, j) - largest.back());
  }
  return Matrix(x.rows, x.columns, [&](std::int64_t i, std::int64_t j) {
    return std::exp(x(i, j) - largest[static_cast<std::size_t>(i)]) / sum[static_cast<std::size_t>(i)];
  });
}

template <class T>
void check_softmax(std::int64_t rows, std::int64_t columns, double tolerance, double offset = 0) {
  SCOPED_TRACE(std::to_string(rows) + " by " + std::to_string(columns));
  const Matrix plain(rows, columns, 1);
  const Matrix values(rows, columns, [&](std::int64_t i, std::int64_t j) { return plain(i, j) * 4 + offset; });
  const auto x = buffer<T>(values.extents(), values.values, Gradient::tracked);
  const auto y = poisoned<T>(values.extents(), Gradient::tracked);
  Tape tape;
  tape.record([&] { ops::softmax(x, y); });
  const Matrix expected = softmax(values), weights(rows, columns, 2);
  expect_near(y, expected.values, tolerance);

  tape.backward({{y, buffer<T>(values.extents(), weights.values)}});
  std::vector<double> means;
  for (std::int64_t i = 0; i < rows; ++i) {
    means.push_back(0);
    for (std::int64_t j = 0; j < columns; ++j) means.back() += expected(i, j) * weights(i, j);
  }
  const Matrix gradient(rows, columns, [&](std::int64_t i, std::int64_t j) {
    return expected(i, j) * (weights(i, j) - means[static_cast<std::size_t>(i)]);
  });
  expect_near(x.gradient(), gradient.values, tolerance);
  const auto by_adjoint = poisoned<T>(values.extents());
  ops::softmax_adjoint(buffer<T>(values.extents(), expected.values), buffer<T>(values.extents(), weights.values),
                       by_adjoint);
  expect_near(by_adjoint, gradient.values, tolerance);
}

TEST(Softmax, OfRowsOfAnyLength) {
  for (const std::int64_t columns : {1, 7, 32, 100, 700}) check_softmax<double>(5, columns, 1e-12);
  check_softmax<double>(130, 40, 1e-12);
}

TEST(Softmax, OfRowsThatAreGoneOverInParts) {
  for (const std::int64_t columns : {8200, 131073}) check_softmax<double>(2, columns, 1e-12);
}

TEST(Softmax, OfRowsAroundTheLengthsOfTiles) {
  for (const std::int64_t columns : {16, 17, 255, 257, 513, 2049, 8191}) check_softmax<float>(3, columns, 1e-5);
  check_softmax<half>(2, 4097, 1e-3);
}

TEST(Softmax, Types) {
  check_softmax<float>(3, 70, 1e-6);
  check_softmax<half>(3, 70, 1e-3);
  check_softmax<bfloat16>(3, 70, 1e-2);
}

TEST(Softmax, OfLargeNumbersAndOfThoseBelowZero) {
  check_softmax<float>(3, 70, 1e-6, 1000);
  check_softmax<float>(3, 70, 1e-6, -1000);
}

TEST(Softmax, OnATapeAddsItsOwnAdjoint) {
  const Matrix values(6, 50, 3), cotangents(6, 50, 4);
  const auto x = buffer<double>(values.extents(), values.values, Gradient::tracked);
  const auto y = poisoned<double>(values.extents(), Gradient::tracked);
  const auto by_adjoint = buffer<double>(values.extents(), std::vector<double>(300, 1));
  x.gradient().fill(1);
  Tape tape;
  tape.record([&] { ops::softmax(x, y); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: softmax"));
  const auto cotangent = buffer<double>(values.extents(), cotangents.values);
  tape.backward({{y, cotangent}});
  ops::softmax_adjoint(y, cotangent, by_adjoint, {.add_gradients = true});
  EXPECT_EQ(x.gradient().to_vector(), by_adjoint.to_vector());
  EXPECT_EQ(y.gradient().to_vector(), std::vector<double>(300, 0));
}

// The derived adjoint reads x, which is overwritten: the tape keeps it.
TEST(Softmax, InPlaceOnATape) {
  const Matrix values(6, 50, 3), cotangents(6, 50, 4);
  const auto x = buffer<double>(values.extents(), values.values, Gradient::tracked);
  const auto apart = buffer<double>(values.extents(), values.values, Gradient::tracked);
  const auto y = poisoned<double>(values.extents(), Gradient::tracked);
  const auto cotangent = buffer<double>(values.extents(), cotangents.values);
  Tape in_place, ordinary;
  in_place.record([&] { ops::softmax(x, x); });
  in_place.backward({{x, cotangent}});
  ordinary.record([&] { ops::softmax(apart, y); });
  ordinary.backward({{y, cotangent}});
  const std::vector<double> expected = apart.gradient().to_vector();
  expect_near(x.gradient(), expected, 1e-12);
}

TEST(Softmax, OfAView) {
  const Matrix values(6, 50, 3);
  const auto x = buffer<float>(values.extents(), values.values);
  const auto y = poisoned<float>({50, 6});
  ops::softmax(x.transpose(), y);
  expect_near(y, softmax(turned(values)).values, 1e-6);
}

TEST(Softmax, NamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {3, 4});
  EXPECT_THAT(message_of<UserError>([&] { ops::softmax(x, Buffer<float>(device(), {4, 3})); }),
              HasSubstr("softmax: expected two matrices of the same extents and type"));
  const Buffer<std::int32_t> integers(device(), {3, 4});
  EXPECT_THAT(message_of<UserError>([&] { ops::softmax(integers, integers); }),
              HasSubstr("expected elements of half, bfloat16, float or double; int32_t given: convert them"));
}

}  // namespace
}  // namespace samite::test
