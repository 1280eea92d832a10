// Values loaded for whole rows of a product, with rows and columns of the arrays that end inside tiles.
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_tile_kernel.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

// Products with sums that are scaled by rows, or by columns, before they are added.
auto scaled_products(std::vector<std::int64_t> steps) {
  return TileKernel{
      "scaled_products",
      {"a", "b", "scales", "c"},
      [=](Array<const double, 2> a, Array<const double, 2> b, Array<const double, 2> scales, Array<double, 2> c) {
        auto [i, j] = block_index<2>();
        auto sum = tile::zeros<double>({16, 16});
        for (Int k : range(3)) {
          const auto product = tile::matmul(tile::load(a, {i, k}, {16, 8}), tile::load(b, {k, j}, {8, 16}));
          sum += product * tile::load_view(scales, {i * 16 + 1, k + 2}, {16, 16}, {.steps = steps});
        }
        tile::store(c, {i, j}, sum);
      },
      of_64};
}

TEST(CudaRowValues, AreLoadedOnceForEachRow) {
  const auto kernel = scaled_products({1, 0});
  EXPECT_THAT(plan_text(kernel.definition()->forward()), testing::HasSubstr(" by_rows"));
  expect_same(kernel, {2, 2});
}

TEST(CudaRowValues, OfColumnsAreLoadedForEachElement) {
  const auto kernel = scaled_products({0, 1});
  EXPECT_THAT(plan_text(kernel.definition()->forward()), testing::Not(testing::HasSubstr(" by_rows")));
  expect_same(kernel, {2, 2});
}

}  // namespace
}  // namespace samite::test
