// The host's buffer operations during a graph's capture are replayed with the graph: on the CPU, on the fake driver and
// on a GPU.
#include "samite/driver/copy.h"
#include "samite/runtime/cuda_stream.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct AddVectors {
  ArrayArgument<float> y, x;
};
struct ScaleWithGradients {
  ArrayArgument<float> out, in;
  float factor;
  ArrayArgument<float> out_gradient, in_gradient;
};

class GraphBuffers : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<AddVectors>("add", [](const AddVectors &a, const LaunchBox &box) {
      for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i) a.y.data[i * a.y.stride] += a.x.data[i * a.x.stride];
    });
    understand<ScaleArguments>("scale", run_scale);
    understand<ScaleWithGradients>("scale_adjoint", [](const ScaleWithGradients &a, const LaunchBox &box) {
      for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i) {
        a.in_gradient.data[i] += a.factor * a.out_gradient.data[i];
        a.out_gradient.data[i] = 0;
      }
    });
  }

  // The CPU needs no GPU, and a machine with a GPU may have no compiler.
  std::vector<Device> devices() {
    if (fake()) return {device(), Device::cpu()};
    return {device()};
  }

  Kernel<void(Array<float, 1>, Array<const float, 1>)> add{
      "add", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) { y(thread_index()) += x(thread_index()); }};
  Kernel<void(Array<float, 1>, Array<const float, 1>, Float)> scale{
      "scale", {"out", "in", "factor"}, [](Array<float, 1> out, Array<const float, 1> in, Float factor) {
        out(thread_index()) = factor * in(thread_index());
      }};
};
SAMITE_CUDA_SUITE(GraphBuffers);

TEST_P(GraphBuffers, AFillIsReplayedInItsPlace) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<float> x{on, {2}, {1, 2}}, y{on, {2}, {7, 7}};
    Graph graph = capture(stream, [&] {
      y.fill(0);
      add.launch({2}, {.stream = stream}, y, x);
    });
    EXPECT_THAT(y.to_vector(), ElementsAre(7, 7)) << on << ": nothing has run";
    for (int replay = 0; replay < 3; ++replay) graph.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(1, 2)) << on;
  }
}

TEST_P(GraphBuffers, CopiesReadWhatIsThereWhenTheyAreReplayed) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<float> x{on, {4}, {1, 2, 3, 4}}, y{on, {4}}, matrix{on, {2, 2}};
    Graph graph = capture(stream, [&] {
      y.copy_from(x);
      y.slice(0, 1, 4).copy_from(y.slice(0, 0, 3));         // overlaps
      matrix.copy_from(y.reshape({2, 2}).transpose());      // of a view
      x.slice(0, 0, 4, 2).copy_from(x.slice(0, 3, 0, -2));  // interleaved
    });
    graph.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(1, 1, 2, 3)) << on;
    EXPECT_THAT(matrix.to_vector(), ElementsAre(1, 2, 1, 3)) << on;
    EXPECT_THAT(x.to_vector(), ElementsAre(4, 2, 2, 4)) << on;
    graph.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(4, 4, 2, 2)) << on;
  }
}

TEST_P(GraphBuffers, ValuesOfTheHostAreThoseOfTheCapture) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<double> y{on, {3}};
    Buffer<std::uint8_t> bytes{on, {3}};
    std::vector<double> values{1.5, 2.5, 3.5};
    Graph graph = capture(stream, [&] {
      y.copy_from(std::span<const double>(values));
      y.set({1}, -1);
      bytes.slice(0, 0, 3, 2).fill(7);
    });
    values.assign(3, 0);
    y.fill(9);
    for (int replay = 0; replay < 2; ++replay) graph.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(1.5, -1, 3.5)) << on;
    EXPECT_THAT(bytes.to_vector(), ElementsAre(7, 0, 7)) << on;
  }
}

TEST_P(GraphBuffers, AGradientIsZeroedAlone) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<float> y{on, {4}, Gradient::tracked};
    y.gradient().fill(5);
    Graph graph = capture(stream, [&] { y.slice(0, 1, 4, 2).zero_gradient(); });
    EXPECT_THAT(y.gradient().to_vector(), ElementsAre(5, 5, 5, 5)) << on;
    graph.launch();
    EXPECT_THAT(y.gradient().to_vector(), ElementsAre(5, 0, 5, 0)) << on;
  }
}

// The graph keeps it.
TEST_P(GraphBuffers, ACloneIsMadeOnceAndFilledInEachReplay) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<float> x{on, {2}, {1, 2}}, y{on, {2}};
    Graph graph = capture(stream, [&] {
      const Buffer<float> before = x.clone();
      x.fill(0);
      y.copy_from(before);
    });
    graph.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(1, 2)) << on;
    graph.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(0, 0)) << on;
  }
}

TEST_P(GraphBuffers, BackwardIsCapturedWithItsSeed) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<float> x{on, {1}, Gradient::tracked}, y{on, {1}, Gradient::tracked};
    Tape tape;
    tape.record([&] { scale.launch({1}, {.stream = stream}, y, x, 3.0f); });
    Graph graph = capture(stream, [&] { tape.backward(y); });
    EXPECT_EQ(x.gradient().at(0), 0) << on;
    for (int replay = 0; replay < 2; ++replay) graph.launch();
    EXPECT_EQ(x.gradient().at(0), 6) << on << ": each replay begins with a gradient of 1 and adds";
  }
}

TEST_P(GraphBuffers, ConditionsHaveThemToo) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<std::int32_t> going{on, {1}, {1}};
    Buffer<float> y{on, {3}};
    Graph graph = capture(stream, [&] {
      y.fill(1);
      capture_if(going, [&] {
        y.slice(0, 0, 3, 2).fill(4);
        y.set({1}, 8);
      });
      capture_while(going, [&] { going.fill(0); });
    });
    graph.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(4, 8, 4)) << on;
    graph.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(1, 1, 1)) << on;
  }
}

TEST_P(GraphBuffers, AGraphThatIsLaunchedInACaptureBecomesAPartOfIt) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<float> x{on, {2}, {1, 2}}, y{on, {2}};
    std::optional<Graph> inner = capture(stream, [&] {
      y.fill(0);
      add.launch({2}, {.stream = stream}, y, x);
    });
    Graph outer = capture(stream, [&] {
      inner->launch();
      add.launch({2}, {.stream = stream}, y, x);
    });
    EXPECT_THAT(y.to_vector(), ElementsAre(0, 0)) << on;
    inner->launch();
    inner.reset();
    for (int replay = 0; replay < 2; ++replay) outer.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(2, 4)) << on;
    EXPECT_EQ(outer.size(), 1u);
    if (on == Device::cpu()) continue;  // all streams are one there
    EXPECT_THAT(message_of<UserError>([&] { capture(Stream{on}, [&] { outer.launch(stream); }); }),
                HasSubstr("launch it on the stream that is captured"));
  }
}

TEST_P(GraphBuffers, AGraphBecomesAPartAsItsEditsHaveLeftIt) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<float> x{on, {2}, {1, 2}}, y{on, {2}};
    Graph inner = capture(stream, [&] {
      y.fill(0);
      for (int i = 0; i < 3; ++i) add.launch({2}, {.stream = stream}, y, x);
    });
    inner.enable(0, false);
    inner.enable(1, false);
    inner.enable(1, true);
    inner.set(2, add.record({1}, {.stream = stream}, y, x));
    Graph outer = capture(stream, [&] { inner.launch(); });
    inner.enable(1, false);
    outer.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(2, 2)) << on;
    inner.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(1, 0)) << on;
  }
}

TEST_P(GraphBuffers, AGraphWithConditionsBecomesAPartToo) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<std::int32_t> going{on, {1}, {1}};
    Buffer<float> x{on, {2}, {1, 2}}, y{on, {2}};
    Graph inner = capture(stream, [&] {
      going.fill(1);
      capture_while(going, [&] {
        add.launch({2}, {.stream = stream}, y, x);
        going.fill(0);
      });
      capture_if(going, [&] { y.fill(9); });
    });
    Graph outer = capture(stream, [&] {
      y.fill(3);
      inner.launch();
      add.launch({2}, {.stream = stream}, y, x);
    });
    for (int replay = 0; replay < 2; ++replay) outer.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(5, 7)) << on;
    outer.enable(0, false);
    outer.launch();
    EXPECT_THAT(y.to_vector(), ElementsAre(4, 5)) << on;
    if (on == Device::cpu()) continue;  // there are no others
    Graph mixed = capture(stream, [&] {
      driver::fill_bytes(stream.cuda()->stream(), reinterpret_cast<driver::CUdeviceptr>(y.data()), 0, 8);
      capture_if(going, [&] { y.fill(9); });
    });
    EXPECT_THAT(message_of<UserError>([&] { capture(stream, [&] { mixed.launch(); }); }),
                HasSubstr("work that another library has put into its stream"));
  }
}

TEST_P(GraphBuffers, WhatTheyAreIsTold) {
  for (const Device on : devices()) {
    const Stream stream{on};
    Buffer<float> x{on, {2}}, y{on, {2}};
    Graph graph = capture(stream, [&] {
      y.fill(0);
      x.copy_from(y);
      x.set({0}, 1);
    });
    const std::string buffer = "Buffer<f32>(2) on " + on.to_string();
    EXPECT_EQ(graph.to_string(), "Graph of 0 launches on " + on.to_string() + "\n  Fill of " + buffer + "\n  Copy of " +
                                     buffer + " to " + buffer + "\n  Values written to Buffer<f32>(1) on " +
                                     on.to_string());
  }
}

TEST_P(GraphBuffers, WhatCannotBeCapturedIsRefused) {
  for (const Device on : devices()) {
    const Stream stream{on};
    const Device elsewhere = on == Device::cpu() ? device() : Device::cpu();
    Buffer<float> y{on, {2}}, there{elsewhere, {2}};
    const auto refusal = [&](auto work) { return message_of<UserError>([&] { capture(stream, work); }); };
    const auto of_one_device =
        AllOf(HasSubstr("graph_buffers_test.cpp"), HasSubstr("a graph is of one device"), HasSubstr(on.to_string()));
    EXPECT_THAT(refusal([&] { there.fill(1); }), of_one_device);
    EXPECT_THAT(refusal([&] { y.copy_from(there); }), of_one_device);
    EXPECT_THAT(refusal([&] { there.copy_from(y); }), of_one_device);
    PinnedArray<float> pinned{on, {2}};
    EXPECT_THAT(refusal([&] { y.copy_from(pinned, stream); }), HasSubstr("cannot be captured"));
    EXPECT_THAT(refusal([&] { y.copy_to(pinned, stream); }), HasSubstr("cannot be captured"));
    y.fill(3);
    EXPECT_THAT(y.to_vector(), ElementsAre(3, 3)) << "stream and buffers are as before";
  }
}

TEST_P(GraphBuffers, AValueThatTheGraphWritesIsNotReadBefore) {
  if (!fake()) GTEST_SKIP() << "of the CPU, where a machine with a GPU may have no compiler";
  Buffer<float> x{Device::cpu(), {2}, {1, 2}}, y{Device::cpu(), {2}};
  const Stream stream{Device::cpu()};
  for (const bool by_launch : {false, true})
    EXPECT_THAT(message_of<UserError>([&] {
                  capture(stream, [&] {
                    EXPECT_EQ(x.at(0), 1) << "what it does not write is there";
                    if (by_launch)
                      add.launch({2}, y, x);
                    else
                      y.fill(1);
                    (void)y.at(0);
                  });
                }),
                AllOf(HasSubstr("graph_buffers_test.cpp"), HasSubstr("while a graph is captured that writes it"),
                      HasSubstr("read it after that")));
}

}  // namespace
}  // namespace samite::test
