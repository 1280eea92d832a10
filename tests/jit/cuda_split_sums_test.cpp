// The launches of products that compute their sums in parts: on the fake driver, which sees the two kernels, and on a
// GPU, which multiplies.
#include "samite/base/error.h"
#include "samite/jit/definition.h"
#include "samite/passes/sm90/share_steps.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/jit/half_products.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace samite::test {
namespace {

using testing::HasSubstr;

class CudaSplitSums : public CudaKernelTest {
 protected:
  static constexpr std::int64_t side = 64, step = 64;

  struct Sums {
    float *data;
    std::int64_t extent[3], stride[3];
  };
  struct ProductArguments {
    MatrixArgument<const half> a, b;
    MatrixArgument<float> c;
  };
  struct SplitArguments {
    ProductArguments own;
    Sums sums;
  };

  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    if (CudaDevice::of(0)->context().limits().compute_capability / 10 != 9)
      GTEST_SKIP() << "the fake's kernels are those of compute capability 9.0";
    if (fake()) understand_kernels();
  }
  void understand_kernels() {
    constexpr std::size_t maps = 2 * sizeof(driver::TensorMapBits);
    understand("samite_product", {sizeof(ProductArguments), sizeof(LaunchBox), 8, 16, maps}, plain_);
    understand("samite_product_parts", {sizeof(SplitArguments), sizeof(LaunchBox), 8, 16, maps}, parts_);
    understand("samite_product_rest", {sizeof(SplitArguments), sizeof(LaunchBox), 8, 16}, rest_);
  }

  // A kernel's last request, and the number of its runs.
  struct Asked {
    unsigned grid = 0, cluster = 0;
    int times = 0;
    LaunchBox box{};
    Sums sums{};
  };
  void understand(const char *name, std::vector<std::size_t> bytes, Asked &asked) {
    driver::fake::KernelCode code;
    code.name = name;
    const bool split = bytes[0] == sizeof(SplitArguments);
    code.parameter_bytes = std::move(bytes);
    code.run = [&asked, split](void **parameters) {
      ++asked.times;
      asked.box = *static_cast<const LaunchBox *>(parameters[1]);
      if (split) asked.sums = static_cast<const SplitArguments *>(parameters[0])->sums;
    };
    code.asked = [&asked](const driver::LaunchConfig &config) {
      asked.grid = config.grid_x;
      asked.cluster = 0;
      for (unsigned i = 0; i < config.attribute_count; ++i)
        if (config.attributes[i].id == driver::LaunchAttributeId::cluster_dimension)
          asked.cluster = config.attributes[i].value.cluster_dimension.x;
    };
    fake()->understand(code);
  }

  // This many tiles, of sums of this many steps and a part of one.
  struct Matrices {
    Buffer<half> a, b;
    Buffer<float> c;
    Extents tiles;

    Matrices(std::int64_t down, std::int64_t across, std::int64_t steps, std::int64_t without = 8)
        : a(whole_numbers(down * side - 3, steps * step - without, 3)),
          b(whole_numbers(steps * step - without, across * side - 8, 5)),
          c(Device::cuda(0), {a.extent(0), b.extent(1)}),
          tiles{down, across} {
      c.fill(-1.0f);
    }

    void expect_product() const { test::expect_product(a, b, c, a.extent(1), 2); }
  };

  Launch record(const Matrices &m, LaunchOptions options = {}) const {
    return product.record(m.tiles, std::move(options), m.a, m.b, m.c);
  }
  // A further kernel adds up the parts, because the launch requests its own clusters.
  Launch record_apart(const Matrices &m, LaunchOptions options = {}) const {
    options.cuda.cluster = 1;
    return record(m, std::move(options));
  }
  static int parts(const Launch &launch) { return launch.variant().parts(); }

  TileKernel<void(Array<const half, 2>, Array<const half, 2>, Array<float, 2>)> product{
      "product",
      {"a", "b", "c"},
      [](Array<const half, 2> a, Array<const half, 2> b, Array<float, 2> c) {
        auto [i, j] = block_index<2>();
        Tile<float> sum = tile::zeros<float>({side, side});
        for (Int k : range(tile::ceil_div(a.extent(1), static_cast<int>(step)), pipelined(3)))
          tile::matmul(tile::load(a, {i, k}, {side, step}), tile::load(b, {k, j}, {step, side}), sum);
        tile::store(c, {i, j}, sum * 2.0f);
      },
      TileOptions{.threads = 128}};
  Asked plain_, parts_, rest_;
};
SAMITE_CUDA_SUITE(CudaSplitSums);

TEST_P(CudaSplitSums, FewBlocksOfLongSums) {
  // As many blocks as a few multiprocessors have.
  const std::int64_t multiprocessors = CudaDevice::of(0)->context().limits().multiprocessors;
  const Matrices m(1, 2, 70);
  const int expected = static_cast<int>(std::min<std::int64_t>(multiprocessors / 2, 8));
  ASSERT_GE(expected, 2);
  Launch launch = record_apart(m);
  EXPECT_EQ(parts(launch), expected);
  launch.launch();
  product.launch(m.tiles, LaunchOptions{.cuda = {.cluster = 1}}, m.a, m.b, m.c);  // not recorded
  if (fake()) {
    EXPECT_EQ(plain_.times, 0);
    EXPECT_EQ(parts_.times, 2);
    EXPECT_EQ(rest_.times, 2);
    EXPECT_EQ(parts_.grid, static_cast<unsigned>(2 * expected));
    EXPECT_EQ(parts_.box.end[0], expected);
    EXPECT_EQ(parts_.box.end[1], 1);
    EXPECT_EQ(parts_.box.end[2], 2);
    EXPECT_EQ(rest_.grid, 2u);
    EXPECT_EQ(rest_.sums.data, parts_.sums.data);
    EXPECT_THAT(rest_.sums.extent, testing::ElementsAre(expected, side, 2 * side));
    EXPECT_THAT(rest_.sums.stride, testing::ElementsAre(2 * side * side, 2 * side, 1));
  } else {
    m.expect_product();
  }
  EXPECT_THAT(report(product).to_string(), HasSubstr("sums are computed in " + std::to_string(expected) +
                                                     " parts, and added up by a further kernel"));
  EXPECT_THAT(report(product).to_json(), HasSubstr("\"sum_parts\": " + std::to_string(expected)));
}

TEST_P(CudaSplitSums, ByTheBlocksOfACluster) {
  const int multiprocessors = CudaDevice::of(0)->context().limits().multiprocessors;
  const Matrices m(1, 2, 70);
  const int expected = static_cast<int>(passes::parts_of_steps(2, 70, multiprocessors));
  ASSERT_GE(expected, 2);
  Launch launch = record(m);
  EXPECT_EQ(parts(launch), expected);
  EXPECT_EQ(launch.variant().gpu.form.step_parts, expected);
  EXPECT_LE(launch.variant().report.trials, 1) << "the plan that shows whether blocks share the steps is emitted";
  launch.launch();
  product.launch(m.tiles, m.a, m.b, m.c);
  if (fake()) {
    EXPECT_EQ(plain_.times, 2);
    EXPECT_EQ(plain_.grid, static_cast<unsigned>(2 * expected));
    EXPECT_EQ(plain_.cluster, static_cast<unsigned>(expected));
    EXPECT_EQ(plain_.box.end[0], 1);
    EXPECT_EQ(plain_.box.end[1], 2);
    EXPECT_EQ(parts_.times + rest_.times, 0);
  } else {
    m.expect_product();
  }
  EXPECT_THAT(report(product).to_string(), HasSubstr("parts, and added up by the blocks of a cluster"));
  EXPECT_THAT(report(product).to_json(), HasSubstr("\"parts_in_clusters\": true"));
}

// As in a part of a device that belongs to one process.
TEST_P(CudaSplitSums, NotByClustersThatTheDeviceHasNoRoomFor) {
  if (!fake()) GTEST_SKIP() << "GPUs differ in this";
  const auto expected = passes::parts_of_steps(2, 70, CudaDevice::of(0)->context().limits().multiprocessors);
  start_fake({.largest_cluster = static_cast<unsigned>(expected) - 1});
  understand_kernels();
  const Matrices m(1, 2, 70);
  Launch launch = record(m);
  EXPECT_GT(parts(launch), 1);
  EXPECT_EQ(launch.variant().gpu.form.step_parts, 0) << "a further kernel adds them up";
  launch.launch();
  EXPECT_EQ(parts_.times, 1);
}

TEST_P(CudaSplitSums, NotByClustersThatTheDeviceHasNoRoomForInAnOrdinaryLaunch) {
  if (!fake()) GTEST_SKIP() << "GPUs differ in this";
  start_fake({.largest_cluster = 1});
  understand_kernels();
  const Matrices m(1, 2, 70);
  for (int times = 1; times < 3; ++times) {
    product.launch(m.tiles, m.a, m.b, m.c);
    EXPECT_EQ(parts_.times, times);
    EXPECT_EQ(plain_.times, 0);
  }
  EXPECT_EQ(CudaDevice::of(0)->largest_cluster(), 1);
}

TEST_P(CudaSplitSums, InAsManyPartsAsAClusterHasRoomForWhereTheyAreAskedFor) {
  if (!fake()) GTEST_SKIP() << "GPUs differ in this";
  start_fake({.largest_cluster = 3});
  understand_kernels();
  const Matrices m(1, 2, 70);
  EXPECT_EQ(record(m, {.cuda = {.sum_parts = 3}}).variant().gpu.form.step_parts, 3);
  Launch more = record(m, {.cuda = {.sum_parts = 4}});
  EXPECT_EQ(parts(more), 4);
  EXPECT_EQ(more.variant().gpu.form.step_parts, 0);
}

TEST_P(CudaSplitSums, InAsManyPartsAsAreAskedFor) {
  Matrices m(2, 2, 70), few(1, 1, 3);
  for (const int asked : {1, 2, 3, 7}) {
    Launch launch = record(m, {.cuda = {.sum_parts = asked}});
    EXPECT_EQ(parts(launch), asked);
    m.c.fill(-1.0f);
    launch.launch();
    if (!fake()) m.expect_product();
    Launch apart = record_apart(m, {.cuda = {.sum_parts = asked}});
    EXPECT_EQ(parts(apart), asked);
    m.c.fill(-1.0f);
    apart.launch();
    if (!fake()) m.expect_product();
  }
  Launch more = record(m, {.cuda = {.sum_parts = 9}});
  EXPECT_EQ(parts(more), 9) << "than a cluster has blocks";
  EXPECT_EQ(more.variant().gpu.form.step_parts, 0);
  m.c.fill(-1.0f);
  more.launch();
  if (!fake()) m.expect_product();
  EXPECT_EQ(parts(record(few, {.cuda = {.sum_parts = 16}})), 3) << "each has a step";
  Launch some_have_none = record(few, {.cuda = {.sum_parts = 7}});
  EXPECT_EQ(parts(some_have_none), 7);
  some_have_none.launch();
  if (!fake()) few.expect_product();
  EXPECT_EQ(parts(record(few)), 1);
  for (const int wrong : {0, -1, 1025})
    EXPECT_THAT(message_of<UserError>([&] { record(m, {.cuda = {.sum_parts = wrong}}); }),
                HasSubstr("expected 1 to 1024"));
  EXPECT_EQ(parts(record(m, {.debug = true})), 1);
}

TEST_P(CudaSplitSums, NotWhereThereAreBlocksEnough) {
  const std::int64_t half_of_them = CudaDevice::of(0)->context().limits().multiprocessors / 2;
  EXPECT_EQ(parts(record(Matrices(half_of_them, 1, 70))), 2);
  EXPECT_EQ(parts(record(Matrices(half_of_them + 1, 1, 70))), 1);
}

TEST_P(CudaSplitSums, OfKernelsThatAddUpProductsAlone) {
  TileKernel<void(Array<const float, 1>, Array<float, 1>)> doubled{
      "doubled",
      {"x", "y"},
      [](Array<const float, 1> x, Array<float, 1> y) {
        tile::store(y, {block_index()}, tile::load(x, {block_index()}, {64}) * 2.0f);
      },
      TileOptions{.threads = 64}};
  const Buffer<float> x(device(), {64}), y(device(), {64});
  const std::string message = message_of<UserError>([&] { doubled.record({1}, {.cuda = {.sum_parts = 2}}, x, y); });
  EXPECT_THAT(message, testing::AllOf(HasSubstr("'doubled'"), HasSubstr("sum_parts"),
                                      HasSubstr("no loop at its outermost level that adds up products")));
}

// By the launch, once, for the kernel that multiplies.
TEST_P(CudaSplitSums, OfFactorsThatAreCopied) {
  jit::VariantKey key = record_apart(Matrices(1, 2, 70)).variant().key;
  key.shape.sum_parts = 2;
  constexpr std::uint64_t factors = 3;
  key.arrays.aligned &= ~factors, key.arrays.tensor_maps &= ~factors, key.arrays.worth_padding |= factors;
  const auto variant = product.definition()->variant(key);
  EXPECT_EQ(variant->arrays.factor_copies.size(), 2u);
  EXPECT_TRUE(variant->arrays.makes_copies);
  EXPECT_TRUE(variant->gpu.tensor_maps.empty());
  ASSERT_TRUE(variant->first);
  EXPECT_FALSE(variant->first->arrays.makes_copies);
  EXPECT_EQ(variant->first->layout.offsets, variant->layout.offsets);
  ASSERT_EQ(variant->first->gpu.tensor_maps.size(), 2u);
  for (const passes::TensorMapNeeded &map : variant->first->gpu.tensor_maps)
    EXPECT_GE(map.array, 4u) << "behind the kernel's own arrays and the sums";
}

// Copies are made for the kernel whose blocks share its steps.
TEST_P(CudaSplitSums, OfFactorsThatAreCopiedForClusters) {
  jit::VariantKey key = record(Matrices(1, 2, 70)).variant().key;
  ASSERT_GT(key.shape.step_parts, 1);
  constexpr std::uint64_t factors = 3;
  key.arrays.aligned &= ~factors, key.arrays.tensor_maps &= ~factors, key.arrays.worth_padding |= factors;
  const auto variant = product.definition()->variant(key);
  EXPECT_EQ(variant->parts(), key.shape.step_parts);
  EXPECT_EQ(variant->arrays.factor_copies.size(), 2u);
  EXPECT_LE(variant->report.trials, 2) << "one of them for the copies";
  EXPECT_FALSE(variant->first);
  ASSERT_EQ(variant->gpu.tensor_maps.size(), 2u);
  for (const passes::TensorMapNeeded &map : variant->gpu.tensor_maps) EXPECT_GE(map.array, 3u) << "the copies";
  // Without them the loop has no bulk copies, and a further kernel adds up its sums.
  key.arrays.worth_padding = 0;
  const auto apart = product.definition()->variant(key);
  EXPECT_TRUE(apart->first);
  EXPECT_EQ(apart->parts(), key.shape.sum_parts);
}

// A launch that takes the place of another has as many kernels, and as many parts.
TEST_P(CudaSplitSums, InGraphs) {
  const Stream stream{device()};
  Matrices split(1, 2, 70), whole(1, 2, 5);
  // With rows that bulk copies cannot read, so that no cluster adds up the parts.
  Matrices odd(1, 2, 70, 7);
  for (const std::optional<int> cluster : {std::optional<int>(), std::optional(1)}) {
    const auto of = [&](const Matrices &m) { return record(m, {.stream = stream, .cuda = {.cluster = cluster}}); };
    EXPECT_GT(parts(of(split)), 1);
    EXPECT_EQ(parts(of(whole)), 1);
    EXPECT_GT(parts(of(odd)), 1);
    EXPECT_TRUE(of(odd).variant().first);
    std::vector<Matrices *> all{&whole, &split};
    if (!fake()) all.push_back(&odd);  // the fake's kernels take tensor maps
    for (Matrices *first : all) expect_others_in_place<Matrices>(stream, *first, all, of, !fake());
  }
}

}  // namespace
}  // namespace samite::test
