// Products of matrices by tiles, on extents that tiles do not divide.
#include "samite/ir/visit.h"
#include "samite/jit/definition.h"
#include "tests/tiles/reference.h"

namespace samite::test {
namespace {

template <class T, class C>
auto gemm(std::int64_t m, std::int64_t n, std::int64_t k, tile::Precision precision = tile::Precision::full) {
  return TileKernel{"gemm", {"a", "b", "c"}, [=](Array<const T, 2> a, Array<const T, 2> b, Array<C, 2> c) {
                      auto [i, j] = block_index<2>();
                      Tile<C> sum = tile::zeros<C>({m, n});
                      for (Int step : range(tile::ceil_div(a.extent(1), static_cast<int>(k))))
                        tile::matmul(tile::load(a, {i, step}, {m, k}), tile::load(b, {step, j}, {k, n}), sum,
                                     precision);
                      tile::store(c, {i, j}, sum);
                    }};
}

template <class T, class C>
void check_gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t rows, std::int64_t columns,
                std::int64_t inner) {
  SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " of " << rows << "x" << columns << "x" << inner);
  const Matrix a(rows, inner, 1), b(inner, columns, 2);
  auto c = poisoned<C>({rows, columns});
  gemm<T, C>(m, n, k).launch({blocks(rows, m), blocks(columns, n)}, buffer<T>(a.extents(), a.values),
                             buffer<T>(b.extents(), b.values), c);
  expect_near(c, product(a, b).values, sizeof(C) == 8 ? 1e-12 : 1e-4);
}

TEST(TileMatMul, EvenAndOddExtents) {
  check_gemm<float, float>(8, 4, 8, 8, 4, 8);
  check_gemm<float, float>(16, 32, 8, 32, 64, 16);
  check_gemm<float, float>(7, 5, 3, 20, 13, 11);
  check_gemm<float, float>(64, 64, 64, 100, 70, 130);
  check_gemm<float, float>(1, 1, 1, 3, 2, 4);
}

TEST(TileMatMul, Types) {
  check_gemm<double, double>(9, 17, 5, 20, 19, 12);
  check_gemm<half, float>(8, 16, 8, 20, 19, 12);
  check_gemm<bfloat16, float>(8, 16, 8, 20, 19, 12);
}

// In many stages, with threads of a GPU that copy some steps' factors between the products of others (f64): no step,
// fewer than stages, more; extents that end within a tile, and within 16 bytes. Also with two buffers, or with other
// types.
TEST(TileMatMul, InStages) {
  const auto check = [](auto zero, std::array<std::int64_t, 3> tile, std::array<std::int64_t, 3> of, int stages,
                        int threads, bool a_transposed, bool b_transposed) {
    using T = decltype(zero);
    const auto [m, n, k] = tile;
    const auto [rows, columns, inner] = of;
    SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " of " << rows << "x" << columns << "x" << inner
                                    << ", " << stages << " stages" << (a_transposed ? " aT" : "")
                                    << (b_transposed ? " bT" : ""));
    const TileKernel<void(Array<const T, 2>, Array<const T, 2>, Array<T, 2>)> kernel(
        "staged",
        [=](Array<const T, 2> a, Array<const T, 2> b, Array<T, 2> c) {
          auto [i, j] = block_index<2>();
          Tile<T> sum = tile::zeros<T>({m, n});
          const Int steps = tile::ceil_div(a.extent(a_transposed ? 0 : 1), static_cast<int>(k));
          for (Int step : range(steps, pipelined(stages)))
            tile::matmul(a_transposed ? tile::load(a, {step, i}, {k, m}) : tile::load(a, {i, step}, {m, k}),
                         b_transposed ? tile::load(b, {j, step}, {n, k}) : tile::load(b, {step, j}, {k, n}), sum,
                         {.a = a_transposed, .b = b_transposed});
          tile::store(c, {i, j}, sum);
        },
        TileOptions{.threads = threads});
    const Matrix a(rows, inner, 1), b(inner, columns, 2), of_c(rows, columns, 3);
    const Matrix a_given = a_transposed ? turned(a) : a, b_given = b_transposed ? turned(b) : b;
    auto x = buffer<T>(a_given.extents(), a_given.values, Gradient::tracked);
    auto y = buffer<T>(b_given.extents(), b_given.values, Gradient::tracked);
    auto c = poisoned<T>(of_c.extents(), Gradient::tracked);
    const Extents grid{blocks(rows, m), blocks(columns, n)};
    const double tolerance = sizeof(T) == 8 ? 1e-12 : 1e-4;
    kernel.launch(grid, x, y, c);
    expect_near(c, product(a, b).values, tolerance);
    c.gradient().copy_from(as<T>(of_c.values));
    kernel.launch(grid, {.direction = Direction::adjoint}, x, y, c);
    const Matrix of_a = product(of_c, turned(b)), of_b = product(turned(a), of_c);
    expect_near(x.gradient(), (a_transposed ? turned(of_a) : of_a).values, tolerance);
    expect_near(y.gradient(), (b_transposed ? turned(of_b) : of_b).values, tolerance);
  };
  for (const int inner : {1, 8, 31, 47, 64, 130})
    for (const bool a : {false, true})
      for (const bool b : {false, true}) check(0.0, {64, 64, 16}, {70, 67, inner}, 3, 128, a, b);
  check(0.0, {64, 128, 16}, {130, 250, 97}, 3, 128, false, false);
  check(0.0, {128, 64, 8}, {128, 64, 128}, 4, 128, false, true);
  check(0.0, {32, 32, 24}, {50, 34, 100}, 5, 64, true, false);
  check(0.0, {64, 64, 16}, {70, 66, 100}, 2, 128, false, false);
  check(0.0f, {64, 64, 16}, {70, 66, 100}, 3, 128, false, false);
}

// On numbers that it holds exactly.
TEST(TileMatMul, TF32) {
  struct Case {
    std::int64_t m, n, k, rows, columns, inner;
  };
  for (const auto [m, n, k, rows, columns, inner] :
       {Case{64, 64, 32, 130, 128, 70}, {16, 32, 8, 32, 64, 16}, {24, 48, 13, 30, 90, 29}, {7, 5, 3, 20, 13, 11}}) {
    SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k);
    const Matrix a(rows, inner, 1), b(inner, columns, 2), of_c(rows, columns, 3);
    auto x = buffer<float>(a.extents(), a.values, Gradient::tracked);
    auto y = buffer<float>(b.extents(), b.values, Gradient::tracked);
    auto c = poisoned<float>(of_c.extents(), Gradient::tracked);
    const auto kernel = gemm<float, float>(m, n, k, tile::Precision::tf32);
    const Extents grid{blocks(rows, m), blocks(columns, n)};
    kernel.launch(grid, x, y, c);
    expect_near(c, product(a, b).values, 1e-4);
    c.gradient().copy_from(as<float>(of_c.values));
    kernel.launch(grid, {.direction = Direction::adjoint}, x, y, c);
    expect_near(x.gradient(), product(of_c, turned(b)).values, 1e-4);
    expect_near(y.gradient(), product(turned(a), of_c).values, 1e-4);
  }
}

TEST(TileMatMul, Integers) {
  TileKernel multiply{
      "multiply", [](Array<const std::int8_t, 2> a, Array<const std::int8_t, 2> b, Array<std::int32_t, 2> c) {
        tile::store(c, {0, 0}, tile::matmul(tile::load(a, {0, 0}, {3, 5}), tile::load(b, {0, 0}, {5, 2})));
      }};
  std::vector<std::int8_t> a(15), b(10);
  for (int i = 0; i < 15; ++i) a[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(17 * i - 100);
  for (int i = 0; i < 10; ++i) b[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(100 - 23 * i);
  Buffer<std::int32_t> c(device(), {3, 2});
  multiply.launch({1}, Buffer<std::int8_t>(device(), {3, 5}, a), Buffer<std::int8_t>(device(), {5, 2}, b), c);
  const auto result = c.to_vector();
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < 5; ++k) sum += std::int32_t{a[i * 5 + k]} * b[k * 2 + j];
      EXPECT_EQ(result[i * 2 + j], sum);
    }
}

TEST(TileMatMul, Transposes) {
  const Matrix a(6, 5, 1), b(5, 7, 2);
  const Matrix turned_a = turned(a), turned_b = turned(b);
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      TileKernel multiply{"multiply", [=](Array<const double, 2> a, Array<const double, 2> b, Array<double, 2> c) {
                            auto x = ta ? tile::load(a, {0, 0}, {5, 6}) : tile::load(a, {0, 0}, {6, 5});
                            auto y = tb ? tile::load(b, {0, 0}, {7, 5}) : tile::load(b, {0, 0}, {5, 7});
                            tile::store(c, {0, 0}, tile::matmul(x, y, {.a = ta, .b = tb}));
                          }};
      auto c = poisoned<double>({6, 7}, Gradient::tracked);
      auto x =
          buffer<double>(ta ? turned_a.extents() : a.extents(), ta ? turned_a.values : a.values, Gradient::tracked);
      auto y =
          buffer<double>(tb ? turned_b.extents() : b.extents(), tb ? turned_b.values : b.values, Gradient::tracked);
      multiply.launch({1}, x, y, c);
      expect_near(c, product(a, b).values, 1e-12);
      GradientReport report = gradcheck(multiply, {1}, x, y, c);
      EXPECT_TRUE(report.passed) << report << ta << tb;
    }
}

// Extents near those of vectors, registers, and the pieces that caches hold.
template <class T, class C>
void check_transposed(std::int64_t m, std::int64_t n, std::int64_t k, double tolerance) {
  const Matrix a(m, k, 1), b(k, n, 2), c(m, n, 3);
  std::vector<double> expected = product(a, b).values;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += c.values[i];
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << (ta ? " turned a" : "")
                                      << (tb ? " turned b" : ""));
      TileKernel multiply{"multiply", [=](Array<const T, 2> a, Array<const T, 2> b, Array<C, 2> c) {
                            auto x = ta ? tile::load(a, {0, 0}, {k, m}) : tile::load(a, {0, 0}, {m, k});
                            auto y = tb ? tile::load(b, {0, 0}, {n, k}) : tile::load(b, {0, 0}, {k, n});
                            Tile<C> sum = tile::load(c, {0, 0}, {m, n});
                            tile::matmul(x, y, sum, {.a = ta, .b = tb});
                            tile::store(c, {0, 0}, sum);
                          }};
      const Matrix left = ta ? turned(a) : a, right = tb ? turned(b) : b;
      auto sums = buffer<C>(c.extents(), c.values);
      multiply.launch({1}, buffer<T>(left.extents(), left.values), buffer<T>(right.extents(), right.values), sums);
      expect_near(sums, expected, tolerance);
    }
}

TEST(TileMatMul, TransposesOfLargeAndOddExtents) {
  check_transposed<float, float>(16, 32, 16, 1e-4);
  check_transposed<float, float>(15, 33, 31, 1e-4);
  check_transposed<float, float>(1, 64, 64, 1e-4);
  check_transposed<float, float>(5, 31, 17, 1e-4);
  check_transposed<double, double>(23, 47, 40, 1e-12);
  check_transposed<half, float>(14, 40, 33, 1e-4);
  check_transposed<bfloat16, float>(33, 63, 18, 1e-4);
  check_transposed<half, half>(9, 20, 34, 1e-3);
}

TEST(TileMatMul, OneRow) {
  check_transposed<float, float>(1, 1, 1, 1e-4);
  check_transposed<float, float>(1, 33, 47, 1e-4);
  check_transposed<double, double>(1, 7, 70, 1e-12);
  check_transposed<half, float>(1, 17, 100, 1e-4);
  check_transposed<half, half>(1, 40, 9, 1e-3);
}

TEST(TileMatMul, OneRowOfIntegers) {
  constexpr int columns = 19, inner = 35;
  TileKernel multiply{
      "multiply", [](Array<const std::int8_t, 2> a, Array<const std::int8_t, 2> b, Array<std::int32_t, 2> c) {
        tile::store(
            c, {0, 0},
            tile::matmul(tile::load(a, {0, 0}, {1, inner}), tile::load(b, {0, 0}, {columns, inner}), {.b = true}));
      }};
  std::vector<std::int8_t> a(inner), b(columns * inner);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int8_t>(37 * i);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::int8_t>(53 * i + 7);
  Buffer<std::int32_t> c(device(), {1, columns});
  multiply.launch({1}, Buffer<std::int8_t>(device(), {1, inner}, a), Buffer<std::int8_t>(device(), {columns, inner}, b),
                  c);
  const auto result = c.to_vector();
  for (std::size_t j = 0; j < columns; ++j) {
    std::int32_t sum = 0;
    for (std::size_t k = 0; k < inner; ++k) sum += std::int32_t{a[k]} * b[j * inner + k];
    EXPECT_EQ(result[j], sum) << j;
  }
}

TEST(TileMatMul, MoreThanCachesHoldAtOnce) {
  if (device().kind() != DeviceKind::cpu) GTEST_SKIP() << "more than a block's shared memory";
  check_transposed<float, float>(133, 70, 300, 1e-3);
  check_transposed<float, float>(16, 160, 270, 1e-3);
  check_transposed<bfloat16, float>(131, 66, 259, 1e-3);
}

TEST(TileMatMul, Batches) {
  TileKernel multiply{"multiply", [](Array<const double, 3> a, Array<const double, 3> b, Array<double, 3> c) {
                        tile::store(
                            c, {0, 0, 0},
                            tile::matmul(tile::load(a, {0, 0, 0}, {3, 2, 4}), tile::load(b, {0, 0, 0}, {3, 4, 5})));
                      }};
  auto a = buffer<double>({3, 2, 4}, numbers(24, 1), Gradient::tracked);
  auto b = buffer<double>({3, 4, 5}, numbers(60, 2), Gradient::tracked);
  auto c = poisoned<double>({3, 2, 5}, Gradient::tracked);
  multiply.launch({1}, a, b, c);
  const auto x = numbers(24, 1), y = numbers(60, 2);
  std::vector<double> expected;
  for (std::size_t n = 0; n < 3; ++n)
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 4; ++k) sum += x[(n * 2 + i) * 4 + k] * y[(n * 4 + k) * 5 + j];
        expected.push_back(sum);
      }
  expect_near(c, expected, 1e-12);
  GradientReport report = gradcheck(multiply, {1}, a, b, c);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileMatMul, GradientOfALoop) {
  const auto kernel = gemm<double, double>(4, 3, 2);
  auto a = buffer<double>({7, 5}, numbers(35, 1), Gradient::tracked);
  auto b = buffer<double>({5, 8}, numbers(40, 2), Gradient::tracked);
  auto c = poisoned<double>({7, 8}, Gradient::tracked);
  GradientReport report = gradcheck(kernel, {2, 3}, a, b, c);
  EXPECT_TRUE(report.passed) << report;
}

// The adjoint multiplies only for factors with a gradient.
TEST(TileMatMul, AdjointOfOneFactorHasOneProduct) {
  const auto kernel = gemm<double, double>(4, 4, 4);
  const auto products = [&](std::uint64_t active) {
    int count = 0;
    ir::for_each_statement(kernel.definition()->adjoint(active, false).kernel.body, [&](const ir::Stmt &stmt) {
      auto *let = stmt.as<ir::Let>();
      count += let && let->value.op == ir::Op::MatMul;
    });
    return count;
  };
  EXPECT_EQ(products(0b111), 2);
  EXPECT_EQ(products(0b101), 1);
  EXPECT_EQ(products(0b110), 1);
}

}  // namespace
}  // namespace samite::test
