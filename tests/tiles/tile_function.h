// Functions of one tile, compared with hand-written code: values, gradients, and second derivatives by the tangent's
// gradient.
#pragma once

#include "tests/tiles/reference.h"

namespace samite::test {

template <Scalar T>
Tile<T> flat(const Tile<T> &x) {
  return tile::reshape(x, {x.type().count()});
}

// y = function(x) for a tile x of `count` elements to which the function gives extents.
template <class T, class F>
auto tile_function(std::int64_t count, F function) {
  return TileKernel{"tile_function", {"y", "x"}, [=](Array<T, 1> y, Array<const T, 1> x) {
                      tile::store(y, {0}, flat(function(tile::load(x, {0}, {count}))));
                    }};
}

template <class T = double, class F>
void expect_values(F function, const std::vector<double> &x, const std::vector<double> &expected, double tolerance) {
  const auto count = static_cast<std::int64_t>(x.size()), results = static_cast<std::int64_t>(expected.size());
  // Elements that are not stored are unchanged, NaN in an array of floating numbers.
  auto y = poisoned<T>({results});
  tile_function<T>(count, function).launch({1}, y, buffer<T>({count}, x));
  expect_near(y, expected, tolerance);
}

template <class F>
void expect_derivatives(F function, const std::vector<double> &x, std::int64_t results) {
  const auto count = static_cast<std::int64_t>(x.size());
  auto input = buffer<double>({count}, x, Gradient::tracked);
  auto output = poisoned<double>({results}, Gradient::tracked);
  const GradientReport first = gradcheck(tile_function<double>(count, function), {1}, output, input);
  EXPECT_TRUE(first.passed) << first;
  TileKernel objective{"objective", {"sum", "x"}, [=](Array<double, 1> sum, Array<const double, 1> x) {
                         Tile<double> y = flat(function(tile::load(x, {0}, {count})));
                         sum(0) = tile::sum(y * y * (1 + 0.1 * tile::cast<double>(tile::arange(results))));
                       }};
  auto sum = poisoned<double>({1}, Gradient::tracked);
  const GradientReport second = hessian_check([&] { objective.launch({1}, sum, input); }, {input}, sum);
  EXPECT_TRUE(second.passed) << second;
}

template <class F>
void expect_function(F function, const std::vector<double> &x, const std::vector<double> &expected,
                     double tolerance = 1e-12) {
  expect_values(function, x, expected, tolerance);
  expect_derivatives(function, x, static_cast<std::int64_t>(expected.size()));
}

}  // namespace samite::test
