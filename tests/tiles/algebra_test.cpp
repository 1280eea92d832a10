// Cholesky factors and solutions of triangular systems, checked by their definitions.
#include "tests/tiles/tile_function.h"

namespace samite::test {
namespace {

using testing::HasSubstr;

// Symmetric and positive definite.
Matrix definite(std::int64_t n, int seed = 0) {
  return Matrix(n, n, [=](auto i, auto j) {
    const double away = static_cast<double>(i > j ? i - j : j - i);
    return 1 / (1 + away) + (i == j ? 1 + 0.1 * static_cast<double>(i + seed) : 0) +
           0.1 * std::sin(static_cast<double>(i * j + seed));
  });
}

Matrix lower_factor(const Matrix &a) {
  const std::int64_t n = a.rows;
  Matrix l(n, n, [](auto, auto) { return 0.0; });
  auto at = [&](std::int64_t i, std::int64_t j) -> double & { return l.values[static_cast<std::size_t>(i * n + j)]; };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double rest = a(i, j);
      for (std::int64_t k = 0; k < j; ++k) rest -= at(i, k) * at(j, k);
      at(i, j) = i == j ? std::sqrt(rest) : rest / at(j, j);
    }
  return l;
}

auto factor(std::int64_t n) {
  return [=](auto x) { return tile::cholesky(tile::reshape(x, {n, n})); };
}

TEST(TileCholesky, EvenAndOddExtents) {
  for (const std::int64_t n : {1, 2, 7, 8, 33}) {
    SCOPED_TRACE(n);
    const Matrix a = definite(n);
    expect_values(factor(n), a.values, lower_factor(a).values, 1e-12);
    expect_values<float>(factor(n), a.values, lower_factor(a).values, 1e-5);
  }
}

TEST(TileCholesky, Derivatives) {
  for (const std::int64_t n : {1, 2, 5}) expect_derivatives(factor(n), definite(n).values, n * n);
}

TEST(TileCholesky, ReadsTheLowerHalf) {
  Matrix a = definite(6);
  const Matrix l = lower_factor(a);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = i + 1; j < 6; ++j) a.values[static_cast<std::size_t>(6 * i + j)] = not_written;
  expect_values(factor(6), a.values, l.values, 1e-12);
}

TEST(TileCholesky, ManyAtOnce) {
  std::vector<double> a, l;
  for (int m = 0; m < 3; ++m) {
    const Matrix each = definite(4, m), of_each = lower_factor(each);
    a.insert(a.end(), each.values.begin(), each.values.end());
    l.insert(l.end(), of_each.values.begin(), of_each.values.end());
  }
  expect_function([](auto x) { return tile::cholesky(tile::reshape(x, {3, 4, 4})); }, a, l);
}

TEST(TileCholesky, NanWhereNotPositiveDefinite) {
  Matrix a = definite(5);
  a.values[2 * 5 + 2] = -1;
  auto y = poisoned<double>({25});
  tile_function<double>(25, factor(5)).launch({1}, y, buffer<double>({25}, a.values));
  const Matrix l = lower_factor(definite(5));
  const std::vector<double> values = y.to_vector();
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 5; ++j) {
      const double value = values[static_cast<std::size_t>(5 * i + j)];
      if (j > i)
        EXPECT_EQ(value, 0);
      else if (j < 2)
        EXPECT_NEAR(value, l(i, j), 1e-12);
      else
        EXPECT_TRUE(std::isnan(value)) << i << ' ' << j;
    }
}

// With numbers in the half that is not read.
auto solution(std::int64_t n, std::int64_t columns, tile::Triangle triangle) {
  return [=](auto both) {
    auto a = tile::reshape(tile::slice(both, {0}, {n * n}), {n, n});
    auto b = tile::slice(both, {n * n}, {n * columns});
    return columns == 1 ? tile::solve_triangular(a, b, triangle)
                        : flat(tile::solve_triangular(a, tile::reshape(b, {n, columns}), triangle));
  };
}

TEST(TileSolve, EveryHalf) {
  for (const std::int64_t n : {1, 4, 9, 34})
    for (const std::int64_t columns : {1, 3, 70})
      for (const bool upper : {false, true})
        for (const bool transposed : {false, true}) {
          SCOPED_TRACE(testing::Message() << n << ' ' << columns << ' ' << upper << transposed);
          const Matrix full(n, n, [](auto i, auto j) {
            return i == j ? 2 + 0.1 * static_cast<double>(i) : 0.3 * std::sin(static_cast<double>(3 * i + j));
          });
          const Matrix a(n, n, [&](auto i, auto j) {
            const auto r = transposed ? j : i, c = transposed ? i : j;
            return r == c || (r < c) == upper ? full(r, c) : 0.0;
          });
          const Matrix x(n, columns, 5);
          std::vector<double> both = full.values;
          const Matrix b = product(a, x);
          both.insert(both.end(), b.values.begin(), b.values.end());
          expect_values(solution(n, columns, {upper, transposed}), both, x.values, 1e-11);
          if (n * columns <= 12) expect_derivatives(solution(n, columns, {upper, transposed}), both, n * columns);
          expect_values<float>(solution(n, columns, {upper, transposed}), both, x.values, 1e-4);
        }
}

TEST(TileSolve, SymmetricSystems) {
  const Matrix a0 = definite(5), a1 = definite(5, 3), x0(5, 2, 1), x1(5, 2, 2);
  std::vector<double> both, x;
  for (const Matrix &m : {a0, a1, product(a0, x0), product(a1, x1)})
    both.insert(both.end(), m.values.begin(), m.values.end());
  for (const Matrix &m : {x0, x1}) x.insert(x.end(), m.values.begin(), m.values.end());
  expect_function(
      [](Tile<double> t) {
        auto a = tile::reshape(tile::slice(t, {0}, {50}), {2, 5, 5});
        auto b = tile::reshape(tile::slice(t, {50}, {20}), {2, 5, 2});
        return tile::solve_cholesky(tile::cholesky(a), b);
      },
      both, x, 1e-12);
}

TEST(TileAlgebraErrors, NoSquare) {
  const std::string message = message_of<UserError>(
      [] { TileKernel wrong{"wrong", [](Array<float, 2> x) { tile::cholesky(tile::load(x, {0, 0}, {4, 8})); }}; });
  EXPECT_THAT(message, HasSubstr("cholesky of a tile of extents 4x8"));
  EXPECT_THAT(message, HasSubstr("algebra_test.cpp"));
}

TEST(TileAlgebraErrors, Types) {
  const std::string message = message_of<UserError>(
      [] { TileKernel wrong{"wrong", [](Array<half, 2> x) { tile::cholesky(tile::load(x, {0, 0}, {4, 4})); }}; });
  EXPECT_THAT(message, HasSubstr("cholesky of a tile of f16"));
  EXPECT_THAT(message, HasSubstr("f32 and f64"));
}

TEST(TileAlgebraErrors, RightHandSide) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) {
                       tile::solve_triangular(tile::load(x, {0, 0}, {4, 4}), tile::load(x, {0, 0}, {5, 2}));
                     }};
  });
  EXPECT_THAT(message, HasSubstr("matrix of extents 4x4 and a right-hand side of extents 5x2"));
}

}  // namespace
}  // namespace samite::test
