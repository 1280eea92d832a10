// Functions of small matrices in tiles, against elimination in double and against the equations that define them.
#include "tests/tiles/tile_function.h"

namespace samite::test {
namespace {

using testing::HasSubstr;

// A batch of well-conditioned matrices, none of which is symmetric or has only positive elements.
std::vector<double> matrices(std::int64_t count, std::int64_t n) {
  std::vector<double> values;
  for (std::int64_t m = 0; m < count; ++m)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        values.push_back(std::sin(static_cast<double>(7 * m + 3 * i * i + 5 * j)) +
                         ((i + 1) % n == j ? 2 + 0.2 * static_cast<double>(i) : 0));
  return values;
}

struct Eliminated {
  double determinant = 1;
  Matrix inverse;
};

// Gauss-Jordan elimination with partial pivoting.
Eliminated eliminate(const double *first, std::int64_t n) {
  const auto at = [n](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(2 * n * i + j); };
  std::vector<double> rows(static_cast<std::size_t>(2 * n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) rows[at(i, j)] = first[i * n + j];
    rows[at(i, n + i)] = 1;
  }
  double determinant = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::abs(rows[at(i, k)]) > std::abs(rows[at(best, k)])) best = i;
    if (best != k) determinant = -determinant;
    for (std::int64_t j = 0; j < 2 * n; ++j) std::swap(rows[at(k, j)], rows[at(best, j)]);
    const double pivot = rows[at(k, k)];
    determinant *= pivot;
    for (std::int64_t j = 0; j < 2 * n; ++j) rows[at(k, j)] /= pivot;
    for (std::int64_t i = 0; i < n; ++i) {
      const double factor = i == k ? 0 : rows[at(i, k)];
      for (std::int64_t j = 0; j < 2 * n; ++j) rows[at(i, j)] -= factor * rows[at(k, j)];
    }
  }
  return {determinant, Matrix(n, n, [&](auto i, auto j) { return rows[at(i, n + j)]; })};
}

constexpr std::int64_t batch = 5;

auto in_batch(std::int64_t n) {
  return [n](const auto &x) { return tile::reshape(x, {batch, n, n}); };
}

class TileMatrices : public testing::TestWithParam<std::int64_t> {
 protected:
  std::int64_t n = GetParam();
  std::vector<double> a = matrices(batch, n);
  Eliminated eliminated(std::int64_t m) const { return eliminate(a.data() + m * n * n, n); }
};
INSTANTIATE_TEST_SUITE_P(Rows, TileMatrices, testing::Values(1, 2, 3, 4, 5, 6));

TEST_P(TileMatrices, Determinant) {
  std::vector<double> expected;
  for (std::int64_t m = 0; m < batch; ++m) expected.push_back(eliminated(m).determinant);
  const auto function = [this](auto x) { return tile::determinant(in_batch(n)(x)); };
  expect_values(function, a, expected, 1e-11);
  expect_values<float>(function, a, expected, 2e-3);
}

TEST_P(TileMatrices, Inverse) {
  std::vector<double> expected;
  for (std::int64_t m = 0; m < batch; ++m) {
    const Matrix inverse = eliminated(m).inverse;
    expected.insert(expected.end(), inverse.values.begin(), inverse.values.end());
  }
  const auto function = [this](auto x) { return tile::inverse(in_batch(n)(x)); };
  expect_values(function, a, expected, 1e-11);
  expect_values<float>(function, a, expected, 2e-4);
}

TEST_P(TileMatrices, Solutions) {
  for (const std::int64_t columns : {1, 3}) {
    std::vector<double> both = a, expected;
    for (std::int64_t m = 0; m < batch; ++m) {
      const Matrix x(n, columns, static_cast<int>(m)),
          matrix(n, n, [&](auto i, auto j) { return a[static_cast<std::size_t>((m * n + i) * n + j)]; });
      const Matrix b = product(matrix, x);
      both.insert(both.end(), b.values.begin(), b.values.end());
      expected.insert(expected.end(), x.values.begin(), x.values.end());
    }
    expect_values(
        [&](auto all) {
          auto left = in_batch(n)(tile::slice(all, {0}, {batch * n * n}));
          const auto right = tile::slice(all, {batch * n * n}, {batch * n * columns});
          return columns == 1 ? flat(tile::solve(left, tile::reshape(right, {batch, n})))
                              : flat(tile::solve(left, tile::reshape(right, {batch, n, columns})));
        },
        both, expected, 1e-11);
  }
}

// q r is the matrix, qᵀ q the identity; r has zeros below its diagonal.
TEST(TileMatricesDecompositions, OrthogonalAndTriangularFactors) {
  for (const std::int64_t n : {2, 3, 5}) {
    const std::vector<double> a = matrices(batch, n);
    std::vector<double> expected = a;
    for (std::int64_t i = 0; i < batch * n * n; ++i) expected.push_back(i % (n * n) % (n + 1) == 0 ? 1 : 0);
    expected.insert(expected.end(), batch, 0.0);
    expect_values(
        [n](auto x) {
          const auto [q, r] = tile::qr(in_batch(n)(x));
          const auto below = tile::coordinate({batch, n, n}, 1) > tile::coordinate({batch, n, n}, 2);
          const auto products = tile::concatenate(flat(tile::matmul(q, r)), flat(tile::matmul(q, q, {.a = true})), 0);
          return tile::concatenate(products, flat(tile::sum(select(below, abs(r), 0), {1, 2})), 0);
        },
        a, expected, 1e-13);
  }
}

// Only first derivatives: second ones are tested for matrices in a Kernel, which have the same functions.
TEST(TileMatricesDerivatives, OfEachFunction) {
  const std::int64_t count = 2;
  const auto of = [&](std::int64_t n, auto function, std::int64_t results) {
    SCOPED_TRACE(n);
    const auto input = buffer<double>({count * n * n}, matrices(count, n), Gradient::tracked);
    const auto output = poisoned<double>({results}, Gradient::tracked);
    const auto kernel =
        tile_function<double>(count * n * n, [=](auto x) { return function(tile::reshape(x, {count, n, n})); });
    const GradientReport report = gradcheck(kernel, {1}, output, input);
    EXPECT_TRUE(report.passed) << report;
  };
  of(3, [](auto m) { return tile::determinant(m); }, count);
  for (const std::int64_t n : {2, 5}) of(n, [](auto m) { return tile::inverse(m); }, count * n * n);
  of(3, [](auto m) { return tile::qr(m).q; }, count * 9);
  of(3, [](auto m) { return tile::symmetric_eigen(m).values; }, count * 3);
  of(3, [](auto m) { return tile::svd(m).values; }, count * 3);
}

TEST(TileMatricesDecompositions, RebuildTheirMatrices) {
  for (const std::int64_t n : {2, 3}) {
    SCOPED_TRACE(n);
    const std::vector<double> a = matrices(batch, n);
    std::vector<double> symmetric = a;
    for (std::int64_t i = 0; i < batch * n * n; ++i) {
      const std::int64_t m = i / (n * n), row = i / n % n, column = i % n;
      symmetric[static_cast<std::size_t>(i)] =
          (a[static_cast<std::size_t>(i)] + a[static_cast<std::size_t>((m * n + column) * n + row)]) / 2;
    }
    expect_values(
        [=](auto x) {
          const auto [values, vectors] = tile::symmetric_eigen(tile::reshape(x, {batch, n, n}));
          return tile::matmul(vectors * tile::expand_dims(values, 1), vectors, {.b = true});
        },
        symmetric, symmetric, 1e-13);
    expect_values(
        [=](auto x) {
          const auto [u, values, v] = tile::svd(tile::reshape(x, {batch, n, n}));
          return tile::matmul(u * tile::expand_dims(values, 1), v, {.b = true});
        },
        a, a, 1e-13);
  }
}

TEST(TileMatricesDecompositions, OfOneMatrix) {
  const std::vector<double> a = {2, 1, 1, 2};
  const auto matrix = [](auto x) { return tile::reshape(x, {2, 2}); };
  expect_values([&](auto x) { return tile::determinant(matrix(x)); }, a, {3}, 1e-15);
  expect_values([&](auto x) { return tile::symmetric_eigen(matrix(x)).values; }, a, {1, 3}, 1e-14);
  expect_values([&](auto x) { return tile::solve(matrix(x), tile::slice(x, {0}, {2})); }, a, {1, 0}, 1e-15);
}

// Elements of 1e-14, as small inertias have: their determinant leaves the range of f32.
TEST(TileMatricesDecompositions, SmallElements) {
  std::vector<double> a = matrices(batch, 3), expected;
  for (std::int64_t m = 0; m < batch; ++m)
    for (const double value : eliminate(a.data() + m * 9, 3).inverse.values) expected.push_back(value);
  for (double &value : a) value *= 1e-14;
  expect_values<float>([](auto x) { return tile::inverse(in_batch(3)(x)) * 1e-14f; }, a, expected, 2e-4);
}

template <class T = float, class F>
std::string refused(F function) {
  return message_of<UserError>(
      [&] { TileKernel wrong{"wrong", [&](Array<const T, 3> x) { function(tile::load(x, {0, 0, 0}, {2, 7, 7})); }}; });
}

TEST(TileMatricesErrors, SayWhatIsTaken) {
  EXPECT_THAT(refused([](auto x) { tile::inverse(x); }), HasSubstr("inverse of matrices of 7 rows; it takes 1 to 6"));
  EXPECT_THAT(refused([](auto x) { tile::svd(tile::slice(x, {0, 0, 0}, {2, 4, 4})); }),
              HasSubstr("svd of matrices of 4 rows; it takes 2 to 3"));
  EXPECT_THAT(refused([](auto x) { tile::qr(tile::slice(x, {0, 0, 0}, {2, 3, 4})); }),
              HasSubstr("qr of a tile of extents 2x3x4; it takes one square matrix, or a batch"));
  EXPECT_THAT(refused<half>([](auto x) { tile::determinant(tile::slice(x, {0, 0, 0}, {2, 3, 3})); }),
              HasSubstr("determinant of a tile of f16; it takes f32 and f64 (tile::cast)"));
  EXPECT_THAT(
      refused([](auto x) { tile::solve(tile::slice(x, {0, 0, 0}, {2, 3, 3}), tile::slice(x, {0, 0, 0}, {2, 4, 1})); }),
      HasSubstr("solve with a matrix of extents 2x3x3 and a right-hand side of extents 2x4x1"));
}

}  // namespace
}  // namespace samite::test
