// Launches on CUDA: the host's work, on the fake driver, whose kernels are C++ functions; on a GPU the compiled kernels
// run. Needs NVRTC.
#include "samite/jit/definition.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CudaLaunches : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<ScaleArguments>("scale", run_scale);
  }

  Kernel<void(Array<float, 1>, Array<const float, 1>, Float)> scale{
      "scale", {"out", "in", "factor"}, [](Array<float, 1> out, Array<const float, 1> in, Float factor) {
        Int i = thread_index();
        out(i) = factor * in(i);
      }};
};
SAMITE_CUDA_SUITE(CudaLaunches);

TEST_P(CudaLaunches, RunOverTheirExtents) {
  Buffer<float> in{device(), {5}, {1, 2, 3, 4, 5}}, out{device(), {5}};
  scale.launch({4}, out, in, 2.0f);

  EXPECT_THAT(out.to_vector(), ElementsAre(2, 4, 6, 8, 0));
  EXPECT_EQ(scale.variants().size(), 1u);
}

TEST_P(CudaLaunches, ReadViewsThroughTheirStrides) {
  Buffer<float> in{device(), {6}, {1, 2, 3, 4, 5, 6}}, out{device(), {3}};
  scale.launch({3}, out, in.slice(0, 5, -1, -2), 1.0f);

  EXPECT_THAT(out.to_vector(), ElementsAre(6, 4, 2));
}

TEST_P(CudaLaunches, OfNoInstancesDoNothing) {
  Buffer<float> in{device(), {0}}, out{device(), {0}};
  scale.launch({0}, out, in, 2.0f);
  scale.record({0}, out, in, 2.0f).launch();
  Device::cuda(0).synchronize();
}

TEST_P(CudaLaunches, AreRecordedAndEdited) {
  Buffer<float> in{device(), {3}, {1, 2, 3}}, out{device(), {3}}, other{device(), {3}};
  Launch launch = scale.record({3}, out, in, 2.0f);
  launch.launch();
  launch.set("factor", 3.0f);
  launch.set("out", other);
  launch.set_dim(0, 2);
  launch.launch();

  EXPECT_THAT(out.to_vector(), ElementsAre(2, 4, 6));
  EXPECT_THAT(other.to_vector(), ElementsAre(3, 6, 0));
  EXPECT_EQ(launch.to_string(), "Launch of 'scale' (forward) over (2) on cuda:0");
}

TEST_P(CudaLaunches, RunOnTheStreamTheyName) {
  Stream stream{device()};
  Buffer<float> in{device(), {2}, {1, 2}}, out{device(), {2}}, last{device(), {2}};
  scale.launch({2}, {.stream = stream}, out, in, 2.0f);
  Launch launch = scale.record({2}, last, out, 2.0f);
  stream.synchronize();
  launch.launch(stream);

  EXPECT_THAT(last.to_vector(), ElementsAre(4, 8)) << "reading waits for every stream that uses the buffer";
}

TEST_P(CudaLaunches, AStreamOfAnotherDeviceIsRefused) {
  Buffer<float> in{Device::cpu(), {2}}, out{Device::cpu(), {2}};
  EXPECT_THAT(message_of<UserError>([&] { scale.launch({2}, {.stream = Stream(device())}, out, in, 1.0f); }),
              HasSubstr("on cuda:0, the buffers are on cpu; use a stream of the buffers' device"));
  Buffer<float> there{device(), {2}};
  EXPECT_THAT(message_of<UserError>([&] { scale.launch({2}, out, there, 1.0f); }),
              HasSubstr("argument 1 ('in') is on cuda:0, but argument 0 ('out') is on cpu"));
}

TEST_P(CudaLaunches, AreCapturedIntoGraphsAndEditedThere) {
  Stream stream{device()};
  Buffer<float> a{device(), {2}, {1, 2}}, b{device(), {2}}, c{device(), {2}};
  Launch first = scale.record({2}, {.stream = stream}, b, a, 2.0f);
  Launch second = scale.record({2}, {.stream = stream}, c, b, 5.0f);
  Graph graph = capture(stream, [&] {
    first.launch();
    second.launch();
  });
  EXPECT_THAT(c.to_vector(), ElementsAre(0, 0)) << "nothing has run";

  graph.launch();
  EXPECT_THAT(c.to_vector(), ElementsAre(10, 20));
  second.set("factor", 7.0f);
  graph.set(1, second);
  graph.launch();
  EXPECT_THAT(c.to_vector(), ElementsAre(14, 28));
  graph.enable(0, false);
  b.copy_from({0, 1});
  graph.launch();
  EXPECT_THAT(c.to_vector(), ElementsAre(0, 7));
  EXPECT_THAT(graph.to_string(), HasSubstr("Graph of 2 launches on cuda:0"));
  EXPECT_THAT(message_of<UserError>([&] { graph.set(2, second); }), HasSubstr("none of number 2"));
}

TEST_P(CudaLaunches, ACaptureThatFailsLeavesTheStreamAsItWas) {
  Stream stream{device()};
  Buffer<float> a{device(), {2}, {1, 2}}, b{device(), {2}};
  Launch launch = scale.record({2}, {.stream = stream}, b, a, 2.0f);
  EXPECT_THROW(capture(stream, [&] { stream.synchronize(); }), DeviceError);
  Launch elsewhere = scale.record({2}, b, a, 2.0f);
  EXPECT_THAT(message_of<UserError>([&] { capture(stream, [&] { elsewhere.launch(); }); }),
              HasSubstr("cannot be captured"));
  launch.launch();
  EXPECT_THAT(b.to_vector(), ElementsAre(2, 4));
}

TEST_P(CudaLaunches, EveryVariantIsCompiledOnce) {
  Buffer<float> in{device(), {4}, {1, 2, 3, 4}}, out{device(), {4}};
  for (int i = 0; i < 3; ++i) scale.launch({4}, out, in, static_cast<float>(i));
  scale.launch({2}, out, in.slice(0, 0, 4, 2), 1.0f);

  EXPECT_EQ(scale.variants().size(), 2u);
}

// The same launches on the CPU, where a graph is a list.
TEST(Graph, OnTheCpuReplaysItsLaunches) {
  Kernel add{"add", {"sum", "amount"}, [](Array<float, 1> sum, Float amount) {
               Int i = thread_index();
               sum(i) += amount;
             }};
  Stream stream{Device::cpu()};
  Buffer<float> sum{Device::cpu(), {2}};
  Launch one = add.record({2}, sum, 1.0f);
  Graph graph = capture(stream, [&] {
    one.launch();
    add.launch({1}, sum, 10.0f);
  });
  EXPECT_THAT(sum.to_vector(), ElementsAre(0, 0));
  graph.launch();
  graph.launch();
  EXPECT_THAT(sum.to_vector(), ElementsAre(22, 2));
  one.set("amount", 0.5f);
  graph.set(0, one);
  graph.enable(1, false);
  graph.launch();
  EXPECT_THAT(sum.to_vector(), ElementsAre(22.5f, 2.5f));

  Tape tape;
  EXPECT_THAT(message_of<UserError>([&] { tape.record([&] { graph.launch(); }); }),
              HasSubstr("cannot be put on a tape"));
  EXPECT_THAT(message_of<UserError>([&] { capture(stream, [&] { capture(stream, [] {}); }); }),
              HasSubstr("captures a graph already"));
}

}  // namespace
}  // namespace samite::test
