// Graphs with parts that depend on a value: on the fake driver and a GPU, and each time on the CPU as well.
#include "tests/jit/cuda_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct AddIntArguments {
  ArrayArgument<std::int32_t> sum;
  std::int32_t amount;
};
struct BelowArguments {
  ArrayArgument<bool> flag;
  ArrayArgument<const std::int32_t> sum;
  std::int32_t limit;
};

class GraphConditions : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand_kernels();
  }

  // The CPU needs no GPU, and a machine with a GPU may have no compiler.
  std::vector<Device> devices() {
    if (fake()) return {device(), Device::cpu()};
    return {device()};
  }

  void understand_kernels() {
    understand<AddIntArguments>("add", [](const AddIntArguments &a, const LaunchBox &) { a.sum.data[0] += a.amount; });
    understand<BelowArguments>(
        "below", [](const BelowArguments &a, const LaunchBox &) { a.flag.data[0] = a.sum.data[0] < a.limit; });
  }

  Kernel<void(Array<std::int32_t, 1>, Int)> add{"add", {"sum", "amount"}, [](Array<std::int32_t, 1> sum, Int amount) {
                                                  Int i = thread_index();
                                                  sum(i) += amount;
                                                }};
  Kernel<void(Array<bool, 1>, Array<const std::int32_t, 1>, Int)> below{
      "below", {"flag", "sum", "limit"}, [](Array<bool, 1> flag, Array<const std::int32_t, 1> sum, Int limit) {
        Int i = thread_index();
        flag(i) = sum(i) < limit;
      }};
};
SAMITE_CUDA_SUITE(GraphConditions);

// The tests' arrays and kernels, on one device.
struct Counter {
  Device on;
  Stream stream{on};
  Buffer<std::int32_t> sum{on, {1}};
  Buffer<bool> again{on, {1}};

  explicit Counter(Device device) : on(device) {}
  int value() const { return sum.at(0); }
};

TEST_P(GraphConditions, AWhileRepeatsAsLongAsItHolds) {
  for (const Device on : devices()) {
    Counter c{on};
    Launch step = add.record({1}, {.stream = c.stream}, c.sum, 3);
    Launch test = below.record({1}, {.stream = c.stream}, c.again, c.sum, 10);
    Graph graph = capture(c.stream, [&] {
      test.launch();
      capture_while(c.again, [&] {
        step.launch();
        test.launch();
      });
      step.launch();
    });
    EXPECT_EQ(c.value(), 0) << "nothing has run";

    graph.launch();
    EXPECT_EQ(c.value(), 15) << on << ": 3, 6, 9, 12, and once more after the loop";
    graph.launch();
    EXPECT_EQ(c.value(), 18) << on << ": not entered again";
    EXPECT_EQ(graph.size(), 4u);
  }
}

TEST_P(GraphConditions, AnIfRunsOnceWhereItHolds) {
  for (const Device on : devices()) {
    Counter c{on};
    Launch step = add.record({1}, {.stream = c.stream}, c.sum, 1);
    Graph graph = capture(c.stream, [&] {
      capture_if(c.again, [&] {
        step.launch();
        step.launch();
      });
    });

    graph.launch();
    EXPECT_EQ(c.value(), 0) << on;
    c.again.set({0}, true);
    graph.launch();
    EXPECT_EQ(c.value(), 2) << on;
  }
}

TEST_P(GraphConditions, AreNested) {
  for (const Device on : devices()) {
    Counter outer{on}, inner{on};
    const Stream &stream = outer.stream;
    auto record = [&](const Counter &c, int amount) { return add.record({1}, {.stream = stream}, c.sum, amount); };
    auto test = [&](const Counter &c, int limit) {
      return below.record({1}, {.stream = stream}, c.again, c.sum, limit);
    };
    Buffer<std::int32_t> runs{on, {1}};
    Launch count = add.record({1}, {.stream = stream}, runs, 1);
    Launch reset = record(inner, -2), outer_step = record(outer, 1), inner_step = record(inner, 1);
    Launch outer_test = test(outer, 3), inner_test = test(inner, 2);
    Graph graph = capture(stream, [&] {
      outer_test.launch();
      capture_while(outer.again, [&] {
        inner_test.launch();
        capture_while(inner.again, [&] {
          inner_step.launch();
          count.launch();
          inner_test.launch();
        });
        capture_if(outer.again, [&] { reset.launch(); });
        outer_step.launch();
        outer_test.launch();
      });
    });

    graph.launch();
    EXPECT_EQ(runs.at(0), 6) << on << ": 3 times 2";
    EXPECT_THAT(graph.to_string(),
                HasSubstr("\n  while Buffer<bool>(1) on " + on.to_string() +
                          "\n    Launch of 'below' (forward) over (1) on " + on.to_string() + "\n    while "));
  }
}

TEST_P(GraphConditions, LaunchesInTheirBodiesAreEdited) {
  for (const Device on : devices()) {
    Counter c{on};
    c.again.set({0}, true);
    Launch one = add.record({1}, {.stream = c.stream}, c.sum, 1),
           ten = add.record({1}, {.stream = c.stream}, c.sum, 10);
    Graph graph = capture(c.stream, [&] {
      one.launch();
      capture_if(c.again, [&] { ten.launch(); });
    });

    ten.set("amount", 20);
    graph.set(1, ten);
    graph.launch();
    EXPECT_EQ(c.value(), 21) << on;
    one.set("amount", 2);
    graph.set(0, one);
    graph.enable(1, false);
    graph.launch();
    EXPECT_EQ(c.value(), 23) << on;
    graph.enable(1, true);
    graph.enable(0, false);
    graph.launch();
    EXPECT_EQ(c.value(), 43) << on;
  }
}

// Each bit of an integer counts.
template <class T>
void expect_run(const Device &on, const Kernel<void(Array<std::int32_t, 1>, Int)> &add, T value, int runs) {
  Counter c{on};
  Buffer<T> condition{on, {2}, {T(0), value}};
  Launch step = add.record({1}, {.stream = c.stream}, c.sum, 1);
  Graph graph = capture(c.stream, [&] { capture_if(condition.slice(0, 1, 2), [&] { step.launch(); }); });
  graph.launch();
  EXPECT_EQ(c.value(), runs) << on << ' ' << samite::name(scalar_type_of<T>);
}

TEST_P(GraphConditions, TheirValuesAreOfAnyIntegerType) {
  for (const Device on : devices()) {
    expect_run<bool>(on, add, true, 1);
    expect_run<std::int8_t>(on, add, -128, 1);
    expect_run<std::uint16_t>(on, add, 256, 1);
    expect_run<std::int32_t>(on, add, 1 << 24, 1);
    expect_run<std::int64_t>(on, add, std::int64_t{1} << 40, 1);
    expect_run<std::int64_t>(on, add, 0, 0);
  }
}

TEST_P(GraphConditions, ThatCannotBeAreRefused) {
  for (const Device on : devices()) {
    Counter c{on};
    auto refusal = [&](const AnyBuffer &condition) {
      return message_of<UserError>([&] { capture(c.stream, [&] { capture_if(condition, [] {}); }); });
    };
    EXPECT_THAT(refusal(Buffer<float>(on, {1})),
                AllOf(HasSubstr("graph_conditions_test.cpp"), HasSubstr("one element, of bool or an integer type"),
                      HasSubstr("Buffer<f32>(1)")));
    EXPECT_THAT(refusal(Buffer<bool>(on, {2})), HasSubstr("Buffer<bool>(2)"));
    EXPECT_THAT(refusal({}), HasSubstr("an empty one is given"));
    EXPECT_THAT(message_of<UserError>([&] { capture_while(c.again, [] {}); }),
                AllOf(HasSubstr("this thread captures nothing"), HasSubstr("capture()")));
  }
  Counter there{device()};
  EXPECT_THAT(message_of<UserError>(
                  [&] { capture(there.stream, [&] { capture_if(Buffer<bool>(Device::cpu(), {1}), [] {}); }); }),
              HasSubstr("on the device of the capture, cuda:0; Buffer<bool>(1) on cpu"));
}

TEST_P(GraphConditions, ABodyThatThrowsEndsTheCapture) {
  Counter c{device()};
  Launch step = add.record({1}, {.stream = c.stream}, c.sum, 1);
  auto fail = [&] { capture_if(c.again, [] { throw std::runtime_error("of the body"); }); };

  EXPECT_THROW(capture(c.stream, fail), std::runtime_error);
  EXPECT_THAT(message_of<UserError>([&] { capture(c.stream, [&] { EXPECT_THROW(fail(), std::runtime_error); }); }),
              HasSubstr("the capture has failed"));
  EXPECT_THAT(message_of<UserError>([&] {
                capture(c.stream, [&] {
                  EXPECT_THROW(fail(), std::runtime_error);
                  step.launch();
                });
              }),
              HasSubstr("an earlier part of the capture has failed"));
  step.launch();
  EXPECT_EQ(c.value(), 1);
}

// On the fake, which fails the test if work is not in order.
TEST_P(GraphConditions, AGraphMayBeLaunchedOnAnotherStream) {
  Counter c{device()};
  Stream other{device()};
  Launch step = add.record({1}, {.stream = c.stream}, c.sum, 1);
  Buffer<bool> condition{device(), {1}, {true}};
  Graph graph = capture(c.stream, [&] { capture_if(condition, [&] { step.launch(); }); });
  graph.launch(other);
  EXPECT_EQ(c.value(), 1) << "reading waits for that stream, too";

  Launch elsewhere = add.record({1}, {.stream = other}, c.sum, 1);
  EXPECT_THAT(message_of<UserError>([&] { graph.set(0, elsewhere); }),
              AllOf(HasSubstr("the graph's launches are on stream"), HasSubstr("LaunchOptions::stream")));
}

TEST_P(GraphConditions, TheirValueLivesAsLongAsTheGraph) {
  Counter c{device()};
  Launch step = add.record({1}, {.stream = c.stream}, c.sum, 1);
  std::optional<Buffer<bool>> condition{std::in_place, device(), Extents{1}, std::initializer_list<bool>{true}};
  Graph graph = capture(c.stream, [&] { capture_if(*condition, [&] { step.launch(); }); });
  condition.reset();
  graph.launch();
  EXPECT_EQ(c.value(), 1);
}

TEST_P(GraphConditions, AnOldDriverHasNone) {
  if (!fake()) GTEST_SKIP() << "the fake alone can be old";
  start_fake({.version = 12020});
  understand_kernels();
  Counter c{device()};

  EXPECT_THAT(message_of<DeviceError>([&] { capture(c.stream, [&] { capture_if(c.again, [] {}); }); }),
              AllOf(HasSubstr("cuGraphConditionalHandleCreate"), HasSubstr("12.3"), HasSubstr("12.2")));
}

}  // namespace
}  // namespace samite::test
