// Tile kernels and their adjoints, as CUDA runs them and as the CPU does: blocks of 64 threads on the host.
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_tile_kernel.h"

namespace samite::test {
namespace {

using In = Array<const double, 2>;
using Out = Array<double, 2>;

TEST(CudaTiles, Product) {
  expect_same(TileKernel{"gemm",
                         [](In a, In b, Out c) {
                           auto [i, j] = block_index<2>();
                           Tile<double> sum = tile::zeros<double>({5, 6});
                           for (Int k : range(3))
                             tile::matmul(tile::load(a, {i, k}, {5, 4}), tile::load(b, {k, j}, {4, 6}), sum);
                           tile::store(c, {i, j}, sum);
                         },
                         of_64},
              {3, 3});
}

// Each block of a box runs once, in either form of a launch, in numbers of 32 bits and of 64.
TEST(CudaTiles, BlocksOfABox) {
  const TileKernel count{"count",
                         [](Array<double, 1> y) {
                           auto [i, j, k] = block_index<3>();
                           y((i * 4 + j) * 5 + k) += cast<Traced<double>>(100 * i + 10 * j + k) + 1.0;
                         },
                         of_64};
  for (const bool grid_stride : {false, true})
    for (const bool wide : {false, true}) {
      codegen::EmitOptions options = cuda_options();
      options.cuda.grid_stride = grid_stride;
      options.cuda.wide_launch = wide;
      std::vector<double> y(60), expected(60);
      for (std::size_t i = 1; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j)
          for (std::size_t k = 2; k < 5; ++k)
            expected[(i * 4 + j) * 5 + k] = static_cast<double>(100 * i + 10 * j + k) + 1;
      CudaOnHost(count.ir(), options).run_box({1, 0, 2}, {3, 3, 5}, {array(y, {60})});
      EXPECT_EQ(y, expected) << grid_stride << wide;
    }
}

TEST(CudaTiles, Softmax) {
  expect_same(TileKernel{"softmax",
                         [](In x, Out y) {
                           Tile<double> row = tile::load(x, {block_index(), 0}, {3, 17});
                           Tile<double> e = exp(row - tile::max(row, {1}));
                           tile::store(y, {block_index(), 0}, e / tile::sum(e, {1}));
                         },
                         of_64},
              {4});
}

TEST(CudaTiles, ReductionsToNumbers) {
  expect_same(TileKernel{"sums",
                         [](In x, Array<double, 1> y) {
                           Tile<double> t = tile::load(x, {block_index(), 0}, {2, 17});
                           y(block_index()) =
                               tile::sum(t * t) + tile::max(t) + tile::product(tile::slice(t, {0, 3}, {2, 2}));
                           atomic_add(y(16), tile::min(t));
                         },
                         of_64},
              {6});
}

TEST(CudaTiles, ReductionsOfManyColumns) {
  expect_same(TileKernel{"columns",
                         [](In x, Out y) {
                           Tile<double> t = tile::load(x, {0, 0}, {12, 17});
                           Tile<double> wide = tile::reshape(t, {2, 102});
                           Tile<double> all = tile::sum(wide * wide, {0}) + tile::max(wide, {0});
                           tile::store(y, {0, 0}, tile::reshape(all, {6, 17}));
                         },
                         of_64},
              {1});
}

TEST(CudaTiles, MovesOfElements) {
  expect_same(TileKernel{"moves",
                         [](In x, Out y) {
                           Tile<double> t = tile::load(x, {0, 0}, {7, 9});
                           Tile<double> turned = tile::transpose(t * t);
                           Tile<double> slice = tile::slice(turned, {2, 0}, {7, 7});
                           tile::store(y, {0, 0}, tile::concatenate(slice, t, 1));
                         },
                         of_64},
              {1});
}

TEST(CudaTiles, Loops) {
  expect_same(TileKernel{"loops",
                         [](In x, Out y) {
                           Int j = block_index();
                           Tile<double> sum = tile::zeros<double>({1, 5}), last = tile::full<double>({1, 5}, 1);
                           for (Int k : range(12)) {
                             Tile<double> row = tile::load(x, {k, j}, {1, 5});
                             if_(k % 2 == 0, [&] { sum += row * last; }, [&] { sum = sum * 0.5; });
                             last = row;
                           }
                           tile::store(y, {0, j}, sum + last);
                         },
                         of_64},
              {4});
}

TEST(CudaTiles, GatherAndScatter) {
  const auto indices = [] {
    const Tile<std::int32_t> i = tile::arange(24);
    return i * i % 19;
  };
  expect_same(TileKernel{"gather",
                         [=](Array<const double, 1> x, Array<double, 1> y) {
                           tile::scatter_add(y, indices(), 2 * tile::gather(x, indices()));
                         },
                         of_64},
              {2});
}

// Tiles that are not needed at the same time share a place.
TEST(CudaTiles, MemoryIsShared) {
  TileKernel chain{"chain",
                   [](Array<const float, 2> x, Array<float, 2> y) {
                     Tile<float> t = tile::load(x, {0, 0}, {32, 32});
                     for (int step = 0; step < 6; ++step) t = tile::transpose(t * 2);
                     tile::store(y, {0, 0}, t);
                   },
                   of_64};
  const passes::TileMemoryPlan plan = emit_for_cuda(chain.ir(), cuda_options()).tile_memory;
  EXPECT_EQ(plan.tiles.size(), 6u);
  EXPECT_LE(plan.bytes, 2 * 32 * 32 * 4);
  for (const passes::PlacedTile &a : plan.tiles)
    for (const passes::PlacedTile &b : plan.tiles) {
      const bool at_one_time = a.array != b.array && a.first <= b.last && b.first <= a.last;
      EXPECT_FALSE(at_one_time && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes);
    }
}

// NVIDIA's compiler takes it, for every architecture, and needs no more shared memory than is planned.
class CudaTilesCompile : public CudaCompilerTest {};

TEST_F(CudaTilesCompile, TypesAndArchitectures) {
  auto each = [&](auto zero) {
    using T = decltype(zero);
    TileKernel kernel{"mixed", [](Array<const T, 2> a, Array<T, 2> b) {
                        auto t = tile::load(a, {block_index(), 0}, {16, 16});
                        auto p = tile::cast<T>(tile::matmul(t, t, {.b = true}));
                        auto q = p - tile::max(p, {0}) * tile::cast<T>(tile::sum(p, {1}));
                        tile::store(b, {block_index(), 0}, tile::transpose(q) + tile::slice(p, {-1, 3}, {16, 16}));
                      }};
    expect_compiles(kernel.ir(), true);
    if constexpr (FloatingScalar<T>) expect_compiles(kernel.definition()->adjoint(3, false).kernel, true);
  };
  each(float{}), each(double{}), each(half{}), each(bfloat16{}), each(std::int8_t{}), each(std::int32_t{});
}

}  // namespace
}  // namespace samite::test
