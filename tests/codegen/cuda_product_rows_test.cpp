// Rows of products with sums in registers: reduced there, by the threads and the warps that share a row, and processed;
// and sums that are scaled in place before a product is added. Blocks run on the host, compared with exact numbers.
#include "tests/codegen/cuda_tile_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace samite::test {
namespace {

struct RowsShape {
  std::int64_t rows, columns, inner;
  int threads;
};
void PrintTo(const RowsShape &s, std::ostream *out) {
  *out << s.rows << "x" << s.columns << "x" << s.inner << ", " << s.threads << " threads";
}

// Small whole numbers.
template <class T>
std::vector<T> whole_numbers(std::int64_t count, std::int64_t step) {
  std::vector<T> values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(T(static_cast<float>(k * step % 7 - 3)));
  return values;
}

template <class T, class S>
void expect_rows(const RowsShape &s, tile::Precision precision = tile::Precision::full, bool in_registers = true) {
  SCOPED_TRACE(testing::PrintToString(s));
  const TileKernel kernel{"rows",
                          [=](Array<const T, 2> a, Array<const T, 2> b, Array<S, 2> less, Array<S, 2> sums) {
                            Tile<S> product = tile::zeros<S>({s.rows, s.columns});
                            tile::matmul(tile::load(a, {0, 0}, {s.rows, s.inner}),
                                         tile::load(b, {0, 0}, {s.inner, s.columns}), product, precision);
                            const Tile<S> own = product * S(2);
                            const Tile<S> most = tile::max(own, {1});
                            tile::store(less, {0, 0}, own - most);
                            tile::store(sums, {0, 0}, tile::sum(own, {1}));
                          },
                          TileOptions{.threads = s.threads}};
  const CudaOnHost host(kernel.ir());
  EXPECT_EQ(host.source().text.find("tile_reduce_sums<") != std::string::npos, in_registers);
  const std::vector<T> a = whole_numbers<T>(s.rows * s.inner, 3), b = whole_numbers<T>(s.inner * s.columns, 5);
  for (const ThreadOrder::Kind order : {ThreadOrder::Kind::FirstToLast, ThreadOrder::Kind::Random}) {
    std::vector<S> less(static_cast<std::size_t>(s.rows * s.columns)), sums(static_cast<std::size_t>(s.rows));
    CudaOnHost run = host;
    run.order = {order, 3};
    run.run({1}, {array(a, {s.rows, s.inner}), array(b, {s.inner, s.columns}), array(less, {s.rows, s.columns}),
                  array(sums, {s.rows, 1})});
    for (std::int64_t i = 0; i < s.rows; ++i) {
      std::vector<double> row;
      for (std::int64_t j = 0; j < s.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < s.inner; ++k)
          sum += static_cast<double>(a[static_cast<std::size_t>(i * s.inner + k)]) *
                 static_cast<double>(b[static_cast<std::size_t>(k * s.columns + j)]);
        row.push_back(2 * sum);
      }
      const double most = *std::ranges::max_element(row);
      double all = 0;
      for (std::int64_t j = 0; j < s.columns; ++j) {
        all += row[static_cast<std::size_t>(j)];
        ASSERT_EQ(static_cast<double>(less[static_cast<std::size_t>(i * s.columns + j)]),
                  row[static_cast<std::size_t>(j)] - most)
            << i << ' ' << j;
      }
      ASSERT_EQ(static_cast<double>(sums[static_cast<std::size_t>(i)]), all) << i;
    }
  }
}

TEST(CudaProductRows, OfMatrices) {
  for (const RowsShape &s : {RowsShape{64, 64, 32, 128},
                             {128, 64, 16, 256},
                             {16, 64, 16, 128},
                             {32, 16, 16, 32},
                             {33, 24, 16, 64},
                             {48, 88, 16, 128},
                             {17, 40, 16, 128}})
    expect_rows<half, float>(s);
  expect_rows<bfloat16, float>({64, 128, 16, 128});
  expect_rows<float, float>({64, 64, 8, 128}, tile::Precision::tf32);
  expect_rows<float, float>({20, 48, 8, 64}, tile::Precision::tf32);
}

TEST(CudaProductRows, OfDoubles) {
  for (const RowsShape &s : {RowsShape{32, 32, 8, 64}, {24, 40, 8, 64}}) expect_rows<double, double>(s);
}

TEST(CudaProductRows, OfThreads) {
  for (const RowsShape &s : {RowsShape{32, 32, 8, 64}, {64, 64, 8, 128}, {30, 36, 5, 64}, {48, 100, 4, 96}})
    expect_rows<float, float>(s);
}

// A sum that is scaled, row by row, before more is added to it, as a running maximum wants.
template <class T>
void expect_scaled(const RowsShape &s, int steps) {
  SCOPED_TRACE(testing::PrintToString(s));
  const TileKernel kernel{
      "scaled",
      [=](Array<const T, 2> a, Array<const T, 2> b, Array<const float, 1> scales, Array<float, 2> c, Int count) {
        Tile<float> sum = tile::zeros<float>({s.rows, s.columns});
        for (Int k : range(count, pipelined(2))) {
          const Tile<float> scale = tile::reshape(tile::load(scales, {k}, {s.rows}), {s.rows, 1});
          sum = sum * scale;
          tile::matmul(tile::load(a, {0, k}, {s.rows, s.inner}), tile::load(b, {k, 0}, {s.inner, s.columns}), sum);
        }
        tile::store(c, {0, 0}, sum);
      },
      TileOptions{.threads = s.threads}};
  CudaOnHost host(kernel.ir());
  const std::int64_t terms = s.inner * steps;
  const std::vector<T> a = whole_numbers<T>(s.rows * terms, 3), b = whole_numbers<T>(terms * s.columns, 5);
  std::vector<float> scales;
  for (std::int64_t i = 0; i < s.rows * steps; ++i) scales.push_back(i % 3 == 0 ? 0.5f : i % 3 == 1 ? 2.0f : 0.0f);
  std::vector<float> c(static_cast<std::size_t>(s.rows * s.columns));
  host.run({1}, {array(a, {s.rows, terms}), array(b, {terms, s.columns}), array(scales), array(c, {s.rows, s.columns}),
                 scalar(steps)});
  EXPECT_THAT(host.source().tile_memory.in_registers, testing::SizeIs(1));
  for (std::int64_t i = 0; i < s.rows; ++i)
    for (std::int64_t j = 0; j < s.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < terms; ++k) {
        if (k % s.inner == 0) sum *= static_cast<double>(scales[static_cast<std::size_t>(k / s.inner * s.rows + i)]);
        sum += static_cast<double>(a[static_cast<std::size_t>(i * terms + k)]) *
               static_cast<double>(b[static_cast<std::size_t>(k * s.columns + j)]);
      }
      ASSERT_EQ(static_cast<double>(c[static_cast<std::size_t>(i * s.columns + j)]), sum) << i << ' ' << j;
    }
}

TEST(CudaProductRows, SumsAreScaledInTheirPlace) {
  for (const int steps : {0, 1, 2, 5}) {
    expect_scaled<half>({64, 64, 16, 128}, steps);
    expect_scaled<float>({30, 36, 4, 64}, steps);
  }
}

}  // namespace
}  // namespace samite::test
