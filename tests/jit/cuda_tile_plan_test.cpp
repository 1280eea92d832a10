// Plans that kernels and launches ask for: which variants they make, how these are launched, reported and archived, and
// what is refused. On the fake driver, and on a GPU, which multiplies.
#include "samite/jit/definition.h"
#include "samite/jit/variant_facts.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/jit/half_products.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Product = TileKernel<void(Array<const half, 2>, Array<const half, 2>, Array<float, 2>)>;

constexpr std::int64_t side = 128, step = 64;

// A team of one warp group has a tile.
Product product_with(const TilePlan &plan) {
  return Product{"product",
                 {"a", "b", "c"},
                 [](Array<const half, 2> a, Array<const half, 2> b, Array<float, 2> c) {
                   auto [i, j] = block_index<2>();
                   Tile<float> sum = tile::zeros<float>({side, side});
                   for (Int k : range(tile::ceil_div(a.extent(1), static_cast<int>(step)), pipelined(6)))
                     tile::matmul(tile::load(a, {i, k}, {side, step}), tile::load(b, {k, j}, {step, side}), sum);
                   tile::store(c, {i, j}, sum);
                 },
                 TileOptions{.threads = 128, .plan = plan}};
}

class CudaTilePlan : public CudaKernelTest {
 protected:
  struct ProductArguments {
    MatrixArgument<const half> a, b;
    MatrixArgument<float> c;
  };
  struct SplitArguments {
    ProductArguments own;
    float *sums;
    std::int64_t extent[3], stride[3];
  };
  struct Asked {
    unsigned grid = 0, cluster = 0, rows = 0;
  };

  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    if (CudaDevice::of(0)->context().limits().compute_capability / 10 != 9)
      GTEST_SKIP() << "the fake's kernels are those of compute capability 9.0";
    m_.emplace();
    if (!fake()) return;
    constexpr std::size_t maps = 2 * sizeof(driver::TensorMapBits);
    understand("samite_product", {sizeof(ProductArguments), sizeof(LaunchBox), 8, 16, maps}, whole_);
    understand("samite_product_parts", {sizeof(SplitArguments), sizeof(LaunchBox), 8, 16, maps}, parts_);
    understand("samite_product_rest", {sizeof(SplitArguments), sizeof(LaunchBox), 8, 16}, rest_);
  }
  void understand(const char *name, std::vector<std::size_t> bytes, Asked &asked) {
    driver::fake::KernelCode code;
    code.name = name;
    code.parameter_bytes = std::move(bytes);
    code.run = [](void **) {};
    code.asked = [&asked](const driver::LaunchConfig &config) {
      asked = {config.grid_x, 0, config.block_y};
      for (unsigned i = 0; i < config.attribute_count; ++i)
        if (config.attributes[i].id == driver::LaunchAttributeId::cluster_dimension)
          asked.cluster = config.attributes[i].value.cluster_dimension.x;
    };
    fake()->understand(code);
  }

  // Few blocks, so that the library forms neither teams nor clusters.
  struct Matrices {
    Buffer<half> a = whole_numbers(2 * side, 3 * step, 3), b = whole_numbers(3 * step, 2 * side, 5);
    Buffer<float> c{Device::cuda(0), {2 * side, 2 * side}};
  };
  Launch record(const Product &product, const TilePlan &plan = {}, LaunchOptions options = {}) const {
    options.cuda.plan = plan;
    return product.record({2, 2}, std::move(options), m_->a, m_->b, m_->c);
  }
  void expect_product(Launch &launch) {
    m_->c.fill(-1.0f);
    launch.launch();
    if (!fake()) test::expect_product(m_->a, m_->b, m_->c, 3 * step);
  }
  std::string refusal(const Product &product, const TilePlan &plan, const LaunchOptions &options = {}) const {
    return message_of<UserError>([&] { record(product, plan, options); });
  }

  std::optional<Matrices> m_;
  Asked whole_, parts_, rest_;
};
SAMITE_CUDA_SUITE(CudaTilePlan);

TEST_P(CudaTilePlan, OfAKernelIsThatOfItsLaunches) {
  Launch launch = record(product_with({.teams = 2, .strip_columns = 2}));
  EXPECT_EQ(launch.variant().gpu.form.teams, 2);
  EXPECT_EQ(launch.variant().key.plan, (TilePlan{.teams = 2, .strip_columns = 2}));
  expect_product(launch);
  if (fake()) EXPECT_EQ(whole_.rows, 3u) << "two teams and the producers";
}

TEST_P(CudaTilePlan, OfALaunchMakesAVariantOfItsOwn) {
  const Product product = product_with({.stages = 4});
  Launch usual = record(product), teams = record(product, {.teams = 2}), again = record(product, {.teams = 2});
  EXPECT_EQ(&teams.variant(), &again.variant());
  EXPECT_NE(&teams.variant(), &usual.variant());
  EXPECT_EQ(teams.variant().key.plan, (TilePlan{.stages = 4, .teams = 2}));
  EXPECT_EQ(usual.variant().gpu.form.teams, 0);
  EXPECT_EQ(usual.variant().gpu.plan.teams, 1);
  EXPECT_EQ(record(product, {.stages = 3}).variant().gpu.plan.stages, 3);
  EXPECT_NE(jit::facts_text("product", usual.variant().key), jit::facts_text("product", teams.variant().key));
}

TEST_P(CudaTilePlan, ClustersFormInOneWave) {
  const Product product = product_with({});
  Launch launch = record(product, {.cluster_blocks = 2, .cluster_dimension = 1});
  EXPECT_EQ(launch.variant().gpu.form.cluster_blocks, 2);
  EXPECT_EQ(launch.variant().gpu.plan.shared_factors, 1);
  expect_product(launch);
  if (fake()) EXPECT_EQ(whole_.cluster, 2u);
  EXPECT_THAT(refusal(product, {.cluster_blocks = 2}, {.cuda = {.cluster = 2}}),
              HasSubstr("the launch has no pairs of blocks"));
}

TEST_P(CudaTilePlan, SumsAreSplitAsAskedFor) {
  const Product product = product_with({});
  Launch in_clusters = record(product, {.parts = 3, .parts_in_cluster = 1});
  EXPECT_EQ(in_clusters.variant().gpu.form.step_parts, 3);
  expect_product(in_clusters);
  Launch apart = record(product, {.parts = 3, .parts_in_cluster = 0});
  EXPECT_EQ(apart.variant().parts(), 3);
  EXPECT_EQ(apart.variant().gpu.form.step_parts, 0);
  EXPECT_EQ(apart.variant().gpu.plan.parts, 3);
  EXPECT_EQ(apart.variant().gpu.plan.parts_in_cluster, 0);
  expect_product(apart);
  ASSERT_TRUE(apart.variant().first);
  Launch teams = record(product, {.teams = 2, .parts = 2, .parts_in_cluster = 0});
  ASSERT_TRUE(teams.variant().first);
  EXPECT_EQ(teams.variant().first->gpu.form.teams, 2);
  expect_product(teams);
}

// Another kernel reduces the parts where blocks have teams, or the launch clusters of its own.
TEST_P(CudaTilePlan, SumsAreSplitBesideTeamsAndOtherClusters) {
  const Product product = product_with({});
  EXPECT_TRUE(record(product, {.teams = 2, .parts = 2}).variant().first);
  Launch own = record(product, {.parts = 3}, {.cuda = {.cluster = 1}});
  EXPECT_EQ(own.variant().parts(), 3);
  EXPECT_EQ(own.variant().gpu.form.step_parts, 0);
  expect_product(own);
  EXPECT_THAT(refusal(product, {.parts = 3, .parts_in_cluster = 1}, {.cuda = {.cluster = 2}}),
              AllOf(HasSubstr("the launch has clusters of another kind"), HasSubstr("(parts 1, parts_in_cluster 1)")));
}

TEST_P(CudaTilePlan, SplitsThatCannotBeAreRefused) {
  const Product product = product_with({});
  EXPECT_THAT(refusal(product, {.parts = 4}), AllOf(HasSubstr("kernel 'product': its plan asks for parts 4, but its "
                                                              "loop has 3 iterations"),
                                                    HasSubstr("the nearest plan that holds is (parts 3)")));
  const Buffer<half> long_a(device(), {2 * side, 64 * step}), long_b(device(), {64 * step, 2 * side});
  EXPECT_THAT(message_of<UserError>([&] {
                product.record({2, 2}, {.cuda = {.plan = {.parts = 9, .parts_in_cluster = 1}}}, long_a, long_b, m_->c);
              }),
              HasSubstr("(parts 8, parts_in_cluster 1)"));
  EXPECT_THAT(refusal(product, {.cluster_blocks = 2, .parts = 2, .parts_in_cluster = 0}),
              HasSubstr("another kernel reduces its sums, of 2 parts"));
  const TileKernel<void(Array<float, 1>)> ones{
      "ones", {"x"}, [](Array<float, 1> x) { tile::store(x, {block_index()}, tile::full<float>({64}, 1.0f)); }};
  const Buffer<float> x(device(), {64});
  EXPECT_THAT(message_of<UserError>([&] { ones.record({1}, {.cuda = {.plan = {.parts = 2}}}, x); }),
              AllOf(HasSubstr("it has no loop at its outermost level that adds up products"), HasSubstr("(parts 1)")));
}

TEST_P(CudaTilePlan, APlanThatDoesNotHoldIsRefusedWithOneThatDoes) {
  const std::string message = refusal(product_with({.stages = 8}), {});
  EXPECT_THAT(message, AllOf(HasSubstr("cuda_tile_plan_test.cpp:"),
                             HasSubstr("asks for stages 8, but a block's shared memory has room for 6"),
                             HasSubstr("the nearest plan that holds is (stages 6)")));
  Launch nearest = record(product_with({.stages = 6}));
  EXPECT_EQ(nearest.variant().gpu.plan.stages, 6);
  expect_product(nearest);
}

TEST_P(CudaTilePlan, IsReported) {
  const Product product = product_with({.strip_columns = 4});
  record(product);
  const KernelReport reported = report(product);
  EXPECT_THAT(reported.to_string(), HasSubstr("\n  plan: rows 128, columns 128, inner 64, threads 128, stages 6, teams "
                                              "1, cluster_blocks 1, parts 1, strip_columns 4"));
  EXPECT_THAT(reported.to_json(), AllOf(HasSubstr("\"plan\": {"), HasSubstr("\"strip_columns\": 4")));
}

TEST_P(CudaTilePlan, OfFieldsWithValuesThatNoKernelHas) {
  EXPECT_THAT(message_of<UserError>([] { product_with({.teams = 3}); }),
              HasSubstr("kernel 'product': TileOptions::plan has teams 3; expected 1 to 2"));
  EXPECT_THAT(refusal(product_with({}), {.stages = 17}),
              HasSubstr("LaunchOptions::cuda.plan of kernel 'product' has stages 17; expected 1 to 16"));
  const Kernel<void(Array<float, 1>)> by_thread{"by_thread", {"x"}, [](Array<float, 1> x) { x(thread_index()) = 1; }};
  const Buffer<float> x(device(), {64});
  EXPECT_THAT(message_of<UserError>([&] { by_thread.record({64}, {.cuda = {.plan = {.teams = 1}}}, x); }),
              HasSubstr("plans are for kernels of tiles"));
}

// Adjoints are other kernels; debug mode keeps each access in its place.
TEST_P(CudaTilePlan, IsForForwardLaunchesThatAreOptimised) {
  EXPECT_EQ(record(product_with({.teams = 2}), {}, {.debug = true}).variant().key.plan, TilePlan());
  if (fake()) GTEST_SKIP() << "the fake knows no adjoint of it";
  const Product product = product_with({.teams = 2});
  const Buffer<half> a(device(), {2 * side, step}, Gradient::tracked), b(device(), {step, 2 * side});
  const Buffer<float> c(device(), {2 * side, 2 * side}, Gradient::tracked);
  Launch adjoint = product.record({2, 2}, {.direction = Direction::adjoint}, a, b, c);
  EXPECT_EQ(adjoint.variant().key.plan, TilePlan());
  EXPECT_EQ(adjoint.variant().gpu.form.teams, 0);
}

TEST(TilePlanFacts, AreReadAgainAndServeTheirOwnPlan) {
  jit::VariantKey key;
  key.cuda = 90;
  key.plan = {.stages = 4, .teams = 2, .blocks_ahead = 0};
  const std::string text = jit::facts_text("product", key);
  EXPECT_THAT(text, AllOf(HasSubstr(" plan.stages=4"), HasSubstr(" plan.blocks_ahead=0"), Not(HasSubstr("parts"))));
  const auto read = jit::facts_from(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, key);
  EXPECT_FALSE(jit::facts_from("kernel=product\ndirection=forward plan.crews=2"));
  EXPECT_TRUE(jit::serves(key, key));
  jit::VariantKey other = key;
  other.plan.teams = 1;
  EXPECT_FALSE(jit::serves(other, key));
  other.plan = {};
  EXPECT_FALSE(jit::serves(other, key)) << "an archived kernel without a plan";
  EXPECT_THAT(jit::description(key, {}), HasSubstr("plan stages 4, teams 2, blocks_ahead 0"));
}

// The CPU has no use for a plan.
TEST(TilePlanOnCpu, IsIgnored) {
  const TileKernel<void(Array<float, 1>)> ones{
      "ones",
      {"x"},
      [](Array<float, 1> x) { tile::store(x, {block_index()}, tile::full<float>({64}, 1.0f)); },
      TileOptions{.plan = {.teams = 2}}};
  const Buffer<float> x(Device::cpu(), {64});
  Launch launch = ones.record({1}, {.cuda = {.plan = {.stages = 3}}}, x);
  launch.launch();
  EXPECT_EQ(x.to_vector(), std::vector<float>(64, 1.0f));
  EXPECT_EQ(launch.variant().key.plan, TilePlan());
}

}  // namespace
}  // namespace samite::test
