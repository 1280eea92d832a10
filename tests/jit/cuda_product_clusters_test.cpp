// The launches of products that run in clusters, whose blocks load windows for each other: on the fake driver, which
// sees the requests, and on a GPU, which multiplies.
#include "samite/jit/definition.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/jit/half_products.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

class CudaProductClusters : public CudaKernelTest {
 protected:
  static constexpr std::int64_t rows = 64, columns = 256, terms = 100;

  struct ProductArguments {
    MatrixArgument<const half> a, b;
    MatrixArgument<float> c;
  };

  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    if (CudaDevice::of(0)->context().limits().compute_capability / 10 != 9)
      GTEST_SKIP() << "products by groups of warps are of compute capability 9.0";
    if (fake()) understand_product();
  }
  void understand_product() {
    driver::fake::KernelCode code;
    code.name = "samite_product";
    code.parameter_bytes = {sizeof(ProductArguments), sizeof(LaunchBox), 8, 16, 2 * sizeof(driver::TensorMapBits)};
    code.run = [](void **) {};
    code.asked = [this](const driver::LaunchConfig &config) {
      grid_ = config.grid_x;
      cluster_ = 0;
      for (unsigned i = 0; i < config.attribute_count; ++i)
        if (config.attributes[i].id == driver::LaunchAttributeId::cluster_dimension)
          cluster_ = config.attributes[i].value.cluster_dimension.x;
    };
    fake()->understand(code);
  }

  // This many tiles, the last of which end early.
  struct Matrices {
    Buffer<half> a, b;
    Buffer<float> c;
    Extents tiles;

    Matrices(std::int64_t down, std::int64_t across)
        : a(whole_numbers(down * rows - 5, 104, 3)),
          b(whole_numbers(104, across * columns - 8, 5)),
          c(Device::cuda(0), {a.extent(0), b.extent(1)}),
          tiles{down, across} {}

    void expect_product() const { test::expect_product(a, b, c, terms); }
  };

  Launch record(const Matrices &m, LaunchOptions options = {}) const {
    return product.record(m.tiles, std::move(options), m.a.slice(1, 0, terms), m.b.slice(0, 0, terms), m.c);
  }
  static int clusters(const Launch &launch) { return launch.variant().gpu.form.cluster_blocks; }

  // A launch of at least two rounds of blocks has this many of them in one dimension.
  std::int64_t enough() const { return 2 * CudaDevice::of(0)->context().limits().multiprocessors / 3 + 1; }
  std::int64_t even() const { return enough() + enough() % 2; }
  std::int64_t odd() const { return even() + 1; }

  TileKernel<void(Array<const half, 2>, Array<const half, 2>, Array<float, 2>)> product{
      "product",
      {"a", "b", "c"},
      [](Array<const half, 2> a, Array<const half, 2> b, Array<float, 2> c) {
        auto [i, j] = block_index<2>();
        Tile<float> sum = tile::zeros<float>({rows, columns});
        for (Int k : range(tile::ceil_div(a.extent(1), 64), pipelined(3)))
          tile::matmul(tile::load(a, {i, k}, {rows, 64}), tile::load(b, {k, j}, {64, columns}), sum);
        tile::store(c, {i, j}, sum);
      },
      TileOptions{.threads = 128}};
  unsigned grid_ = 0, cluster_ = 0;  // of the last launch, on the fake
};
SAMITE_CUDA_SUITE(CudaProductClusters);

TEST_P(CudaProductClusters, OfLaunchesWithPairsOfBlocks) {
  for (const auto &[down, across, expected] : {std::tuple{even(), std::int64_t{3}, 2},
                                               {odd(), std::int64_t{4}, 2},
                                               {std::int64_t{6}, even(), 2},
                                               {std::int64_t{3}, even(), 2},
                                               {odd(), std::int64_t{3}, 0}}) {
    SCOPED_TRACE(testing::Message() << down << " by " << across);
    const Matrices m(down, across);
    Launch launch = record(m);
    EXPECT_EQ(clusters(launch), expected);
    launch.launch();
    if (fake()) {
      EXPECT_EQ(cluster_, static_cast<unsigned>(expected));
      EXPECT_TRUE(expected == 0 || grid_ % 2 == 0) << grid_;
    } else {
      m.expect_product();
    }
  }
  EXPECT_THAT(report(product).to_string(), HasSubstr("blocks bring each other windows in clusters of 2"));
  EXPECT_THAT(report(product).to_json(), HasSubstr("\"cluster_blocks\": 2"));
}

TEST_P(CudaProductClusters, NotWhereTheDeviceHasNoRoomForTwoBlocks) {
  if (!fake()) GTEST_SKIP() << "GPUs differ in this";
  start_fake({.largest_cluster = 1});
  understand_product();
  const Matrices m(even(), 3);
  Launch launch = record(m);
  EXPECT_EQ(clusters(launch), 0);
  EXPECT_NO_THROW(launch.launch());
}

TEST_P(CudaProductClusters, NotOfOneRoundOfBlocks) {
  const Matrices m(2, 2);
  Launch launch = record(m);
  EXPECT_EQ(clusters(launch), 0);
  launch.launch();
  if (!fake()) m.expect_product();
}

TEST_P(CudaProductClusters, NotWhereTheLaunchAsksForItsOwn) {
  const Matrices m(even(), 4);
  for (const int own : {1, 2, 4}) {
    Launch launch = record(m, {.cuda = {.cluster = own}});
    EXPECT_EQ(clusters(launch), 0);
    launch.launch();
    if (fake())
      EXPECT_EQ(cluster_, static_cast<unsigned>(own));
    else
      m.expect_product();
  }
}

// Nodes of a graph keep their clusters, and launches that take their place do with them.
TEST_P(CudaProductClusters, InGraphs) {
  const Stream stream{device()};
  Matrices pairs(even(), 3), single(odd(), 3), few(1, 1);
  const auto of = [&](const Matrices &m) { return record(m, {.stream = stream}); };
  for (Matrices *first : {&pairs, &single, &few})
    expect_others_in_place<Matrices>(stream, *first, {&single, &few, &pairs, &single, &pairs}, of, !fake());
}

}  // namespace
}  // namespace samite::test
