// Products whose factors are copied ahead by threads, between their products, run on the host in several thread orders.
#include "samite/samite.h"
#include "tests/codegen/cuda_on_host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace samite::test {
namespace {

struct Ahead {
  std::int64_t rows, columns, inner;  // of the tiles
  int threads = 128, stages = 3;
  bool a_transposed = false, b_transposed = false;
};
struct Extents3 {
  std::int64_t rows, columns, terms;
  std::int64_t between = 0;  // foreign elements after each row
};

// The numbers of the factors, and NaN in the gaps between rows.
std::vector<double> factor(std::int64_t rows, std::int64_t columns, std::int64_t between, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) values.push_back(std::uniform_real_distribution<double>(-1, 1)(engine));
    values.insert(values.end(), static_cast<std::size_t>(between), std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

class AheadOnHost {
 public:
  // `known`: the compiler is told that rows begin at multiples of 16 bytes.
  AheadOnHost(const Ahead &ahead, bool known) : ahead_(ahead), run_(ir_of(ahead), options(known)) {
    EXPECT_NE(run_.source().text.find("tile_multiply_ahead<"), std::string::npos);
  }

  void expect_products(const Extents3 &e, ThreadOrder order = {}) {
    run_.order = order;
    SCOPED_TRACE(testing::Message() << ahead_.rows << 'x' << ahead_.columns << 'x' << ahead_.inner << " stages "
                                    << ahead_.stages << ", " << e.rows << ' ' << e.columns << ' ' << e.terms << '+'
                                    << e.between);
    const std::int64_t a_rows = ahead_.a_transposed ? e.terms : e.rows,
                       a_columns = ahead_.a_transposed ? e.rows : e.terms,
                       b_rows = ahead_.b_transposed ? e.columns : e.terms,
                       b_columns = ahead_.b_transposed ? e.terms : e.columns;
    auto a = factor(a_rows, a_columns, e.between, 1), b = factor(b_rows, b_columns, e.between, 2);
    std::vector<double> c(static_cast<std::size_t>(e.rows * e.columns), 7);
    run_.run({(e.rows + ahead_.rows - 1) / ahead_.rows, (e.columns + ahead_.columns - 1) / ahead_.columns},
             {strided(a.data(), {a_rows, a_columns}, {a_columns + e.between, 1}),
              strided(b.data(), {b_rows, b_columns}, {b_columns + e.between, 1}), array(c, {e.rows, e.columns})});
    const auto of_a = [&](std::int64_t i, std::int64_t k) {
      const std::int64_t stride = a_columns + e.between;
      return a[static_cast<std::size_t>(ahead_.a_transposed ? k * stride + i : i * stride + k)];
    };
    const auto of_b = [&](std::int64_t k, std::int64_t j) {
      const std::int64_t stride = b_columns + e.between;
      return b[static_cast<std::size_t>(ahead_.b_transposed ? j * stride + k : k * stride + j)];
    };
    for (std::int64_t i = 0; i < e.rows; ++i)
      for (std::int64_t j = 0; j < e.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < e.terms; ++k) sum += of_a(i, k) * of_b(k, j);
        ASSERT_NEAR(c[static_cast<std::size_t>(i * e.columns + j)], sum, 1e-12) << i << ' ' << j;
      }
  }

 private:
  static ir::Kernel ir_of(const Ahead &p) {
    return TileKernel{"ahead",
                      [p](Array<const double, 2> a, Array<const double, 2> b, Array<double, 2> c) {
                        auto [i, j] = block_index<2>();
                        Tile<double> sum = tile::zeros<double>({p.rows, p.columns});
                        const Int steps = tile::ceil_div(a.extent(p.a_transposed ? 0 : 1), static_cast<int>(p.inner));
                        for (Int k : range(steps, pipelined(p.stages))) {
                          const Tile<double> left = p.a_transposed ? tile::load(a, {k, i}, {p.inner, p.rows})
                                                                   : tile::load(a, {i, k}, {p.rows, p.inner}),
                                             right = p.b_transposed ? tile::load(b, {j, k}, {p.columns, p.inner})
                                                                    : tile::load(b, {k, j}, {p.inner, p.columns});
                          tile::matmul(left, right, sum, {.a = p.a_transposed, .b = p.b_transposed});
                        }
                        tile::store(c, {i, j}, sum);
                      },
                      TileOptions{.threads = p.threads}}
        .ir();
  }
  static codegen::EmitOptions options(bool known) {
    codegen::EmitOptions options = cuda_options();
    for (const std::size_t factor : {0u, 1u}) options.arrays.at(factor).aligned_rows = known;
    return options;
  }

  Ahead ahead_;
  CudaOnHost run_;
};

// No step, fewer than stages, as many, and more; factors that end in a tile, in a unit of 16 bytes, or with both.
void expect_all_edges(const Ahead &ahead) {
  AheadOnHost known(ahead, true), unknown(ahead, false);
  for (const std::int64_t steps : {0, 1, 2, 3, 4, 7})
    known.expect_products({ahead.rows, ahead.columns, steps * ahead.inner});
  known.expect_products({ahead.rows + 2, 2 * ahead.columns - 2, 4 * ahead.inner + 2});
  unknown.expect_products({ahead.rows + 2, 2 * ahead.columns - 2, 4 * ahead.inner + 2});
  unknown.expect_products({2 * ahead.rows - 1, ahead.columns + 1, 4 * ahead.inner - 1},
                          {ThreadOrder::Kind::LastToFirst});
  unknown.expect_products({ahead.rows, ahead.columns, 5 * ahead.inner, 3});
  using Kind = ThreadOrder::Kind;
  for (const ThreadOrder order : {ThreadOrder{Kind::LastToFirst}, {Kind::Random, 3}, {Kind::Random, 4}})
    known.expect_products({2 * ahead.rows, ahead.columns, 6 * ahead.inner}, order);
}

TEST(CudaMultiplyAhead, AllWaysThatFactorsLie) {
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      expect_all_edges({.rows = 32, .columns = 64, .inner = 16, .a_transposed = a, .b_transposed = b});
}

// Windows that begin anywhere in a row, each one column after the previous one, in arrays whose rows have whole units.
TEST(CudaMultiplyAhead, WindowsBetweenUnits) {
  constexpr std::int64_t rows = 32, terms = 16, steps = 6, held = 32;
  const TileKernel kernel{"between",
                          [=](Array<const double, 2> a, Array<const double, 2> b, Array<double, 2> c) {
                            Tile<double> sum = tile::zeros<double>({rows, rows});
                            for (Int k : range(static_cast<int>(steps), pipelined(3)))
                              tile::matmul(tile::load_at(a, {0, k}, {rows, terms}),
                                           tile::load_at(b, {k, 0}, {terms, rows}), sum);
                            tile::store(c, {block_index(), 0}, sum);
                          },
                          TileOptions{.threads = 64}};
  codegen::EmitOptions options = cuda_options();
  for (const std::size_t factor : {0u, 1u}) options.arrays.at(factor).aligned_rows = true;
  const CudaOnHost run(kernel.ir(), options);
  EXPECT_NE(run.source().text.find("tile_multiply_ahead<"), std::string::npos);
  auto a = factor(rows, held, 0, 1), b = factor(held, rows, 0, 2);
  std::vector<double> c(static_cast<std::size_t>(rows * rows));
  run.run({1}, {array(a, {rows, held}), array(b, {held, rows}), array(c, {rows, rows})});
  const auto at = [](const std::vector<double> &x, std::int64_t i, std::int64_t j, std::int64_t columns) {
    return x[static_cast<std::size_t>(i * columns + j)];
  };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < rows; ++j) {
      double sum = 0;
      for (std::int64_t step = 0; step < steps; ++step)
        for (std::int64_t k = 0; k < terms; ++k) sum += at(a, i, step + k, held) * at(b, step + k, j, rows);
      ASSERT_NEAR(at(c, i, j, rows), sum, 1e-12) << i << ' ' << j;
    }
}

// One step of the tensor cores in each loop step; an even and an odd number of them.
TEST(CudaMultiplyAhead, AnyNumberOfTurns) {
  for (const std::int64_t inner : {8, 24, 32})
    expect_all_edges({.rows = 32, .columns = 32, .inner = inner, .stages = 4});
}

// One warp and eight, tiles that they do not share evenly, more stages than steps.
TEST(CudaMultiplyAhead, AnyShareOfAWarp) {
  expect_all_edges({.rows = 16, .columns = 8, .inner = 16, .threads = 32});
  expect_all_edges({.rows = 48, .columns = 24, .inner = 8, .threads = 64, .stages = 6});
  expect_all_edges({.rows = 64, .columns = 64, .inner = 16, .threads = 256});
}

}  // namespace
}  // namespace samite::test
