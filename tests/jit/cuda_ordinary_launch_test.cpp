// A launch that is not recorded passes the same to the driver as a recorded one, and keeps the same objects alive.
#include "samite/driver/capture.h"
#include "samite/driver/graph_executable.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Read = Array<const float, 1>;

// The driver's calls, as seen by the fake.
struct Asked {
  std::array<unsigned, 7> shape;  // grid, block, bytes of shared memory
  std::vector<driver::LaunchAttributeId> attributes;
  std::vector<std::byte> arguments, box;
  bool has_channel;

  friend bool operator==(const Asked &, const Asked &) = default;
};

class CudaOrdinaryLaunch : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<ScaleArguments>("scale", run_scale);
  }

  // Kernels of this name, which then do nothing.
  void note(const std::string &name, std::size_t argument_bytes) {
    driver::fake::KernelCode code;
    code.name = "samite_" + name;
    code.parameter_bytes = {argument_bytes, sizeof(LaunchBox), 8, 16};
    code.asked = [this](const driver::LaunchConfig &c) {
      Asked one{{c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z, c.shared_bytes}, {}, {}, {}, false};
      for (unsigned i = 0; i < c.attribute_count; ++i) one.attributes.push_back(c.attributes[i].id);
      asked.push_back(one);
    };
    code.run = [this, argument_bytes](void **parameters) {
      const auto *arguments = static_cast<const std::byte *>(parameters[0]);
      const auto *box = static_cast<const std::byte *>(parameters[1]);
      asked.back().arguments.assign(arguments, arguments + argument_bytes);
      asked.back().box.assign(box, box + sizeof(LaunchBox));
      asked.back().has_channel = *static_cast<void **>(parameters[2]) != nullptr;
    };
    fake()->understand(code);
  }

  template <class K, class... A>
  void expect_alike(const K &kernel, const LaunchExtents &extents, const LaunchOptions &options,
                    const A &...arguments) {
    asked.clear();
    kernel.record(extents, options, arguments...).launch();
    const std::vector<Asked> recorded = std::exchange(asked, {});
    kernel.launch(extents, options, arguments...);
    EXPECT_EQ(asked.size(), Extents(extents).count() == 0 ? 0u : 1u);
    EXPECT_EQ(asked, recorded);
  }

  Kernel<void(Array<float, 1>, Read, Float)> scale{
      "scale", {"out", "in", "factor"}, [](Array<float, 1> out, Read in, Float factor) {
        Int i = thread_index();
        out(i) = factor * in(i);
      }};
  std::vector<Asked> asked;
};
SAMITE_CUDA_SUITE(CudaOrdinaryLaunch);

TEST_P(CudaOrdinaryLaunch, AsksForWhatARecordedOneAsks) {
  if (!fake()) GTEST_SKIP() << "the fake alone tells what it was asked for";
  note("scale", sizeof(ScaleArguments));
  const Buffer<float> large(device(), {200'000}), other(device(), {200'000});
  for (const std::int64_t n : {0, 1, 3, 100, 65'535, 65'537, 199'999})
    for (const LaunchOptions &options :
         {LaunchOptions{}, LaunchOptions{.stream = Stream(device())},
          LaunchOptions{.debug = false, .cuda = {.cluster = 2}}, LaunchOptions{.cuda = {.programmatic = true}},
          LaunchOptions{.cuda = {.priority = -1}}, LaunchOptions{.deterministic = true}}) {
      expect_alike(scale, {n}, options, large, other, 2.0f);
      expect_alike(scale, {n}, options, large, large, 2.0f);  // aliased
    }
  const AnyBuffer odd = other.slice(0, 1, 199'999, 2), reversed = other.slice(0, 99, -1, -1),
                  constant = other.slice(0, 0, 1).broadcast({100});
  for (const AnyBuffer &in : {odd, reversed, constant}) expect_alike(scale, {50}, {}, large, Buffer<float>(in), 0.5f);
}

TEST_P(CudaOrdinaryLaunch, OfAnAdjointAsksForWhatARecordedOneAsks) {
  if (!fake()) GTEST_SKIP() << "the fake alone tells what it was asked for";
  const Kernel sum{"sum", [](Array<float, 1> y, Read a, Read b, Read c, Read d) {
                     Int i = thread_index();
                     y(i) = a(i) * b(i) + c(i) + d(i);
                   }};
  // Which of the arrays each argument is: gradients are apart, or aliased.
  for (const std::array<std::size_t, 5> &given : {std::array<std::size_t, 5>{0, 1, 2, 3, 4}, {0, 1, 1, 1, 4}})
    for (const std::size_t tracked : {2u, 3u, 5u}) {
      std::vector<Buffer<float>> b;
      for (std::size_t i = 0; i < 5; ++i)
        b.emplace_back(device(), Extents{7}, i < tracked ? Gradient::tracked : Gradient::untracked);
      const auto gradients =
          static_cast<std::size_t>(std::ranges::count_if(given, [&](auto i) { return i < tracked; }));
      for (const Direction direction : {Direction::adjoint, Direction::tangent}) {
        note("sum_" + std::string(name(direction)), (5 + gradients) * 24);
        expect_alike(sum, {7}, {.direction = direction}, b[given[0]], b[given[1]], b[given[2]], b[given[3]],
                     b[given[4]]);
      }
    }
}

TEST_P(CudaOrdinaryLaunch, ThatTheDriverRefusesHasWrittenNothing) {
  if (!fake()) GTEST_SKIP() << "a GPU refuses no such launch";
  const Buffer<float> out(device(), {3}), in(device(), {3}, {1, 2, 3});
  const std::uint64_t before = out.version();
  scale.launch({3}, out, in, 2.0f);
  EXPECT_EQ(out.version(), before + 1);

  fake()->fail(driver::Entry::LaunchKernelEx, driver::Result::out_of_memory);
  EXPECT_THAT(message_of<DeviceError>([&] { scale.launch({3}, out, in, 3.0f); }), HasSubstr("kernel \"samite_scale\""));

  EXPECT_EQ(out.version(), before + 1);
  EXPECT_THAT(out.to_vector(), ElementsAre(2, 4, 6));
}

TEST_P(CudaOrdinaryLaunch, OfANewKernelAndNewArraysEachTimeComputesTheSame) {
  for (int round = 0; round < 5; ++round) {
    const auto factor = static_cast<float>(round);
    const Buffer<float> in(device(), {3}, {1, 2, 3});
    const Buffer<float> out(device(), {round % 2 == 0 ? 3 : 6});  // at the address of one that is gone, or not
    scale.launch({3}, round % 2 == 0 ? out : out.slice(0, 5, -1, -2), in, factor);
    if (round % 2 == 0)
      EXPECT_THAT(out.to_vector(), ElementsAre(factor, 2 * factor, 3 * factor));
    else
      EXPECT_THAT(out.to_vector(), ElementsAre(0, 3 * factor, 0, 2 * factor, 0, factor));
  }
}

TEST_P(CudaOrdinaryLaunch, IsKeptByTheGraphThatCapturesIt) {
  const Stream stream(device());
  const driver::Stream &queue = stream.cuda()->stream();
  Buffer<float> out(device(), {3}), in(device(), {3}, {1, 2, 3});
  std::optional<Kernel<void(Array<float, 1>, Read, Float)>> kernel(scale);
  kernel->launch({3}, {.stream = stream}, out, in, 1.0f);
  const driver::Graph graph = driver::capture(queue, [&] { kernel->launch({3}, {.stream = stream}, out, in, 2.0f); });
  kernel.reset();
  scale = Kernel<void(Array<float, 1>, Read, Float)>("none", [](Array<float, 1>, Read, Float) {});

  driver::GraphExecutable::instantiate(graph).launch(queue);

  EXPECT_THAT(out.to_vector(), ElementsAre(2, 4, 6));
}

TEST_P(CudaOrdinaryLaunch, SaysFirstWhatIsWrongWithABuffer) {
  if (!fake()) GTEST_SKIP() << "a machine may have one GPU";
  const Kernel add{"add", {"y", "a", "b"}, [](Array<float, 1> y, Read a, Read b) {
                     Int i = thread_index();
                     y(i) = a(i) + b(i);
                   }};
  const Buffer<float> here(device(), {3}), there(Device::cuda(1), {3}), empty;
  const Buffer<float> none(device(), {0});

  EXPECT_THAT(message_of<UserError>([&] { add.launch({3}, here, there, empty); }),
              HasSubstr("argument 2 ('b') expects a buffer of f32 with rank 1; an empty buffer is given"));
  EXPECT_THAT(message_of<UserError>([&] { add.launch({3}, here, here, there); }),
              HasSubstr("argument 2 ('b') is on cuda:1, but argument 0 ('y') is on cuda:0"));
  EXPECT_THAT(message_of<UserError>([&] { add.launch({3}, none.slice(0, 0, 0), there, none); }),
              HasSubstr("argument 1 ('a') is on cuda:1, but argument 0 ('y') is on cuda:0"));
  EXPECT_THAT(message_of<UserError>([&] { add.launch({3}, here.slice(0, 0, 1).broadcast({3}), here, here); }),
              HasSubstr("a broadcast view whose indices share elements"));
}

}  // namespace
}  // namespace samite::test
