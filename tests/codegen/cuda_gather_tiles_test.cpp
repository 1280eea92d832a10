// Gathered gradients of tile kernels, compared with the same gradients scattered by blocks, run on the host.
#include "samite/jit/definition.h"
#include "samite/passes/adjoint/cast_copies.h"
#include "samite/passes/adjoint/gather_tiles.h"
#include "samite/passes/adjoint/split_loops.h"
#include "tests/codegen/cuda_tile_kernel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace samite::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Matrices of 50 x 41 times 41 x 38, in blocks of 16 x 16 and pieces of 8: no extent is a multiple of its tile's.
constexpr std::int64_t rows = 50, inner = 41, columns = 38;

template <class T>
std::vector<T> quarters(std::int64_t count, int seed) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(T(static_cast<float>((i * i * 7 + i * 3 + std::int64_t{5} * seed) % 11 - 5) / 4));
  return values;
}

// c is `made` of the sums.
template <class T, class S, class Made>
auto product_made(const char *name, int stages, const Made &made) {
  return TileKernel{name,
                    {"a", "b", "c"},
                    [=](Array<const T, 2> a, Array<const T, 2> b, Array<S, 2> c) {
                      auto [i, j] = block_index<2>();
                      auto sum = tile::zeros<std::conditional_t<(sizeof(T) < 4), float, T>>({16, 16});
                      for (Int k : range(tile::ceil_div(a.extent(1), 8), pipelined(stages)))
                        tile::matmul(tile::load(a, {i, k}, {16, 8}), tile::load(b, {k, j}, {8, 16}), sum);
                      tile::store(c, {i, j}, tile::cast<S>(made(sum)));
                    },
                    of_64};
}
template <class T, class S>
auto product(int stages) {
  return product_made<T, S>("product", stages, [](const auto &sum) { return sum; });
}

// All three gradients of a product's adjoint.
template <class T, class S>
struct Gradients {
  std::vector<T> a = quarters<T>(rows * inner, 4), b = quarters<T>(inner * columns, 5);
  std::vector<S> c = quarters<S>(rows * columns, 6);

  // `copies` are the kernel's parameters after the adjoint's.
  void run(const ir::Kernel &kernel, const std::vector<Argument> &copies = {}) {
    const auto a_values = quarters<T>(rows * inner, 1), b_values = quarters<T>(inner * columns, 2);
    const auto c_values = quarters<S>(rows * columns, 3);
    std::vector<Argument> arguments{array(a_values, {rows, inner}),   array(b_values, {inner, columns}),
                                    array(c_values, {rows, columns}), array(a, {rows, inner}),
                                    array(b, {inner, columns}),       array(c, {rows, columns})};
    arguments.insert(arguments.end(), copies.begin(), copies.end());
    CudaOnHost(kernel).run({4, 3}, arguments);
  }
};

template <class T>
double difference(const std::vector<T> &a, const std::vector<T> &b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

template <class T, class S, class K>
void expect_gathered_same(const K &kernel, double tolerance, passes::Gathering how) {
  const auto *gathered = kernel.definition()->gathered_adjoint(7, how);
  ASSERT_NE(gathered, nullptr);
  EXPECT_THAT(ir::to_string(gathered->gather), Not(HasSubstr("atomic")));
  Gradients<T, S> scattered, own;
  scattered.run(kernel.definition()->adjoint(7, false).kernel);
  own.run(gathered->gather);
  EXPECT_EQ(own.c, (Gradients<T, S>().c)) << "the gather leaves what it takes";
  own.run(gathered->clear);
  EXPECT_LE(difference(own.a, scattered.a), tolerance);
  EXPECT_LE(difference(own.b, scattered.b), tolerance);
  EXPECT_EQ(own.c, std::vector<S>(rows * columns));
  EXPECT_EQ(scattered.c, own.c);

  const auto copies = passes::copy_casts(*gathered);
  ASSERT_EQ(copies.has_value(), sizeof(T) < sizeof(S));
  if (!copies) return;
  ASSERT_THAT(copies->copies, testing::ElementsAre(passes::CotangentCopy{6, 5, scalar_type_of<T>}));
  Gradients<T, S> copied;
  std::vector<T> copy(rows * columns, T(99.0f));
  for (const ir::Kernel *part : {&copies->copy, &copies->gather}) copied.run(*part, {array(copy, {rows, columns})});
  for (std::size_t i = 0; i < copy.size(); ++i) ASSERT_EQ(copy[i], T(static_cast<float>(copied.c[i]))) << i;
  EXPECT_EQ(copied.c, (Gradients<T, S>().c)) << "the copy leaves what it takes";
  EXPECT_EQ(copied.a, own.a) << "not a bit changes";
  EXPECT_EQ(copied.b, own.b);
}
template <class T, class S, class K>
void expect_gathered_same(const K &kernel, double tolerance) {
  expect_gathered_same<T, S>(kernel, tolerance, passes::Gathering::even_if_slower);
  expect_gathered_same<T, S>(kernel, tolerance, passes::Gathering::wide);
}

TEST(CudaGatherTiles, ProductsOfAllTypes) {
  expect_gathered_same<float, float>(product<float, float>(1), 1e-4);
  expect_gathered_same<double, double>(product<double, double>(2), 1e-12);
  // Sums of 16-bit gradients are rounded once here, and once per block if they are scattered.
  expect_gathered_same<bfloat16, float>(product<bfloat16, float>(3), 0.5);
  expect_gathered_same<half, half>(product<half, half>(2), 0.1);
  expect_gathered_same<half, float>(product<half, float>(1), 0.1);
}

// A product with a cotangent computed from its sums.
template <class T, class S>
auto squared_product(int stages) {
  return product_made<T, S>("squared_product", stages,
                            [](const auto &sum) { return sum * sum / 16 + exp(-sum * sum); });
}

template <class T, class S>
void expect_computed_same(int stages, double tolerance) {
  const auto kernel = squared_product<T, S>(stages);
  for (const auto how : {passes::Gathering::even_if_slower, passes::Gathering::wide}) {
    const auto *gathered = kernel.definition()->gathered_adjoint(7, how);
    ASSERT_NE(gathered, nullptr);
    ASSERT_TRUE(gathered->before);
    EXPECT_EQ(gathered->has_wide_windows(), how == passes::Gathering::wide);
    EXPECT_TRUE(gathered->clear.body.empty());
    for (const ir::Kernel *part : {&*gathered->before, &gathered->gather})
      EXPECT_THAT(ir::to_string(*part), Not(HasSubstr("atomic")));
    ASSERT_THAT(gathered->copies, testing::ElementsAre(passes::CotangentCopy{6, 5, scalar_type_of<T>}));
    Gradients<T, S> scattered, own;
    scattered.run(kernel.definition()->adjoint(7, false).kernel);
    std::vector<T> copy(rows * columns, T(99.0f));
    own.run(*gathered->before, {array(copy, {rows, columns})});
    EXPECT_EQ(own.c, scattered.c) << "the cotangents are taken";
    own.run(gathered->gather, {array(copy, {rows, columns})});
    EXPECT_LE(difference(own.a, scattered.a), tolerance);
    EXPECT_LE(difference(own.b, scattered.b), tolerance);
  }
}

TEST(CudaGatherTiles, ProductsWhoseCotangentIsComputed) {
  expect_computed_same<float, float>(2, 1e-3);
  expect_computed_same<double, double>(1, 1e-12);
  expect_computed_same<bfloat16, float>(3, 2);
  expect_computed_same<half, half>(2, 0.3);
}

// For a kernel whose gradients are only partly gathered.
TEST(CudaGatherTiles, WhatDoesNotFitStaysBesideWhatDoes) {
  TileKernel layer{
      "layer",
      {"a", "b", "bias", "c"},
      [](Array<const double, 2> a, Array<const double, 2> b, Array<const double, 1> bias, Array<double, 2> c) {
        auto [i, j] = block_index<2>();
        auto sum = tile::zeros<double>({16, 16});
        for (Int k : range(tile::ceil_div(a.extent(0), 8))) {
          auto right = tile::load(b, {j, k}, {16, 8});
          tile::matmul(tile::load(a, {k, i}, {8, 16}), right, sum, {.a = true, .b = true});
        }
        tile::store(c, {i, j}, sum + tile::reshape(tile::load(bias, {j}, {16}), {1, 16}));
      },
      of_64};
  const auto *gathered = layer.definition()->gathered_adjoint(15, passes::Gathering::even_if_slower);
  ASSERT_NE(gathered, nullptr);
  ASSERT_EQ(gathered->dealt.size(), 2u);
  EXPECT_THAT(gathered->dealt[0].launch_dimensions, testing::ElementsAre(1));
  EXPECT_THAT(gathered->dealt[1].launch_dimensions, testing::ElementsAre(0));
  const auto run = [&](const ir::Kernel &first, const ir::Kernel *then) {
    const auto a = quarters<double>(rows * inner, 1), b = quarters<double>(inner * columns, 2),
               bias = quarters<double>(columns, 3), c = quarters<double>(rows * columns, 4);
    std::vector<double> da = quarters<double>(rows * inner, 5), db = quarters<double>(inner * columns, 6),
                        dbias = quarters<double>(columns, 7), dc = quarters<double>(rows * columns, 8);
    for (const ir::Kernel *kernel : {&first, then})
      if (kernel)
        CudaOnHost(*kernel).run({4, 3},
                                {array(a, {inner, rows}), array(b, {columns, inner}), array(bias, {columns}),
                                 array(c, {rows, columns}), array(da, {inner, rows}), array(db, {columns, inner}),
                                 array(dbias, {columns}), array(dc, {rows, columns})});
    return std::vector{da, db, dbias, dc};
  };
  const auto scattered = run(layer.definition()->adjoint(15, false).kernel, nullptr);
  const auto own = run(gathered->gather, &gathered->clear);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_LE(difference(own[i], scattered[i]), 1e-12) << i;
}

// A product in such tiles. The factors may be transposed, and the loop may count down.
struct ProductShape {
  std::int64_t rows, columns, terms;  // of a tile
  std::int64_t m, n, k;               // of the arrays
  bool transposed_a, transposed_b, down;
};

auto product(const ProductShape &s) {
  return TileKernel{"product",
                    {"a", "b", "c"},
                    [=](Array<const double, 2> a, Array<const double, 2> b, Array<double, 2> c) {
                      auto [i, j] = block_index<2>();
                      auto sum = tile::zeros<double>({s.rows, s.columns});
                      const Int count = tile::ceil_div(a.extent(s.transposed_a ? 0 : 1), s.terms);
                      const auto add = [&](const Int &k) {
                        tile::matmul(s.transposed_a ? tile::load(a, {k, i}, {s.terms, s.rows})
                                                    : tile::load(a, {i, k}, {s.rows, s.terms}),
                                     s.transposed_b ? tile::load(b, {j, k}, {s.columns, s.terms})
                                                    : tile::load(b, {k, j}, {s.terms, s.columns}),
                                     sum, {.a = s.transposed_a, .b = s.transposed_b});
                      };
                      if (s.down)
                        for (Int k : range(count - 1, -1, -1)) add(k);
                      else
                        for (Int k : range(count)) add(k);
                      tile::store(c, {i, j}, sum);
                    },
                    of_64};
}

// Both gradients by wide windows, if there are any, equal the scattered ones: for whole numbers, exactly. Returns the
// number of gradients with wide windows.
int expect_wide_windows_same(const ProductShape &s) {
  const auto kernel = product(s);
  const auto *gathered = kernel.definition()->gathered_adjoint(7, passes::Gathering::wide);
  if (!gathered) return 0;
  const auto run = [&](const std::vector<const ir::Kernel *> &kernels) {
    const auto a = quarters<double>(s.m * s.k, 1), b = quarters<double>(s.k * s.n, 2),
               c = quarters<double>(s.m * s.n, 3);
    std::vector<double> da = quarters<double>(s.m * s.k, 4), db = quarters<double>(s.k * s.n, 5),
                        dc = quarters<double>(s.m * s.n, 6);
    const std::int64_t a0 = s.transposed_a ? s.k : s.m, a1 = s.transposed_a ? s.m : s.k;
    const std::int64_t b0 = s.transposed_b ? s.n : s.k, b1 = s.transposed_b ? s.k : s.n;
    for (const ir::Kernel *own : kernels)
      CudaOnHost(*own).run({(s.m + s.rows - 1) / s.rows, (s.n + s.columns - 1) / s.columns},
                           {array(a, {a0, a1}), array(b, {b0, b1}), array(c, {s.m, s.n}), array(da, {a0, a1}),
                            array(db, {b0, b1}), array(dc, {s.m, s.n})});
    return std::vector{da, db, dc};
  };
  const auto scattered = run({&kernel.definition()->adjoint(7, false).kernel});
  EXPECT_EQ(run({&gathered->gather, &gathered->clear}), scattered);
  std::vector<ir::Kernel> apart = passes::split_loops(gathered->gather);
  EXPECT_EQ(apart.size(), 2u);
  std::vector<const ir::Kernel *> parts{&gathered->clear};
  for (const ir::Kernel &own : apart) parts.insert(parts.begin(), &own);  // in any order
  EXPECT_EQ(run(parts), scattered);
  return static_cast<int>(
      std::ranges::count_if(gathered->dealt, [](const auto &loop) { return loop.wide.has_value(); }));
}

TEST(CudaGatherTiles, WideWindowsOfRandomProducts) {
  std::mt19937 engine(17);
  const auto any = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(engine);
  };
  int wide = 0, all = 0;
  for (int i = 0; i < 8; ++i) {
    const std::int64_t terms = 4 * any(1, 2), rows = terms * any(1, 4), columns = terms * any(1, 4) + 2 * (i == 6);
    const ProductShape shape{.rows = rows,
                             .columns = columns,
                             .terms = terms,
                             .m = any(1, 40),
                             .n = any(1, 40),
                             .k = any(1, 70),
                             .transposed_a = i % 2 == 1,
                             .transposed_b = i / 2 % 2 == 1,
                             .down = i >= 4};
    SCOPED_TRACE(testing::Message() << rows << " x " << columns << " x " << terms << " of " << shape.m << " x "
                                    << shape.n << " x " << shape.k << ", " << i);
    const int own = expect_wide_windows_same(shape);
    // Those of a's gradient if the columns of a tile are several times its terms, and likewise for b's.
    EXPECT_EQ(own, (columns > terms && columns % terms == 0) + (rows > terms));
    wide += own, all += 2;
  }
  EXPECT_GT(2 * wide, all) << "the test is about wide windows";
  EXPECT_LT(wide, all);
}

// A kernel with three dimensions of blocks, two of which share each window: y(i, j, l) is the sum over k of windows of
// x at (i, k), which overlap if `apart` is less than 6.
auto windows(std::int64_t apart, bool down, int stages) {
  return TileKernel{"windows",
                    {"x", "y"},
                    [=](Array<const double, 2> x, Array<double, 3> y) {
                      auto [i, j, l] = block_index<3>();
                      auto sum = tile::zeros<double>({1, 1, 6});
                      const Int count = tile::ceil_div(x.extent(1), apart);
                      for (Int n : range(count, pipelined(stages))) {
                        Int k = down ? count - 1 - n : n;
                        sum += tile::reshape(tile::load_at(x, {i, apart * k}, {1, 6}), {1, 1, 6}) * 2.0;
                      }
                      tile::store(y, {i, j, l}, sum);
                    },
                    of_64};
}

TEST(CudaGatherTiles, FewAndManyWindowsForTheBlocksThatMeet) {
  int atomic = 0;
  for (const std::int64_t extent : {1, 5, 13, 40})
    for (const std::int64_t apart : {4, 6, 7}) {
      const auto kernel = windows(apart, extent % 3 == 1, static_cast<int>(1 + extent % 3));
      const auto *gathered = kernel.definition()->gathered_adjoint(3, passes::Gathering::even_if_slower);
      ASSERT_NE(gathered, nullptr);
      EXPECT_THAT(gathered->dealt.at(0).launch_dimensions, testing::ElementsAre(1, 2));
      const bool is_atomic = ir::to_string(gathered->gather).find("atomic") != std::string::npos;
      EXPECT_EQ(is_atomic, apart < 6);
      atomic += is_atomic;
      const std::int64_t planes = 3, lines = 2, across = 3;
      const auto run = [&](const ir::Kernel &first, const ir::Kernel *then) {
        const auto x = quarters<double>(planes * extent, 1), y = quarters<double>(planes * lines * across * 6, 2);
        std::vector<double> dx = quarters<double>(planes * extent, 3),
                            dy = quarters<double>(planes * lines * across * 6, 4);
        for (const ir::Kernel *each : {&first, then})
          if (each)
            CudaOnHost(*each).run({planes, lines, across},
                                  {array(x, {planes, extent}), array(y, {planes, lines, across * 6}),
                                   array(dx, {planes, extent}), array(dy, {planes, lines, across * 6})});
        return std::vector{dx, dy};
      };
      // Sums of quarters of whole numbers: exact in any order.
      EXPECT_EQ(run(gathered->gather, &gathered->clear), run(kernel.definition()->adjoint(3, false).kernel, nullptr))
          << extent << ' ' << apart;
    }
  EXPECT_EQ(atomic, 4);
}

}  // namespace
}  // namespace samite::test
