// Tile functions that consist of other operations, as CUDA runs them and as the CPU does.
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_tile_kernel.h"

namespace samite::test {
namespace {

using In = Array<const double, 2>;
using Out = Array<double, 2>;

constexpr auto made_of_others = [](auto x, auto y) {
  auto t = tile::load_view(x, {1, 0}, {5, 8}, {.steps = {2, -1}, .order = {0, 1}});
  auto turned = tile::load_view(x, {0, 3}, {5, 8}, {.order = {1, 0}});
  auto top = tile::reduce(t + turned, {1}, [](auto a, auto b) { return log(exp(a) + exp(b)); });
  auto noise = tile::random_uniform<double>({5, 8}, 17, {.stream = block_index() * 40}) +
               tile::random_normal<double>({5, 8}, 17, {.stream = block_index() * 40, .draw = 2});
  auto all = tile::insert(top * turned + noise, {2, 3}, tile::reduce(t, [](auto a, auto b) { return a + b; }));
  auto sum = tile::generate<double>({5, 5}, [](auto i, auto j) { return tile::cast<double>(i - j); });
  tile::matmul(2.0, all, t, 0.5, sum, {.b = true});
  tile::store_view(y, {0, 0}, sum, {.steps = {2, 3}});
};

TEST(CudaTileViews, AndWhatElseIsMadeOfOthers) {
  expect_same(TileKernel{"made_of_others", [](In x, Out y) { made_of_others(x, y); }, of_64}, {1});
}

// Code of one thread, with loops and branches that end when all elements have left them.
constexpr auto per_thread = [](In x, Out y) {
  auto made = tile::per_thread({6, 7}, [&](Int i, Int j) {
    Double sum = x(i, j);
    for (Int k : range(i, i + j % 3)) if_(sum > 0, [&] { sum = sum * x(k, j) + log(sum + 0.5); });
    while_([&] { return sum > 0.3; }, [&] { sum = sum / (1 + sum * sum); });
    return sum;
  });
  tile::per_thread(tile::inclusive_scan(made, 1), [&](Int i, Int j, Double value) { y(i + 1, j) = value * 2; });
};

TEST(CudaTileViews, CodeOfOneThread) {
  expect_same(TileKernel{"per_thread", [](In x, Out y) { per_thread(x, y); }, of_64}, {1});
}

class CudaTileViewsCompile : public CudaCompilerTest {};

TEST_F(CudaTileViewsCompile, Architectures) {
  TileKernel kernel{"made_of_others", [](In x, Out y) { made_of_others(x, y); }, of_64};
  expect_compiles(kernel.ir(), true);
  expect_compiles(kernel.definition()->adjoint(3, false).kernel, true);
  TileKernel threads{"per_thread", [](In x, Out y) { per_thread(x, y); }, of_64};
  expect_compiles(threads.definition()->adjoint(3, false).kernel, true);
}

}  // namespace
}  // namespace samite::test
