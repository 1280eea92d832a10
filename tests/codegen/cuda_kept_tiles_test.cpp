// The tiles that the adjoint of a loop stores: in shared memory if they are small and of known number, else in device
// memory.
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_tile_kernel.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using codegen::FailureKind;
using testing::HasSubstr;
using In = Array<const double, 2>;
using Out = Array<double, 2>;

// `steps` of the array decides how many iterations there are.
template <class Steps>
TileKernel<void(In, Out)> cosines(const char *name, Steps steps) {
  return {name,
          [=](In x, Out y) {
            Int j = block_index();
            Tile<double> value = tile::load(x, {0, j}, {3, 5});
            for (Int k : range(steps(x))) value = 0.8 * cos(value) + value * tile::load(x, {k, j}, {3, 5}) * 0.1;
            tile::store(y, {0, j}, value);
          },
          of_64};
}
constexpr auto as_many_as_rows = [](In x) { return x.extent(0); };

ir::Kernel adjoint(const auto &kernel) { return kernel.definition()->adjoint(3, false).kernel; }

TEST(CudaKeptTiles, OfAConstantNumberAreShared) {
  const auto kernel = cosines("few", [](In) { return 7; });
  expect_same(kernel, {4});
  EXPECT_FALSE(emit_for_cuda(adjoint(kernel), cuda_options()).uses_workspace);
}

TEST(CudaKeptTiles, OfANumberKnownWhenItRunsAreInDeviceMemory) {
  const auto kernel = cosines("dynamic", as_many_as_rows);
  expect_same(kernel, {4});
  const codegen::EmittedSource source = emit_for_cuda(adjoint(kernel), cuda_options());
  EXPECT_TRUE(source.uses_workspace && source.uses_channel);
  for (const passes::PlacedTile &tile : source.tile_memory.tiles) EXPECT_EQ(tile.elements, 15);
}

// 200 tiles of 15 numbers take 24000 bytes.
TEST(CudaKeptTiles, TooManyForABlockAreInDeviceMemory) {
  const auto kernel = cosines("many", [](In) { return 200; });
  const ir::Kernel derived = adjoint(kernel);
  const codegen::EmittedSource source = emit_for_cuda(derived, cuda_options());
  EXPECT_TRUE(source.uses_workspace);
  EXPECT_LT(source.tile_memory.bytes, 16 << 10);
  expect_same(kernel, {2});
}

// Scalars that a loop carries are private to each thread, in the same memory.
TEST(CudaKeptTiles, BesideScalarsThatALoopKeeps) {
  expect_same(TileKernel{"scales",
                         [](In x, Out y) {
                           Int j = block_index();
                           Tile<double> value = tile::load(x, {0, j}, {3, 5});
                           Double scale = 1;
                           for (Int k : range(x.extent(0))) {
                             scale = scale * (1 + x(k, j));
                             value = value * value * scale;
                             for (Int l : range(k % 3)) value = value * (2 - value) * x(l, j);
                           }
                           tile::store(y, {0, j}, value * scale);
                         },
                         of_64},
              {4});
}

TEST(CudaKeptTiles, ProductsInALoop) {
  expect_same(TileKernel{"powers",
                         [](In x, Out y) {
                           Tile<double> a = tile::load(x, {block_index(), 0}, {4, 4});
                           Tile<double> power = tile::cast<double>(tile::coordinate({4, 4}, 0)) * 0.1;
                           for ([[maybe_unused]] Int k : range(x.extent(1) - 12)) {
                             Tile<double> next = tile::zeros<double>({4, 4});
                             tile::matmul(power, a, next);
                             power = sin(next) + 0.5 * power;
                           }
                           tile::store(y, {block_index(), 0}, power);
                         },
                         of_64},
              {3});
}

// A grid of three blocks goes through all of them.
TEST(CudaKeptTiles, ABlockUsesItsMemoryAgain) {
  const ir::Kernel derived = adjoint(cosines("again", as_many_as_rows));
  codegen::EmitOptions options = cuda_options();
  options.cuda.grid_stride = true;
  const auto run_on = [&](bool cuda) {
    std::vector<std::vector<double>> arrays;
    std::vector<Argument> arguments;
    for (std::size_t i = 0; i < derived.parameters.size(); ++i) {
      arrays.push_back(numbers(derived.parameters[i], i));
      arrays.back().resize(12 * 60, 0.25);
    }
    for (auto &values : arrays) arguments.push_back(array(values, {12, 60}));
    cuda ? (void)CudaOnHost(derived, options).run({12}, arguments) : (void)CompiledKernel(derived).run({12}, arguments);
    return arrays;
  };
  const auto expected = run_on(false), actual = run_on(true);
  for (std::size_t a = 0; a < expected.size(); ++a)
    for (std::size_t i = 0; i < expected[a].size(); ++i) ASSERT_NEAR(actual[a][i], expected[a][i], 1e-11) << a;
}

// The reported requirement is exact: it is enough, and anything less is not.
TEST(CudaKeptTiles, WithoutRoomABlockEndsAndSaysSo) {
  const ir::Kernel derived = adjoint(cosines("without", as_many_as_rows));
  std::vector<double> values(12 * 17, 0.5);
  const std::vector<Argument> arguments(derived.parameters.size(), array(values, {12, 17}));
  CudaOnHost kernel(derived);
  kernel.workspace_per_thread = 0;
  for (codegen::CudaFailure failure = kernel.run({1}, arguments).failure; failure.state != 0;
       failure = kernel.run({1}, arguments).failure) {
    ASSERT_EQ(failure.kind, FailureKind::out_of_memory);
    EXPECT_EQ(failure.dimension, codegen::memory_of_block);
    EXPECT_EQ(failure.extent, kernel.workspace_per_thread);
    EXPECT_LT(failure.array, kernel.source().sites.size());
    ASSERT_GT(failure.index, kernel.workspace_per_thread);
    kernel.workspace_per_thread = failure.index;
  }
  // 12 iterations keep at least 15 numbers each.
  EXPECT_GE(kernel.workspace_per_thread * 64, 12 * 15 * 8);
  EXPECT_LE(kernel.workspace_per_thread * 64, 3 * 12 * 15 * 8);
  kernel.workspace_per_thread -= 8;
  EXPECT_NE(kernel.run({1}, arguments).failure.state, 0u);
}

TEST(CudaKeptTiles, LoweredTextIsParsed) {
  const std::string text =
      ir::to_string(passes::lower_tiles(adjoint(cosines("text", as_many_as_rows)), passes::gpu_architecture(90)));
  EXPECT_THAT(text, HasSubstr("local device $"));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

class CudaKeptTilesCompile : public CudaCompilerTest {};

TEST_F(CudaKeptTilesCompile, Architectures) {
  expect_compiles(adjoint(cosines("dynamic", as_many_as_rows)), true);
  expect_compiles(adjoint(cosines("many", [](In) { return 200; })), true);
}

}  // namespace
}  // namespace samite::test
