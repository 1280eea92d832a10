// Products of tiles as CUDA's threads compute them, in registers and on tensor cores, run on the host and compared with
// sums in double.
#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/codegen/cuda_on_host.h"

#include <random>

namespace samite::test {
namespace {

struct Shape {
  std::int64_t rows, columns, inner;
};
struct How {
  tile::Transposes transposed = {};
  tile::Precision precision = tile::Precision::full;
  int threads = 64, stages = 1;
  bool sums_in_shared_memory = false;
};

template <class T, class C>
auto product_kernel(Shape tile, std::int64_t inner, How how) {
  const int steps = static_cast<int>((inner + tile.inner - 1) / tile.inner);
  return TileKernel{
      "product",
      [=](Array<const T, 2> a, Array<const T, 2> b, Array<C, 2> c) {
        const auto [m, n, k] = tile;
        auto [i, j] = block_index<2>();
        Tile<C> sum = tile::zeros<C>({m, n});
        for (Int step : range(steps, pipelined(how.stages))) {
          Tile<T> x = how.transposed.a ? tile::load(a, {step, i}, {k, m}) : tile::load(a, {i, step}, {m, k});
          Tile<T> y = how.transposed.b ? tile::load(b, {j, step}, {n, k}) : tile::load(b, {step, j}, {k, n});
          tile::matmul(x, y, sum, how.transposed, how.precision);
        }
        tile::store(c, {i, j}, sum);
      },
      TileOptions{.threads = how.threads, .sums_in_shared_memory = how.sums_in_shared_memory}};
}

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>)
      values.push_back(static_cast<T>(std::uniform_int_distribution<int>(std::is_signed_v<T> ? -100 : 0, 100)(engine)));
    else
      values.push_back(T(static_cast<float>(std::uniform_real_distribution<double>(-1, 1)(engine))));
  }
  return values;
}

// The arrays are of another size than the tiles, which reach beyond them.
template <class T, class C = lang::Accumulator<T>>
void expect_product(Shape tile, Shape whole, How how = {}, double tolerance = 1e-5) {
  const auto a = random_values<T>(whole.rows * whole.inner, 1), b = random_values<T>(whole.inner * whole.columns, 2);
  std::vector<C> c(static_cast<std::size_t>(whole.rows * whole.columns), C(-77));
  const auto kernel = product_kernel<T, C>(tile, whole.inner, how);
  const auto turned = [](bool turned, std::int64_t rows, std::int64_t columns) {
    return turned ? std::vector<long long>{columns, rows} : std::vector<long long>{rows, columns};
  };
  const CudaOnHost run(kernel.ir());
  run.run({(whole.rows + tile.rows - 1) / tile.rows, (whole.columns + tile.columns - 1) / tile.columns},
          {array(a, turned(how.transposed.a, whole.rows, whole.inner)),
           array(b, turned(how.transposed.b, whole.inner, whole.columns)), array(c, {whole.rows, whole.columns})});
  for (std::int64_t i = 0; i < whole.rows; ++i)
    for (std::int64_t j = 0; j < whole.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < whole.inner; ++k) {
        const auto at_a = how.transposed.a ? k * whole.rows + i : i * whole.inner + k;
        const auto at_b = how.transposed.b ? j * whole.inner + k : k * whole.columns + j;
        sum += static_cast<double>(a[static_cast<std::size_t>(at_a)]) *
               static_cast<double>(b[static_cast<std::size_t>(at_b)]);
      }
      ASSERT_NEAR(static_cast<double>(c[static_cast<std::size_t>(i * whole.columns + j)]), sum, tolerance)
          << i << ' ' << j << '\n'
          << run.source().text;
    }
}

// For all transposes, with even and odd extents, in aligned and unaligned rows.
template <class T, class C = lang::Accumulator<T>>
void expect_products(How how = {}, double tolerance = 1e-5) {
  for (const tile::Transposes transposed : {tile::Transposes{}, {.a = true}, {.b = true}, {true, true}}) {
    how.transposed = transposed;
    SCOPED_TRACE(::testing::Message() << transposed.a << transposed.b);
    expect_product<T, C>({32, 32, 32}, {32, 64, 64}, how, tolerance);
    expect_product<T, C>({21, 35, 19}, {30, 37, 43}, how, tolerance);
  }
}

TEST(CudaMultiply, Float) { expect_products<float>(); }
TEST(CudaMultiply, TF32) { expect_products<float>({.precision = tile::Precision::tf32}, 2e-2); }
TEST(CudaMultiply, Half) { expect_products<half>(); }
TEST(CudaMultiply, BFloat16) { expect_products<bfloat16>(); }
TEST(CudaMultiply, Float8E4M3) { expect_products<f8e4m3>(); }
TEST(CudaMultiply, Float8E5M2) { expect_products<f8e5m2>(); }
TEST(CudaMultiply, Int8) { expect_products<std::int8_t>(); }
TEST(CudaMultiply, UInt8) { expect_products<std::uint8_t>(); }
TEST(CudaMultiply, Int32) { expect_products<std::int32_t>(); }
TEST(CudaMultiply, Double) { expect_products<double>({}, 1e-12); }
TEST(CudaMultiply, HalfSumsInHalf) { expect_product<half, half>({32, 16, 16}, {40, 20, 16}, {}, 5e-3); }

// With whole pieces of B's columns for each warp; and with missing rows of A, and missing terms.
TEST(CudaMultiply, TF32InPairs) {
  How how{.precision = tile::Precision::tf32};
  for (const bool transposed_a : {false, true}) {
    how.transposed.a = transposed_a;
    expect_product<float>({64, 64, 32}, {70, 64, 64}, how, 2e-2);
    expect_product<float>({24, 32, 20}, {30, 64, 43}, how, 2e-2);
    expect_product<float>({10, 48, 13}, {12, 90, 20}, how, 2e-2);
    expect_product<float>({32, 32, 32}, {32, 32, 64}, {how.transposed, how.precision, 64, 3}, 2e-2);
    expect_product<float>({32, 32, 16}, {40, 64, 32}, {how.transposed, how.precision, 64, 1, true}, 2e-2);
  }
}

TEST(CudaMultiply, SmallTilesAndManyThreads) {
  expect_product<float>({5, 6, 4}, {12, 17, 17}, {.threads = 128});
  expect_product<double>({1, 3, 2}, {4, 7, 5}, {.threads = 96}, 1e-12);
  expect_product<bfloat16>({8, 4, 8}, {12, 17, 24}, {.threads = 32});
}

// Threads with single elements, in arrays of whole tiles and of others.
TEST(CudaMultiply, SingleElements) {
  for (const tile::Transposes transposed : {tile::Transposes{}, {.a = true}, {.b = true}, {true, true}})
    for (const int threads : {128, 256}) {
      expect_product<float>({16, 32, 20}, {32, 64, 40}, {.transposed = transposed, .threads = threads});
      expect_product<float>({16, 32, 20}, {25, 43, 31}, {.transposed = transposed, .threads = threads});
      expect_product<float>({12, 8, 9}, {24, 16, 18}, {.transposed = transposed, .threads = threads});
      expect_product<float>({12, 8, 9}, {17, 11, 14}, {.transposed = transposed, .threads = threads});
    }
}

// Rows of four pieces or more are stored 16 bytes at a time, if the array's rows begin at multiples of that.
template <class T>
void expect_stored(Shape tile, Shape whole) {
  const TileKernel product{"product",
                           [=](Array<const T, 2> a, Array<const T, 2> b, Array<T, 2> c, Array<float, 2> d) {
                             auto [i, j] = block_index<2>();
                             Tile<float> sum = tile::matmul(tile::load(a, {i, 0}, {tile.rows, tile.inner}),
                                                            tile::load(b, {0, j}, {tile.inner, tile.columns}));
                             tile::store(c, {i, j}, tile::cast<T>(sum * 2.0f));
                             tile::store(d, {i, j}, sum);
                           },
                           TileOptions{.threads = 128}};
  const auto a = random_values<T>(whole.rows * whole.inner, 1), b = random_values<T>(whole.inner * whole.columns, 2);
  std::vector<T> c(static_cast<std::size_t>(whole.rows * whole.columns), T(-77.0f));
  std::vector<float> d(c.size());
  const CudaOnHost run(product.ir());
  run.run({(whole.rows + tile.rows - 1) / tile.rows, (whole.columns + tile.columns - 1) / tile.columns},
          {array(a, {whole.rows, whole.inner}), array(b, {whole.inner, whole.columns}),
           array(c, {whole.rows, whole.columns}), array(d, {whole.rows, whole.columns})});
  EXPECT_NE(plan_text(product.ir()).find(" in_quads"), std::string::npos) << plan_text(product.ir());
  for (std::size_t i = 0; i < c.size(); ++i)
    ASSERT_EQ(static_cast<float>(c[i]), static_cast<float>(T(d[i] * 2.0f)))
        << i / static_cast<std::size_t>(whole.columns) << ' ' << i % static_cast<std::size_t>(whole.columns);
}

TEST(CudaMultiply, StoredInQuads) {
  expect_stored<bfloat16>({64, 64, 16}, {128, 128, 16});
  expect_stored<half>({32, 128, 16}, {64, 128, 16});
  expect_stored<bfloat16>({64, 64, 16}, {100, 136, 16});  // beyond the edges, of whole units
  expect_stored<bfloat16>({64, 64, 16}, {128, 130, 16});  // of no whole units
}

// Sums are added to elements that no other block touches, several together if the arrays have whole units. The sums
// themselves are stored as well.
template <class T, class S>
void expect_added(Shape tile, Shape whole, int threads) {
  SCOPED_TRACE(testing::Message() << tile.rows << 'x' << tile.columns << " of " << whole.rows << 'x' << whole.columns
                                  << ", " << threads << " threads");
  constexpr std::uint32_t first_added = 4;
  const TileKernel product{"product",
                           [=](Array<const T, 2> a, Array<const T, 2> b, Array<T, 2> narrow, Array<S, 2> wide,
                               Array<T, 2> narrow_added, Array<S, 2> wide_added) {
                             auto [i, j] = block_index<2>();
                             Tile<S> sum = tile::matmul(tile::load(a, {i, 0}, {tile.rows, tile.inner}),
                                                        tile::load(b, {0, j}, {tile.inner, tile.columns}));
                             tile::store(narrow, {i, j}, tile::cast<T>(sum * S(2)));
                             tile::store(wide, {i, j}, sum);
                             tile::store(narrow_added, {i, j}, tile::cast<T>(sum * S(2)));
                             tile::store(wide_added, {i, j}, sum);
                           },
                           TileOptions{.threads = threads}};
  ir::Kernel adds = product.ir();
  for (ir::Stmt &stmt : adds.body)
    if (const auto *store = stmt.as<ir::Store>(); store && store->array >= first_added)
      stmt = {ir::Accumulate{store->array, store->indices, store->value, false}, stmt.where()};
  const auto a = random_values<T>(whole.rows * whole.inner, 1), b = random_values<T>(whole.inner * whole.columns, 2);
  const std::int64_t count = whole.rows * whole.columns;
  const auto narrow_before = random_values<T>(count, 3);
  const auto wide_before = random_values<S>(count, 4);
  std::vector<T> narrow(narrow_before), narrow_added(narrow_before);
  std::vector<S> wide(wide_before), wide_added(wide_before);
  const auto as_whole = [&](auto &values) { return array(values, {whole.rows, whole.columns}); };
  const CudaOnHost on_host(adds);
  on_host.run({(whole.rows + tile.rows - 1) / tile.rows, (whole.columns + tile.columns - 1) / tile.columns},
              {array(a, {whole.rows, whole.inner}), array(b, {whole.inner, whole.columns}), as_whole(narrow),
               as_whole(wide), as_whole(narrow_added), as_whole(wide_added)});
  EXPECT_NE(plan_text(adds).find("add @p4 rows (0)"), std::string::npos) << plan_text(adds);
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const auto of = [](auto value) { return static_cast<S>(value); };
    ASSERT_EQ(of(narrow_added[i]), of(T(of(narrow_before[i]) + of(narrow[i])))) << i;
    ASSERT_EQ(wide_added[i], wide_before[i] + wide[i]) << i;
  }
}

TEST(CudaMultiply, AddedTogether) {
  expect_added<bfloat16, float>({64, 64, 16}, {128, 128, 16}, 32);
  expect_added<bfloat16, float>({64, 64, 16}, {100, 136, 16}, 128);  // beyond the edges, of whole units
  expect_added<bfloat16, float>({64, 64, 16}, {128, 130, 16}, 256);  // of no whole units
  expect_added<half, float>({32, 128, 16}, {64, 128, 16}, 128);
  expect_added<half, float>({128, 32, 16}, {128, 32, 16}, 256);
  expect_added<float, float>({64, 64, 8}, {64, 128, 8}, 128);
  expect_added<float, float>({64, 64, 8}, {63, 66, 8}, 128);
  expect_added<float, float>({16, 32, 8}, {16, 32, 8}, 32);
  expect_added<double, double>({32, 32, 8}, {32, 64, 8}, 64);
}

TEST(CudaMultiply, SumsInSharedMemory) {
  expect_product<float>({33, 20, 16}, {40, 40, 32}, {.sums_in_shared_memory = true});
  expect_product<half>({33, 20, 16}, {40, 40, 32}, {.sums_in_shared_memory = true});
}

TEST(CudaMultiply, LoadedAhead) {
  for (int stages : {2, 3, 5}) {
    expect_product<float>({32, 32, 16}, {64, 32, 96}, {.stages = stages});
    expect_product<bfloat16>({32, 32, 16}, {64, 35, 75}, {.stages = stages});
    expect_product<bfloat16>({32, 32, 16}, {32, 32, 16}, {.stages = stages});
  }
}

// Element-wise operations after a product run in the registers of its sums.
TEST(CudaMultiply, Epilogue) {
  const TileKernel layer{
      "layer",
      [](Array<const float, 2> x, Array<const float, 2> w, Array<const float, 1> bias, Array<float, 2> y) {
        auto [i, j] = block_index<2>();
        Tile<float> sum = tile::zeros<float>({20, 24});
        for (Int k : range(2)) tile::matmul(tile::load(x, {i, k}, {20, 16}), tile::load(w, {k, j}, {16, 24}), sum);
        Tile<float> row = tile::reshape(tile::load(bias, {j}, {24}), {1, 24});
        Tile<float> out = max(sum * 0.5f + row, 0.0f);
        tile::store(y, {i, j}, out + tile::coordinate<std::int32_t>({20, 24}, 0));
      },
      TileOptions{.threads = 64}};
  const auto x = random_values<float>(30 * 32, 1), w = random_values<float>(32 * 40, 2),
             bias = random_values<float>(40, 3);
  std::vector<float> y(30 * 40);
  const CudaOnHost run(layer.ir());
  EXPECT_EQ(run.source().tile_memory.in_registers.size(), 1u) << run.source().tile_memory.to_string();
  run.run({2, 2}, {array(x, {30, 32}), array(w, {32, 40}), array(bias), array(y, {30, 40})});
  for (std::size_t i = 0; i < 30; ++i)
    for (std::size_t j = 0; j < 40; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 32; ++k) sum += double(x[i * 32 + k]) * double(w[k * 40 + j]);
      ASSERT_NEAR(y[i * 40 + j], std::max(sum * 0.5 + double(bias[j]), 0.0) + double(i % 20), 1e-5) << i << ' ' << j;
    }
}

// Loops that store some sums and change them find all of them unchanged: in tiles fully inside the arrays, at edges,
// and in rows that do not begin at whole units.
template <class T>
void expect_sums_kept() {
  const TileKernel twice{"twice",
                         [](Array<const T, 2> x, Array<const T, 2> w, Array<const float, 1> table, Array<float, 2> y,
                            Array<float, 2> z, Array<float, 2> u) {
                           auto [i, j] = block_index<2>();
                           Tile<float> sum = tile::zeros<float>({32, 32});
                           tile::matmul(tile::load(x, {i, 0}, {32, 16}), tile::load(w, {0, j}, {16, 32}), sum);
                           tile::store(y, {i, j}, sum);
                           const Tile<std::int32_t> column = tile::coordinate<std::int32_t>({32, 32}, 1);
                           sum = sum * 2.0f + tile::gather(table, column);
                           tile::store(z, {i, j}, sum);
                           tile::store(u, {i, j}, sum - 1.0f);
                         },
                         TileOptions{.threads = 64}};
  const CudaOnHost run(twice.ir());
  for (const auto &[rows, columns] : {std::pair{64u, 64u}, {40u, 44u}, {33u, 45u}}) {
    const auto x = random_values<T>(rows * 16, 1), w = random_values<T>(16 * columns, 2);
    const auto table = random_values<float>(20, 3);  // elements gathered beyond it are zero
    std::vector<float> y(rows * columns), z = y, u = y;
    run.run({(rows + 31) / 32, (columns + 31) / 32},
            {array(x, {rows, 16}), array(w, {16, columns}), array(table), array(y, {rows, columns}),
             array(z, {rows, columns}), array(u, {rows, columns})});
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 16; ++k)
          sum += static_cast<double>(x[i * 16 + k]) * static_cast<double>(w[k * columns + j]);
        const double second = sum * 2 + (j % 32 < 20 ? static_cast<double>(table[j % 32]) : 0);
        ASSERT_NEAR(y[i * columns + j], sum, 1e-5) << rows << ": " << i << ' ' << j << '\n' << run.source().text;
        ASSERT_NEAR(z[i * columns + j], second, 1e-5) << rows << ": " << i << ' ' << j;
        ASSERT_NEAR(u[i * columns + j], second - 1, 1e-5) << rows << ": " << i << ' ' << j;
      }
  }
}
TEST(CudaMultiply, SumsAreKeptByLoopsOverThem) {
  expect_sums_kept<float>();
  expect_sums_kept<bfloat16>();
}

// Factors with several rows in each 128 bytes: heads of attention, for few threads and many.
template <class T>
void expect_short_rows(std::vector<tile::Transposes> ways, std::vector<int> threads, How how = {},
                       double tolerance = 1e-5) {
  for (const tile::Transposes transposed : ways)
    for (const int each : threads)
      for (const std::int64_t units : {2, 4}) {
        SCOPED_TRACE(::testing::Message() << transposed.a << transposed.b << ' ' << each << ' ' << units);
        how.transposed = transposed;
        how.threads = each;
        const std::int64_t columns = units * 16 / static_cast<std::int64_t>(sizeof(T));
        // B's rows are short, or A's, depending on which is transposed.
        expect_product<T>(transposed.b ? Shape{64, 64, columns} : Shape{64, columns, 32},
                          transposed.b ? Shape{64, 64, columns} : Shape{64, columns, 32}, how, tolerance);
      }
}

TEST(CudaMultiply, ShortRows) {
  const tile::Transposes none{}, a{.a = true}, b{.b = true}, both{true, true};
  expect_short_rows<float>({none, a, b, both}, {64, 256});
  expect_short_rows<float>({b}, {32, 1024});
  expect_short_rows<std::int32_t>({b, none}, {64, 256});
  expect_short_rows<float>({b, none}, {128}, {.precision = tile::Precision::tf32}, 2e-2);
  expect_short_rows<double>({b, none}, {128}, {}, 1e-12);
  expect_short_rows<half>({b, none}, {128}, {}, 1e-4);
  expect_short_rows<std::int8_t>({b, none}, {128});
}

// A tile that is one factor directly and another one transposed: the gradients of exp(Q K^T).
TEST(CudaMultiply, GradientsOfScores) {
  for (const std::int64_t head : {8, 16})
    for (const int threads : {64, 256}) {
      const TileKernel scores{"scores",
                              {"q", "k", "s"},
                              [=](Array<const float, 2> q, Array<const float, 2> k, Array<float, 2> s) {
                                auto product = tile::matmul(tile::load(q, {0, 0}, {64, head}),
                                                            tile::load(k, {0, 0}, {64, head}), {.b = true});
                                tile::store(s, {0, 0}, exp(product));
                              },
                              TileOptions{.threads = threads}};
      const auto q = random_values<float>(64 * head, 1), k = random_values<float>(64 * head, 2),
                 seed = random_values<float>(64 * 64, 3);
      std::vector<float> s(64 * 64), dq(q.size()), dk(k.size()), ds = seed;
      CudaOnHost(scores.definition()->adjoint(7, false).kernel)
          .run({1}, {array(q, {64, head}), array(k, {64, head}), array(s, {64, 64}), array(dq, {64, head}),
                     array(dk, {64, head}), array(ds, {64, 64})});
      std::vector<double> expected_q(q.size()), expected_k(k.size());
      const auto columns = static_cast<std::size_t>(head);
      for (std::size_t i = 0; i < 64; ++i)
        for (std::size_t j = 0; j < 64; ++j) {
          double product = 0;
          for (std::size_t c = 0; c < columns; ++c) product += double(q[i * columns + c]) * double(k[j * columns + c]);
          const double cotangent = double(seed[i * 64 + j]) * std::exp(product);
          for (std::size_t c = 0; c < columns; ++c) {
            expected_q[i * columns + c] += cotangent * double(k[j * columns + c]);
            expected_k[j * columns + c] += cotangent * double(q[i * columns + c]);
          }
        }
      for (std::size_t i = 0; i < q.size(); ++i) {
        ASSERT_NEAR(dq[i], expected_q[i], 2e-3) << head << ' ' << threads << ' ' << i;
        ASSERT_NEAR(dk[i], expected_k[i], 2e-3) << head << ' ' << threads << ' ' << i;
      }
    }
}

// Operations that need a whole product find it in shared memory.
TEST(CudaMultiply, ReducedProduct) {
  const TileKernel scores{"scores",
                          [](Array<const float, 2> x, Array<float, 2> y) {
                            Tile<float> t = tile::load(x, {block_index(), 0}, {16, 20});
                            Tile<float> s = tile::matmul(t, t, {.b = true});
                            tile::store(y, {block_index(), 0}, s - tile::max(s, {1}));
                          },
                          TileOptions{.threads = 64}};
  const auto x = random_values<float>(32 * 20, 1);
  std::vector<float> y(32 * 16);
  CudaOnHost(scores.ir()).run({2}, {array(x, {32, 20}), array(y, {32, 16})});
  for (std::size_t i = 0; i < 32; ++i) {
    std::vector<double> row;
    for (std::size_t j = 0; j < 16; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 20; ++k) sum += double(x[i * 20 + k]) * double(x[(i / 16 * 16 + j) * 20 + k]);
      row.push_back(sum);
    }
    for (std::size_t j = 0; j < 16; ++j)
      ASSERT_NEAR(y[i * 16 + j], row[j] - *std::ranges::max_element(row), 1e-5) << i << ' ' << j;
  }
}

}  // namespace
}  // namespace samite::test
