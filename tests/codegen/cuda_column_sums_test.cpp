// Columns of products, reduced in the threads' registers, on the host.
#include "samite/samite.h"
#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/products_on_host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace samite::test {
namespace {

struct Shape {
  std::int64_t rows, columns;
  int threads = 64;
};

// c = 2 a b, and of its columns the sums, the products, the least and the largest.
template <class T, class C>
void expect_columns(const Shape &shape, tile::Precision precision = tile::Precision::full) {
  SCOPED_TRACE(testing::Message() << shape.rows << " by " << shape.columns << ", " << shape.threads << " threads");
  constexpr std::int64_t terms = 8;
  const TileKernel kernel{"columns",
                          [=](Array<const T, 2> a, Array<const T, 2> b, Array<C, 2> c, Array<C, 2> of_columns) {
                            Tile<C> sum = tile::zeros<C>({shape.rows, shape.columns});
                            for (Int k : range(1))
                              tile::matmul(tile::load(a, {block_index(), k}, {shape.rows, terms}),
                                           tile::load(b, {k, 0}, {terms, shape.columns}), sum, precision);
                            const Tile<C> twice = sum * C(2);
                            tile::store(of_columns, {0, 0}, tile::sum(twice, {0}));
                            tile::store(of_columns, {1, 0}, tile::product(twice, {0}));
                            tile::store(of_columns, {2, 0}, tile::min(twice, {0}));
                            tile::store(of_columns, {3, 0}, tile::max(twice, {0}));
                            tile::store(c, {block_index(), 0}, twice);
                          },
                          TileOptions{.threads = shape.threads}};
  std::vector<T> a, b;
  for (std::int64_t i = 0; i < shape.rows * terms; ++i) a.push_back(T(static_cast<float>(i * 7 % 5 - 2) * 0.25f));
  for (std::int64_t i = 0; i < terms * shape.columns; ++i) b.push_back(T(static_cast<float>(i * 3 % 7 - 3)));
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  std::vector<C> c(size(shape.rows * shape.columns)), of_columns(size(4 * shape.columns));
  const CudaOnHost run(kernel.ir());
  for (const char *step : {"StepAdd", "StepMul", "StepMin", "StepMax"})
    EXPECT_TRUE(run.source().text.find(fmt::format("tile_reduce_columns<{}", step)) != std::string::npos) << step;
  using Kind = ThreadOrder::Kind;
  CudaOnHost in_order = run;
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 3}}) {
    in_order.order = order;
    in_order.run({1}, {array(a, {shape.rows, terms}), array(b, {terms, shape.columns}),
                       array(c, {shape.rows, shape.columns}), array(of_columns, {4, shape.columns})});
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      double sum = 0, product = 1, least = std::numeric_limits<double>::infinity(), largest = -least;
      for (std::int64_t i = 0; i < shape.rows; ++i) {
        double own = 0;
        for (std::int64_t k = 0; k < terms; ++k)
          own += 2 * double(a[size(i * terms + k)]) * double(b[size(k * shape.columns + j)]);
        ASSERT_EQ(double(c[size(i * shape.columns + j)]), own) << i << ' ' << j;
        sum += own, product *= own, least = std::min(least, own), largest = std::max(largest, own);
      }
      ASSERT_EQ(double(of_columns[size(j)]), sum) << j;
      const double exact = static_cast<double>(static_cast<C>(product));  // which may be beyond the type's largest
      if (std::isfinite(exact))
        ASSERT_NEAR(double(of_columns[size(shape.columns + j)]), exact, 1e-5 * std::abs(exact)) << j;
      else
        ASSERT_EQ(double(of_columns[size(shape.columns + j)]), exact) << j;
      ASSERT_EQ(double(of_columns[size(2 * shape.columns + j)]), least) << j;
      ASSERT_EQ(double(of_columns[size(3 * shape.columns + j)]), largest) << j;
    }
  }
}

// Whole pieces and parts of them, several warps below each other and side by side, columns that lanes cannot halve.
TEST(CudaColumnSums, OfMatrices) {
  for (const Shape &shape :
       {Shape{16, 8, 32}, {64, 48}, {64, 24}, {20, 21}, {128, 64, 256}, {40, 72, 128}, {2, 24}, {7, 8}})
    expect_columns<half, float>(shape);
  expect_columns<double, double>({32, 40});
  expect_columns<double, double>({48, 20, 128});
}

TEST(CudaColumnSums, OfThreads) {
  for (const Shape &shape : {Shape{16, 32, 32}, {64, 64}, {33, 50}, {5, 7}, {128, 96, 128}})
    expect_columns<float, float>(shape);
}

// By warp groups, with producer warps: c = 2 a bᵀ and the sums of its columns in each block.
template <bool apart>
void expect_of_groups(std::int64_t rows, std::int64_t columns, int threads) {
  SCOPED_TRACE(testing::Message() << rows << " by " << columns << ", " << threads << " threads");
  constexpr std::int64_t terms = 64, memory = 200 << 10;
  const std::int64_t stages = apart ? memory / ((rows + columns) * 128) : 2;
  const std::string tile = fmt::format("tile<f32, {}, {}>", rows, columns);
  ir::Kernel kernel = ir::parse_kernel(fmt::format(
      "kernel @k(@a: array<const f16, 2>, @b: array<const f16, 2>, @c: array<f32, 2>, @n: i32) blocks 2 of {3} {{ "
      "%0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, {0} %3: i32 = mul %1, {1} "
      "for %4: i32 in 0 .. @n step 1 stages {4} carry (%5 -> %6: {5} = 0.0:{5} then %10) {{ %7: i32 = mul %4, {2} "
      "%8: tile<f16, {0}, {2}> = load @a[%2, %7] %9: tile<f16, {1}, {2}> = load @b[%3, %7] "
      "%10: {5} = matmul %8, transposed %9, %5 }} %11: {5} = mul %6, 2.0:{5} "
      "%12: tile<f32, 1, {1}> = reduce_add %11 %13: {5} = broadcast %12 %14: {5} = add %11, %13 "
      "store @c[%2, %3] = %14 }}",
      rows, columns, terms, threads, stages, tile));
  kernel = passes::lower_threads(passes::lower_tiles(std::move(kernel), passes::gpu_architecture(90)));
  kernel = jit::plan(std::move(kernel), {passes::gpu_architecture(90), good_arrays().arrays, {}});
  EXPECT_EQ(kernel.roles.producers, apart ? 128 : 0);
  const StayingBlocksOnHost run(std::move(kernel), good_arrays());
  using Kind = ThreadOrder::Kind;
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 3}}) {
    ProductsOnHost<half, float> products(2 * rows - 8, 2 * columns - 16, 3 * terms, terms);
    products.run(run, {2, 2}, 3, order);
    for (std::int64_t j = 0; j < products.columns; ++j)
      for (std::int64_t first = 0; first < products.rows; first += rows) {
        double sum = 0;
        for (std::int64_t i = first; i < std::min(first + rows, products.rows); ++i) sum += 2 * products.sum(i, j);
        for (std::int64_t i = first; i < std::min(first + rows, products.rows); ++i)
          ASSERT_EQ(products.of_c(i, j), 2 * products.sum(i, j) + sum) << i << ' ' << j;
      }
  }
}

TEST(CudaColumnSums, OfGroupsOfWarps) {
  expect_of_groups<false>(64, 64, 128);
  expect_of_groups<true>(64, 64, 128);
  expect_of_groups<true>(128, 64, 256);
  expect_of_groups<true>(64, 256, 256);
  expect_of_groups<true>(16, 64, 128);
}

}  // namespace
}  // namespace samite::test
