// Tiles that lie in arrays with steps, or transposed; and scaled products.
#include "tests/tiles/reference.h"

namespace samite::test {
namespace {

using testing::HasSubstr;

TEST(TileView, StepsAndOrder) {
  TileKernel views{"views", {"y", "z", "x"}, [](Array<double, 2> y, Array<double, 2> z, Array<const double, 2> x) {
                     auto every_other = tile::load_view(x, {1, 0}, {3, 4}, {.steps = {2, -1}, .order = {0, 1}});
                     auto turned = tile::load_view(x, {0, 2}, {3, 4}, {.order = {1, 0}});
                     auto column = tile::load_view(x, {2, 5}, {3}, {.steps = {3}});
                     tile::store(y, {0, 0}, every_other * turned + tile::sum(column));
                     tile::store_view(z, {0, 1}, turned * turned, {.steps = {2, 1}, .order = {1, 0}});
                   }};
  const Matrix x(4, 13, 3);
  auto input = buffer<double>({4, 13}, x.values, Gradient::tracked);
  auto y = poisoned<double>({3, 4}, Gradient::tracked);
  auto z = buffer<double>({4, 6}, std::vector<double>(24, -1), Gradient::tracked);
  views.launch({1}, y, z, input);
  auto at = [&](std::int64_t i, std::int64_t j) { return i >= 0 && j >= 0 && i < 4 && j < 13 ? x(i, j) : 0.0; };
  const double sum = at(2, 5) + at(2, 8) + at(2, 11);
  expect_near(y, Matrix(3, 4, [&](auto i, auto j) { return at(1 + 2 * i, -j) * at(j, 2 + i) + sum; }).values, 1e-12);
  expect_near(z,
              Matrix(4, 6,
                     [&](auto i, auto j) {
                       if (j % 2 == 0 || (j - 1) / 2 > 2) return -1.0;
                       return at(i, 2 + (j - 1) / 2) * at(i, 2 + (j - 1) / 2);
                     })
                  .values,
              1e-12);
  const GradientReport report = gradcheck(views, {1}, y, z, input);
  EXPECT_TRUE(report.passed) << report;
}

// All along a dimension are one element, whose gradient is the sum of theirs.
TEST(TileView, AStepOfZeroRepeatsAnElement) {
  TileKernel repeated{"repeated", {"y", "x"}, [](Array<double, 2> y, Array<const double, 2> x) {
                        auto rows = tile::load_view(x, {1, 2}, {3, 4}, {.steps = {1, 0}});
                        auto columns = tile::load_view(x, {3, 9}, {3, 4}, {.steps = {0, 2}});
                        auto turned = tile::load_view(x, {2, 0}, {3, 4}, {.steps = {0, 1}, .order = {1, 0}});
                        tile::store(y, {0, 0}, rows * columns + turned);
                      }};
  const Matrix x(4, 13, 3);
  auto input = buffer<double>({4, 13}, x.values, Gradient::tracked);
  auto y = poisoned<double>({3, 4}, Gradient::tracked);
  repeated.launch({1}, y, input);
  auto at = [&](std::int64_t i, std::int64_t j) { return i < 4 && j < 13 ? x(i, j) : 0.0; };
  expect_near(y, Matrix(3, 4, [&](auto i, auto j) { return at(1 + i, 2) * at(3, 9 + 2 * j) + at(2 + j, 0); }).values,
              1e-12);
  const GradientReport report = gradcheck(repeated, {1}, y, input);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileMatMul, ScaledSum) {
  TileKernel scaled{"scaled",
                    {"c", "a", "b", "alpha"},
                    [](Array<double, 2> c, Array<const double, 2> a, Array<const double, 2> b, Double alpha) {
                      Tile<double> sum = tile::load(c, {0, 0}, {3, 4});
                      tile::matmul(alpha, tile::load(a, {0, 0}, {5, 3}), tile::load(b, {0, 0}, {5, 4}), -0.5, sum,
                                   {.a = true});
                      tile::store(c, {0, 0}, sum);
                    }};
  const Matrix a(5, 3, 1), b(5, 4, 2), c(3, 4, 3);
  auto out = buffer<double>(c.extents(), c.values, Gradient::tracked);
  auto left = buffer<double>(a.extents(), a.values, Gradient::tracked);
  auto right = buffer<double>(b.extents(), b.values, Gradient::tracked);
  scaled.launch({1}, out, left, right, 3.0);
  const Matrix turned(3, 5, [&](auto i, auto j) { return a(j, i); }), p = product(turned, b);
  expect_near(out, Matrix(3, 4, [&](auto i, auto j) { return 3 * p(i, j) - 0.5 * c(i, j); }).values, 1e-12);
  const GradientReport report = gradcheck(scaled, {1}, out, left, right, 3.0);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileViewErrors, StepsAndOrder) {
  auto refused = [](tile::View view) {
    return message_of<UserError>(
        [&] { TileKernel wrong{"wrong", [=](Array<float, 2> x) { tile::load_view(x, {0, 0}, {4, 8}, view); }}; });
  };
  EXPECT_THAT(refused({.steps = {0, 0}}), HasSubstr("a view of steps {0, 0} and order {}"));
  EXPECT_THAT(refused({.steps = {1}}), HasSubstr("for a tile of extents 4x8"));
  EXPECT_THAT(refused({.order = {1, 1}}), HasSubstr("order {1, 1}"));
  EXPECT_THAT(refused({.order = {1, 1}}), HasSubstr("view_test.cpp"));
  const std::string stored = message_of<UserError>([] {
    TileKernel wrong{
        "wrong", [](Array<float, 2> x) { tile::store_view(x, {0, 0}, tile::zeros<float>({4, 8}), {.steps = {1, 0}}); }};
  });
  EXPECT_THAT(stored, HasSubstr("steps other than 0, where elements are stored"));
}

}  // namespace
}  // namespace samite::test
