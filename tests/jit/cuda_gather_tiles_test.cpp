// When the gradients of a tile kernel are gathered on CUDA, and that they are the gradients.
#include "tests/jit/cuda_kernels.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

class CudaGatherTiles : public CudaKernelTest {
 protected:
  struct Arguments {
    MatrixArgument<float> arrays[6];
  };
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    for (const char *name : {"product_adjoint", "product_adjoint_gathered", "product_adjoint_clear"})
      understand<Arguments>(name, [](const Arguments &, const LaunchBox &) {});
  }

  // Of c, which has so many rows and columns, and a sum of so many terms.
  Launch adjoint(std::int64_t rows, std::int64_t columns, std::int64_t terms, const LaunchOptions &options = {}) {
    LaunchOptions own = options;
    own.direction = Direction::adjoint;
    a = Buffer<float>(device(), {rows, terms}, Gradient::tracked);
    b = Buffer<float>(device(), {terms, columns}, Gradient::tracked);
    c = Buffer<float>(device(), {rows, columns}, Gradient::tracked);
    return product.record({(rows + 15) / 16, (columns + 15) / 16}, own, a, b, c);
  }

  TileKernel<void(Array<const float, 2>, Array<const float, 2>, Array<float, 2>)> product{
      "product",
      {"a", "b", "c"},
      [](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
        auto [i, j] = block_index<2>();
        auto sum = tile::zeros<float>({16, 16});
        for (Int k : range(tile::ceil_div(a.extent(1), 8), pipelined(2)))
          tile::matmul(tile::load(a, {i, k}, {16, 8}), tile::load(b, {k, j}, {8, 16}), sum);
        tile::store(c, {i, j}, sum);
      },
      {.threads = 64}};
  Buffer<float> a, b, c;
};
SAMITE_CUDA_SUITE(CudaGatherTiles);

TEST_P(CudaGatherTiles, WhereManyBlocksMeet) {
  EXPECT_TRUE(adjoint(128, 128, 128).variant().key.gather);
  EXPECT_FALSE(adjoint(32, 32, 128).variant().key.gather) << "a few blocks, which scatter sooner";
  EXPECT_FALSE(adjoint(16, 2048, 8).variant().key.gather) << "one block of 128 would have a window";
  EXPECT_TRUE(adjoint(32, 32, 128, {.deterministic = true}).variant().key.gather);
  EXPECT_FALSE(adjoint(128, 128, 128, {.debug = true}).variant().key.gather);
}

TEST_P(CudaGatherTiles, FollowsTheLaunchsExtents) {
  Launch launch = adjoint(128, 128, 128);
  launch.set_dim(0, 2);
  launch.set_dim(1, 2);
  EXPECT_FALSE(launch.variant().key.gather);
}

TEST_P(CudaGatherTiles, IsTheGradient) {
  const std::int64_t rows = 133, columns = 120, terms = 75;
  Launch launch = adjoint(rows, columns, terms);
  ASSERT_TRUE(launch.variant().key.gather);
  if (fake()) GTEST_SKIP() << "the fake computes nothing; tests/codegen/cuda_gather_tiles_test.cpp does";
  const auto numbers = [](std::int64_t count, int seed) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * i * 7 + 3 * i + seed) % 11 - 5));
    return values;
  };
  const auto x = numbers(rows * terms, 1), y = numbers(terms * columns, 2), seed = numbers(rows * columns, 3);
  a.copy_from(x), b.copy_from(y), c.gradient().copy_from(seed);
  launch.launch();
  const auto da = a.gradient().to_vector(), db = b.gradient().to_vector();
  const auto at = [](const std::vector<float> &m, std::int64_t n, std::int64_t i, std::int64_t j) {
    return m[static_cast<std::size_t>(i * n + j)];
  };
  for (std::int64_t k = 0; k < terms; ++k) {
    for (std::int64_t i = 0; i < rows; ++i) {
      float sum = 0;
      for (std::int64_t j = 0; j < columns; ++j) sum += at(seed, columns, i, j) * at(y, columns, k, j);
      ASSERT_EQ(at(da, terms, i, k), sum) << i << ' ' << k;
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t i = 0; i < rows; ++i) sum += at(seed, columns, i, j) * at(x, terms, i, k);
      ASSERT_EQ(at(db, columns, k, j), sum) << k << ' ' << j;
    }
  }
  EXPECT_EQ(c.gradient().to_vector(), std::vector<float>(static_cast<std::size_t>(rows * columns)));
}

}  // namespace
}  // namespace samite::test
