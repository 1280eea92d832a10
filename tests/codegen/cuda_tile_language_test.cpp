// Functions of tiles that consist of several operations, loads and stores at tiles of indices, and atomic steps, as
// CUDA runs them and as the CPU does.
#include "tests/codegen/cuda_tile_kernel.h"

namespace samite::test {
namespace {

using In = Array<const double, 2>;
using Out = Array<double, 2>;

constexpr auto functions_and_places = [](In x, Out y) {
  const Tile<double> t = tile::load(x, {0, 1}, {5, 9}, tile::coordinate({5, 9}, 0) != 3, 0.5);
  const Tile<std::int32_t> row = tile::coordinate({5, 9}, 0), column = tile::coordinate({5, 9}, 1);
  const Tile<double> picked = tile::gather(x, {(row * 7 + column) % 13, 16 - column}, column > 1);
  const Tile<double> rows = tile::gather_rows(x, (tile::arange(5) * 5) % 12, {0}, {9});
  Tile<double> sum = tile::softmax(t) + tile::silu(picked) + tile::log_softmax(rows, {0}) * tile::norm(t, {-1});
  sum += tile::roll(t, block_index() + 2, 1) - tile::flip(picked, 0) * tile::var(rows, {1});
  sum = select(tile::any(isnan(sum)), 0, sum) + tile::cast<double>(tile::count(t > 0, {1}) << 1);
  sum = tile::map([](Double a, Double b) { return select(a > b, a - b, a * b); }, sum, tile::topk(t, 1).keys);
  tile::store(y, {0, 0}, sum, column != row);
  tile::scatter(y, {11 - row, column}, sum * 2, row < 3);
};
constexpr auto atomic_steps = [](Out y, Out before) {
  const Tile<std::int32_t> row = tile::coordinate({5, 9}, 0), column = tile::coordinate({5, 9}, 1);
  const Tile<double> t = tile::load(y, {1, 0}, {5, 9});
  const Tile<double> old = tile::atomic_add(y, {11 - row, column}, t) + tile::atomic_max(y, {0, 0}, t);
  tile::store(before, {0, 0}, old + tile::atomic_exchange(y, {row, 16 - column}, t));
  tile::atomic_min(before, {5, column}, tile::sum(t));
};

TEST(CudaTileLanguage, FunctionsAndPlaces) {
  expect_same(TileKernel{"functions_and_places", [](In x, Out y) { functions_and_places(x, y); }, of_64}, {1});
}

TEST(CudaTileLanguage, AtomicSteps) {
  expect_equal(TileKernel{"atomic_steps", [](Out y, Out before) { atomic_steps(y, before); }, of_64}.ir(), {1});
}

class CudaTileLanguageCompiles : public CudaCompilerTest {};

TEST_F(CudaTileLanguageCompiles, Architectures) {
  TileKernel functions{"functions_and_places", [](In x, Out y) { functions_and_places(x, y); }, of_64};
  expect_compiles(functions.definition()->adjoint(3, false).kernel, true);
  TileKernel steps{"atomic_steps", [](Out y, Out before) { atomic_steps(y, before); }, of_64};
  expect_compiles(steps.ir(), true);
}

}  // namespace
}  // namespace samite::test
