// Clusters, programmatic launches and priorities, as LaunchOptions request them.
#include "samite/jit/definition.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using driver::LaunchAttributeId;
using testing::AllOf;
using testing::HasSubstr;

struct AddArguments {
  ArrayArgument<float> out;
  float amount;
};

class CudaLaunchAttributes : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (!IsSkipped()) understand_add();
  }

  void understand_add() {
    if (!fake()) return;
    driver::fake::KernelCode code = kernel_code<AddArguments>("add", [](const AddArguments &a, const LaunchBox &box) {
      for (std::int64_t i = 0; i < box.end[0]; ++i) a.out.data[i] += a.amount;
    });
    code.asked = [this](const driver::LaunchConfig &config) {
      grid = config.grid_x;
      attributes.assign(config.attributes, config.attributes + config.attribute_count);
    };
    fake()->understand(code);
  }

  bool has_clusters() { return CudaDevice::of(0)->context().limits().clusters; }

  Kernel<void(Array<float, 1>, Float)> add{"add", {"out", "amount"}, [](Array<float, 1> out, Float amount) {
                                             Int i = thread_index();
                                             out(i) += amount;
                                           }};
  // The attributes of the last launch, on the fake.
  unsigned grid = 0;
  std::vector<driver::LaunchAttribute> attributes;
};
SAMITE_CUDA_SUITE(CudaLaunchAttributes);

TEST_P(CudaLaunchAttributes, ClustersCoverEveryInstanceOnce) {
  if (!has_clusters()) GTEST_SKIP() << "the device has no clusters";
  const std::int64_t n = 1'000'003;
  Buffer<float> out{device(), {n}};
  add.launch({n}, {.cuda = {.cluster = 4}}, out, 1.0f);

  EXPECT_EQ(out.to_vector(), std::vector<float>(n, 1));
  if (!fake()) return;
  ASSERT_EQ(attributes.size(), 1u);
  EXPECT_EQ(attributes[0].id, LaunchAttributeId::cluster_dimension);
  EXPECT_EQ(attributes[0].value.cluster_dimension.x, 4u);
  EXPECT_EQ(grid % 4, 0u);
}

TEST_P(CudaLaunchAttributes, ALaunchThatBeginsEarlySeesWhatTheOneBeforeItWrote) {
  if (!has_clusters()) GTEST_SKIP() << "the device has no programmatic launches";
  const std::int64_t n = 1 << 20;
  Buffer<float> out{device(), {n}};
  Launch step = add.record({n}, {.cuda = {.programmatic = true}}, out, 1.0f);
  for (int i = 0; i < 100; ++i) step.launch();

  EXPECT_EQ(out.to_vector(), std::vector<float>(n, 100));
  EXPECT_THAT(step.variant().text.source, HasSubstr("wait_for_earlier_launch();"));
  if (fake()) {
    ASSERT_EQ(attributes.size(), 1u);
    EXPECT_EQ(attributes[0].id, LaunchAttributeId::programmatic_stream_serialization);
  }
}

TEST_P(CudaLaunchAttributes, ALaunchHasAPriority) {
  Buffer<float> out{device(), {10}};
  add.launch({10}, {.cuda = {.priority = -1}}, out, 1.0f);

  EXPECT_EQ(out.at(9), 1);
  if (fake()) {
    ASSERT_EQ(attributes.size(), 1u);
    EXPECT_EQ(attributes[0].id, LaunchAttributeId::priority);
    EXPECT_EQ(attributes[0].value.priority, -1);
  }
}

// A launch's own priority overrides its stream's; neither is in the code.
TEST_P(CudaLaunchAttributes, APriorityIsOfTheLaunchOrOfItsStream) {
  Buffer<float> out{device(), {10}};
  Launch by_option = add.record({10}, {.cuda = {.priority = -1}}, out, 1.0f),
         by_stream = add.record({10}, {.stream = Stream(device(), -1)}, out, 1.0f);
  by_option.launch();
  by_option.stream().synchronize();
  by_stream.launch();

  EXPECT_EQ(out.at(9), 2);
  EXPECT_EQ(&by_option.variant(), &by_stream.variant());
  EXPECT_EQ(add.variants().size(), 1u);
  if (fake()) {
    EXPECT_THAT(attributes, testing::IsEmpty()) << "the stream has it already";
  }
}

TEST_P(CudaLaunchAttributes, ThatWereCapturedStay) {
  if (!has_clusters()) GTEST_SKIP() << "the device has no clusters";
  Stream stream{device()};
  Buffer<float> out{device(), {1000}};
  Launch launch = add.record({1000}, {.stream = stream, .cuda = {.cluster = 2}}, out, 1.0f);
  Graph graph = capture(stream, [&] { launch.launch(); });
  launch.set("amount", 3.0f);
  graph.set(0, launch);
  graph.launch();
  EXPECT_EQ(out.at(999), 3);

  Launch plain = add.record({1000}, {.stream = stream}, out, 1.0f);
  EXPECT_THAT(message_of<UserError>([&] { graph.set(0, plain); }), HasSubstr("the same LaunchOptions"));
}

TEST_P(CudaLaunchAttributes, AClusterThatCannotBeIsRefused) {
  if (!has_clusters()) GTEST_SKIP() << "the device has no clusters";
  Buffer<float> out{device(), {10}};
  for (const int cluster : {0, -1, 17})
    EXPECT_THAT(message_of<UserError>([&] { add.launch({10}, {.cuda = {.cluster = cluster}}, out, 1.0f); }),
                AllOf(HasSubstr("kernel"), HasSubstr("cluster")))
        << cluster;
}

TEST_P(CudaLaunchAttributes, AClusterTheDeviceHasNoRoomForIsRefused) {
  if (!fake()) GTEST_SKIP() << "GPUs differ in this";
  start_fake({.largest_cluster = 8});
  understand_add();
  Buffer<float> out{device(), {1 << 16}};

  EXPECT_THAT(message_of<UserError>([&] { add.launch({1 << 16}, {.cuda = {.cluster = 16}}, out, 1.0f); }),
              AllOf(HasSubstr("a cluster of 16x1x1 has 16 blocks"), HasSubstr("cuda:0 has room for 8"),
                    HasSubstr("smaller cluster")));
  EXPECT_NO_THROW(add.launch({1 << 16}, {.cuda = {.cluster = 8}}, out, 1.0f));
}

TEST_P(CudaLaunchAttributes, AnOlderDeviceRefusesWhatItCannot) {
  if (!fake()) GTEST_SKIP() << "the fake alone can be old";
  start_fake({.compute_capability = 80});
  understand_add();
  Buffer<float> out{device(), {10}};

  EXPECT_THAT(message_of<UserError>([&] { add.launch({10}, {.cuda = {.cluster = 2}}, out, 1.0f); }),
              AllOf(HasSubstr("clusters need a GPU of compute capability 9.0"), HasSubstr("cuda:0 has 8.0")));
  EXPECT_THAT(message_of<UserError>([&] { add.launch({10}, {.cuda = {.programmatic = true}}, out, 1.0f); }),
              AllOf(HasSubstr("programmatic dependent launch needs"), HasSubstr("cuda:0 has 8.0")));
}

TEST(LaunchAttributes, MeanNothingOnTheCpu) {
  Kernel fill{"fill", [](Array<float, 1> out) { out(thread_index()) = 1; }};
  Buffer<float> out{Device::cpu(), {3}};
  fill.launch({3}, {.cuda = {.cluster = 4, .programmatic = true, .priority = 2}}, out);

  EXPECT_EQ(out.to_vector(), std::vector<float>(3, 1));
}

}  // namespace
}  // namespace samite::test
