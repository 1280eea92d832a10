// The 8-bit floating types in kernels: conversions, products, and gradients, which are of float.
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class T>
class Float8Tiles : public testing::Test {};
using Types = testing::Types<f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(Float8Tiles, Types);

// Numbers around every point where rounding changes, and beyond the range.
template <class T>
std::vector<float> to_be_rounded() {
  std::vector<float> values{0, -0.0f, 1e-12f, 1e5f, -1e30f, HUGE_VALF, NAN};
  for (unsigned bits = 0; bits < 126; ++bits) {
    const float a = T::from_bits(static_cast<std::uint8_t>(bits)),
                b = T::from_bits(static_cast<std::uint8_t>(bits + 1));
    const float tie = (a + b) / 2;
    for (float x : {a, tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e9f)}) values.insert(values.end(), {x, -x});
  }
  return values;
}

template <class T>
void expect_equal_bits(const std::vector<T> &actual, const std::vector<float> &from) {
  ASSERT_EQ(actual.size(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::isnan(from[i]))
      EXPECT_TRUE(std::isnan(static_cast<float>(actual[i])));
    else
      EXPECT_EQ(int{actual[i].bits()}, int{T(from[i]).bits()}) << from[i];
  }
}

TYPED_TEST(Float8Tiles, KernelsOfThreadsConvert) {
  using T = TypeParam;
  const std::vector<float> values = to_be_rounded<T>();
  const auto count = static_cast<std::int64_t>(values.size());
  Kernel narrow{"narrow", [](Array<T, 1> y, Array<const float, 1> x) {
                  Int i = thread_index();
                  y(i) = cast<Traced<T>>(x(i));
                }};
  Buffer<T> y(device(), {count});
  narrow.launch({count}, y, Buffer<float>(device(), {count}, values));
  expect_equal_bits(y.to_vector(), values);

  std::vector<T> all;
  for (unsigned bits = 0; bits < 256; ++bits) all.push_back(T::from_bits(static_cast<std::uint8_t>(bits)));
  Kernel widen{"widen", [](Array<float, 1> y, Array<const T, 1> x) {
                 Int i = thread_index();
                 y(i) = x(i);
               }};
  Buffer<float> widened(device(), {256});
  widen.launch({256}, widened, Buffer<T>(device(), {256}, all));
  const std::vector<float> actual = widened.to_vector();
  for (std::size_t i = 0; i < 256; ++i) {
    const float expected = all[i];
    EXPECT_TRUE(actual[i] == expected || (std::isnan(actual[i]) && std::isnan(expected))) << i;
  }
}

TYPED_TEST(Float8Tiles, TilesConvert) {
  using T = TypeParam;
  std::vector<float> values = to_be_rounded<T>();
  const auto count = static_cast<std::int64_t>(values.size());
  TileKernel narrow{"narrow", [=](Array<T, 1> y, Array<const float, 1> x) {
                      // Through memory, by a slice.
                      Tile<T> rounded = tile::cast<T>(tile::load(x, {0}, {count}));
                      tile::store(y, {0}, tile::slice(tile::slice(rounded, {1}, {count}), {-1}, {count}));
                    }};
  Buffer<T> y(device(), {count});
  narrow.launch({1}, y, Buffer<float>(device(), {count}, values));
  std::vector<T> actual = y.to_vector();
  actual.erase(actual.begin()), values.erase(values.begin());
  expect_equal_bits(actual, values);
}

// Tangents are numbers of their own size, which 8 bits could not hold: they pass through casts unchanged.
constexpr float directions[] = {1000, 1e-3f, -1e-6f, 3e30f, 1e-30f, 0, 0.7f};

TYPED_TEST(Float8Tiles, TangentsPassThroughCastsOfThreads) {
  using T = TypeParam;
  using Small = Traced<T>;
  Kernel rounds{"rounds", {"y", "x"}, [](Array<float, 2> y, Array<const float, 1> x) {
                  Int i = thread_index();
                  const Float v = x(i);
                  y(0, i) = cast<Float>(cast<Small>(v));
                  Small chosen = select(v > 2, cast<Small>(v), cast<Small>(3 * v));
                  y(1, i) = cast<Float>(chosen);
                  for (Int k : range(3)) if_(k == 1, [&] { chosen = cast<Small>(cast<Float>(chosen) * 2); });
                  y(2, i) = cast<Float>(chosen);
                  LocalArray<T, 2> kept;
                  kept(i % 2) = cast<Small>(v);
                  y(3, i) = cast<Float>(kept(i % 2)) * v;
                }};
  const std::vector<float> values{1, 2, 3, 4, -5, 1.5f, 2.5f};
  const auto count = static_cast<std::int64_t>(values.size());
  Buffer<float> x(device(), {count}, values, Gradient::tracked), y(device(), {4, count}, Gradient::tracked);
  x.gradient().copy_from(std::vector<float>(std::begin(directions), std::end(directions)));
  rounds.launch({count}, {.direction = Direction::tangent}, y, x);
  const std::vector<float> tangents = y.gradient().to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float dx = directions[i], slope = values[i] > 2 ? 1 : 3, rounded = T(values[i]);
    const float expected[] = {dx, slope * dx, 2 * slope * dx, rounded * dx + dx * values[i]};
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_FLOAT_EQ(tangents[k * values.size() + i], expected[k]) << "row " << k << " of " << values[i];
  }
}

TYPED_TEST(Float8Tiles, TangentsPassThroughCastsMovesAndProductsOfTiles) {
  using T = TypeParam;
  constexpr std::int64_t n = 7;
  TileKernel rounds{"rounds", {"y", "c", "x"}, [](Array<float, 1> y, Array<float, 2> c, Array<const float, 1> x) {
                      Tile<T> small = tile::cast<T>(tile::load(x, {0}, {n}));
                      tile::store(y, {0}, tile::cast<float>(small));
                      auto column = tile::broadcast<T>(tile::reshape(small, {n, 1}), {n, n});
                      tile::store(c, {0, 0}, tile::matmul(column, tile::transpose(column)));
                    }};
  std::vector<float> values(std::begin(directions), std::end(directions)), of{1, 2, 3, 4, -5, 1.5f, 2.5f};
  Buffer<float> x(device(), {n}, of, Gradient::tracked), y(device(), {n}, Gradient::tracked),
      c(device(), {n, n}, Gradient::tracked);
  x.gradient().copy_from(values);
  rounds.launch({1}, {.direction = Direction::tangent}, y, c, x);
  EXPECT_EQ(y.gradient().to_vector(), values);
  const std::vector<float> products = c.gradient().to_vector();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double expected = n * (double{T(of[i])} * values[j] + double{values[i]} * double{T(of[j])});
      const double size = n * (std::abs(double{of[i]} * values[j]) + std::abs(double{values[i]} * of[j]));
      EXPECT_NEAR(products[i * n + j], expected, 1e-5 * size) << i << ", " << j;
    }
}

// The gradient of the factors is that of float factors with the rounded values.
TYPED_TEST(Float8Tiles, ProductsAreAddedUpInFloat) {
  using T = TypeParam;
  constexpr std::int64_t rows = 19, inner = 37, columns = 21;
  TileKernel product{
      "product", {"c", "a", "b"}, [](Array<float, 2> c, Array<const float, 2> a, Array<const float, 2> b) {
        auto left = tile::cast<T>(tile::load(a, {0, 0}, {rows, inner}));
        auto right = tile::cast<T>(tile::load(b, {0, 0}, {columns, inner}));
        tile::store(c, {0, 0}, tile::matmul(left, right, {.b = true}));
      }};
  std::vector<double> a, b, cotangent;
  for (int i = 0; i < rows * inner; ++i) a.push_back(std::sin(0.37 * i) * 3);
  for (int i = 0; i < columns * inner; ++i) b.push_back(std::cos(0.71 * i) * 0.2);
  for (int i = 0; i < rows * columns; ++i) cotangent.push_back(std::sin(1.3 * i) * 0.001);
  auto of_a = buffer<float>({rows, inner}, a, Gradient::tracked),
       of_b = buffer<float>({columns, inner}, b, Gradient::tracked);
  auto c = poisoned<float>({rows, columns}, Gradient::tracked);
  product.launch({1}, c, of_a, of_b);
  c.gradient().copy_from(as<float>(cotangent));
  product.launch({1}, {.direction = Direction::adjoint}, c, of_a, of_b);

  const auto rounded = [](double x) { return static_cast<double>(static_cast<float>(T(static_cast<float>(x)))); };
  std::vector<double> sums(rows * columns), by_a(rows * inner), by_b(columns * inner);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < inner; ++k) {
        const double x = rounded(a[i * inner + k]), y = rounded(b[j * inner + k]), r = cotangent[i * columns + j];
        sums[i * columns + j] += x * y;
        by_a[i * inner + k] += r * y;
        by_b[j * inner + k] += r * x;
      }
  expect_near(c, sums, 1e-5);
  expect_near(of_a.gradient(), by_a, 1e-7);
  expect_near(of_b.gradient(), by_b, 1e-7);
}

TYPED_TEST(Float8Tiles, GradientsGoThroughMovesAndLoops) {
  using T = TypeParam;
  TileKernel moves{"moves", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                     auto t = tile::cast<T>(tile::load(x, {0, 0}, {3, 5}));
                     for (Int k : range(2))
                       t = select(tile::coordinate({3, 5}, 0) == k, tile::reshape(tile::transpose(t), {3, 5}), t);
                     tile::store(y, {0, 0}, tile::cast<float>(t) * 3);
                   }};
  std::vector<double> values;
  for (int i = 0; i < 15; ++i) values.push_back(i - 7);
  auto x = buffer<float>({3, 5}, values, Gradient::tracked), y = poisoned<float>({3, 5}, Gradient::tracked);
  moves.launch({1}, y, x);
  y.gradient().fill(1);
  moves.launch({1}, {.direction = Direction::adjoint}, y, x);
  // The source of each element of the result.
  std::vector<std::size_t> from(15);
  for (std::size_t i = 0; i < 15; ++i) from[i] = i;
  for (std::size_t k = 0; k < 2; ++k) {
    const std::vector<std::size_t> before = from;
    for (std::size_t j = 0; j < 5; ++j) {
      const std::size_t at = k * 5 + j;  // in the transposed tile, with rows of 3
      from[at] = before[at % 3 * 5 + at / 3];
    }
  }
  std::vector<double> expected, gradient(15);
  for (std::size_t i = 0; i < 15; ++i) {
    expected.push_back(3 * values[from[i]]);
    gradient[from[i]] += 3;
  }
  expect_near(y, expected, 0);
  expect_near(x.gradient(), gradient, 0);
}

TEST(Float8Errors, ABufferTracksNoGradient) {
  EXPECT_THAT(message_of<UserError>([] { AnyBuffer(device(), ScalarType::Float8E4M3, {4}, Gradient::tracked); }),
              AllOf(HasSubstr("a buffer of f8e4m3"), HasSubstr("keep what is to be differentiated in f32")));
}

}  // namespace
}  // namespace samite::test
