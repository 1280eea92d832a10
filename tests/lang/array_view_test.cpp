// Rows and slices of arrays as values in a kernel: functions take them in place of a whole array.

#include "samite/jit/gradient_check.h"
#include "samite/samite.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

#include <numeric>

namespace samite {
namespace {

using test::recorded;
using ::testing::HasSubstr;

const Device view_device = test::device();

Double sum_of_squares(const Array<const double, 1> &values) {
  Double sum = 0;
  for (Int k : range(values.extent(0))) sum += values(k) * values(k);
  return sum;
}
void scale(const Array<double, 1> &values, const Double &factor) {
  for (Int k : range(values.extent(0))) values(k) *= factor;
}

TEST(ArrayView, NamesTheElementsOfTheWholeArray) {
  EXPECT_EQ(recorded([](Array<float, 2> a, Int i, Int j) { a.row(i)(j) = a.column(j)(3); }),
            "%0: f32 = load @p0[3:i64, @p2]; store @p0[@p1, @p2] = %0");
  EXPECT_EQ(recorded([](Array<float, 3> a, Int i) { a.fixed<1>(i).row(2)(0) = a.row(2).column(0)(i); }),
            "%0: f32 = load @p0[2:i64, @p1, 0:i64]; store @p0[2:i64, @p1, 0:i64] = %0");
  EXPECT_EQ(recorded([](Array<float, 1> a, Int i) { a.slice(0, 2, 7)(i) = 1; }),
            "%0: i32 = add @p1, 2; store @p0[%0] = 1.0");
}

TEST(ArrayView, StaysWhereItsIndicesWere) {
  EXPECT_EQ(recorded([](Array<float, 2> a, Int i) {
              auto row = a.row(i);
              i += 1;
              row(i) = 2;
            }),
            "%0: i32 = add @p1, 1; store @p0[@p1, %0] = 2.0");
}

TEST(ArrayView, HasTheExtentsOfItsDimensions) {
  EXPECT_EQ(recorded([](Array<int, 3> a, Array<int, 1> out, Int i) {
              out(0) = a.row(i).extent(1);
              out(1) = a.fixed<2>(i).extent(0);
              out(2) = a.slice(1, i, 9).extent(1);
              out(3) = a.slice(1, 4, 9).slice(1, 1, 3).extent(1);
            }),
            "%0: i32 = extent @p0, 2; store @p1[0:i64] = %0; %1: i32 = extent @p0, 0; store @p1[1:i64] = %1; "
            "%2: i32 = sub 9, @p2; store @p1[2:i64] = %2; store @p1[3:i64] = 2");
}

TEST(ArrayView, IsAnArgumentOfAFunction) {
  Kernel kernel{"rows", [](Array<double, 1> sums, Array<double, 2> a) {
                  Int i = thread_index();
                  sums(i) = sum_of_squares(a.row(i)) + 100 * sum_of_squares(a.row(i).slice(0, 1, a.extent(1)));
                  scale(a.row(i).slice(0, i, i + 2), 10);
                }};
  Buffer<double> sums{view_device, {2}}, a{view_device, {2, 3}, {1, 2, 3, 4, 5, 6}};
  kernel.launch({2}, sums, a);
  EXPECT_EQ(sums.to_vector(), (std::vector<double>{14 + 1300, 77 + 6100}));
  EXPECT_EQ(a.to_vector(), (std::vector<double>{10, 20, 3, 4, 50, 60}));
}

TEST(ArrayView, OfVectorsAndThroughIndices) {
  Kernel kernel{"views", [](Array<Vec2d, 2> out, Array<const Vec2d, 2> in, Array<const std::int32_t, 1> order) {
                  Int i = thread_index();
                  auto row = in.row(i);
                  auto picked = indexed(row, order);
                  for (Int k : range(order.extent(0))) out.column(k)(i) = picked(k) * 2;
                  out.row(i)(0).x() += 1;
                }};
  Buffer<double> out{view_device, {2, 2, 2}}, in{view_device, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  Buffer<std::int32_t> order{view_device, {2}, {1, 0}};
  kernel.launch({2}, out, in, order);
  EXPECT_EQ(out.to_vector(), (std::vector<double>{7, 8, 2, 4, 15, 16, 10, 12}));
}

TEST(ArrayView, HasDerivatives) {
  Kernel kernel{"derivatives", [](Array<double, 1> y, Array<const double, 2> x) {
                  Int i = thread_index();
                  Array<const double, 1> row = x.row(i);
                  y(i) = sum_of_squares(row) * row(0) + sum_of_squares(x.column(i)) * sin(x.slice(0, 1, 3)(i, 0));
                }};
  std::vector<double> numbers(9);
  for (int k = 0; k < 9; ++k) numbers[static_cast<std::size_t>(k)] = std::sin(1.7 * k);
  Buffer<double> y{view_device, {2}, Gradient::tracked}, x{view_device, {3, 3}, numbers, Gradient::tracked};
  GradientReport report = gradcheck(kernel, {2}, y, x);
  EXPECT_TRUE(report.passed) << report;

  x.gradient().fill(1);
  kernel.launch({2}, {.direction = Direction::tangent}, y, x);
  const double step = 1e-6;
  for (std::int64_t i = 0; i < 2; ++i) {
    double values[2];
    for (int side : {0, 1}) {
      auto at = [&](std::int64_t r, std::int64_t c) {
        return numbers[static_cast<std::size_t>(3 * r + c)] + (side == 0 ? -step : step);
      };
      double row = 0, column = 0;
      for (std::int64_t k = 0; k < 3; ++k) row += at(i, k) * at(i, k), column += at(k, i) * at(k, i);
      values[side] = row * at(i, 0) + column * std::sin(at(1 + i, 0));
    }
    EXPECT_NEAR(y.gradient().at(i), (values[1] - values[0]) / (2 * step), 1e-8);
  }
}

TEST(ArrayView, IsRefusedWhereAWholeArrayIsNeeded) {
  EXPECT_THAT(message_of<UserError>([] {
                TileKernel kernel{"tiles",
                                  [](Array<float, 2> a) { tile::store(a.row(0), {0}, tile::zeros<float>({4})); }};
              }),
              HasSubstr("a whole array is needed here, and a row or slice of one is given"));
  EXPECT_THAT(message_of<UserError>([] { test::captured([](Array<float, 2> a) { a.slice(2, 0, 1); }); }),
              HasSubstr("slice(2, …) of an array of rank 2; dimensions are 0 to 1"));
}

// Debug mode reports an index of a view that is outside of the array.
TEST(ArrayView, OutsideOfTheArrayIsFoundByDebugMode) {
  Kernel kernel{"outside", {"a"}, [](Array<float, 2> a) { a.row(thread_index())(5) = 1; }};
  Buffer<float> a{view_device, {1, 3}};
  EXPECT_THAT(message_of<UserError>([&] { kernel.launch({1}, {.debug = true}, a); }),
              HasSubstr("index 5 is outside of dimension 1 of array 'a', whose extent is 3"));
}

}  // namespace
}  // namespace samite
