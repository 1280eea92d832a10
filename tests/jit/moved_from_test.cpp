// Objects that were moved from: they may be destroyed, copied and assigned to, and whatever else is done with them is
// refused with the user's line.
#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite {
namespace {

using test::on_device::device;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Checks that `use` is refused, with this file's name.
template <class Use>
void expect_refused(const std::string &type, Use use) {
  EXPECT_THAT(message_of<UserError>(use), AllOf(HasSubstr("this " + type + " was moved from"),
                                                HasSubstr("moved_from_test.cpp"), HasSubstr("assign to it first")));
}

void set_to_one(Array<float, 1> y) { y(thread_index()) = 1; }

Kernel<void(Array<float, 1>)> ones() { return Kernel{"one", {"y"}, set_to_one}; }

// The following code uses moved-from objects, which clang-tidy would warn about.
// NOLINTBEGIN(bugprone-use-after-move)

TEST(MovedFrom, AKernelIsRefused) {
  Buffer<float> y{device, {3}, Gradient::tracked};
  auto kernel = ones();
  const auto there = std::move(kernel);
  expect_refused("Kernel", [&] { kernel.launch({3}, y); });
  expect_refused("Kernel", [&] { kernel.record({3}, y); });
  expect_refused("Kernel", [&] { kernel.record_with_adjoint({3}, y); });
  expect_refused("Kernel", [&] { (void)kernel.adjoint(); });
  expect_refused("Kernel", [&] { (void)kernel.adjoint_report(); });
  EXPECT_THROW((void)kernel.name(), UserError);
  EXPECT_THROW((void)kernel.ir(), UserError);
  EXPECT_THROW((void)kernel.variants(), UserError);
  there.launch({3}, y);
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 1, 1));
}

TEST(MovedFrom, AKernelThatIsAssignedToWorks) {
  Buffer<float> y{device, {2}};
  auto kernel = ones();
  const auto there = std::move(kernel);
  const auto copy = kernel;  // of nothing
  EXPECT_THROW((void)copy.name(), UserError);
  kernel = there;
  kernel.launch({2}, y);
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 1));
}

TEST(MovedFrom, ATileKernelIsRefused) {
  Buffer<float> y{device, {4}};
  TileKernel kernel{"zeros", [](Array<float, 1> y) { tile::store(y, {0}, tile::full<float>({4}, 0.0f)); }};
  const auto there = std::move(kernel);
  expect_refused("Kernel", [&] { kernel.launch({1}, y); });
}

TEST(MovedFrom, APipelineAndItsLaunchAreRefused) {
  Buffer<float> y{device, {4}}, x{device, {4}, {1, 2, 3, 4}};
  Pipeline pipeline{"twice", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                      Var i{"i"};
                      Func out{"out", y};
                      out(i) = 2 * x(i);
                    }};
  PipelineLaunch launch = pipeline.record(y, x);
  const auto there = std::move(pipeline);
  expect_refused("Pipeline", [&] { pipeline.launch(y, x); });
  expect_refused("Pipeline", [&] { pipeline.record(y, x); });
  expect_refused("Pipeline", [&] { (void)pipeline.program(); });
  EXPECT_THROW((void)pipeline.name(), UserError);

  PipelineLaunch moved = std::move(launch);
  expect_refused("PipelineLaunch", [&] { launch.launch(); });
  expect_refused("PipelineLaunch", [&] { launch.set("x", y); });
  EXPECT_THROW((void)launch.to_string(), UserError);
  EXPECT_THROW((void)PipelineLaunch(launch), UserError) << "a copy would have arrays of its own";
  moved.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(2, 4, 6, 8));
}

TEST(MovedFrom, ALaunchIsRefused) {
  Buffer<float> y{device, {3}};
  Launch launch = ones().record({3}, y);
  Launch there = std::move(launch);
  expect_refused("Launch", [&] { launch.launch(); });
  expect_refused("Launch", [&] { launch.launch(Stream::standard(device)); });
  expect_refused("Launch", [&] { launch.set("y", y); });
  expect_refused("Launch", [&] { launch.set(0, y); });
  expect_refused("Launch", [&] { launch.set_dim({2}); });
  expect_refused("Launch", [&] { launch.set_dim(0, 2); });
  expect_refused("Launch", [&] { capture(Stream::standard(Device::cpu()), [&] { launch.launch(); }); });
  EXPECT_THROW((void)launch.to_string(), UserError);
  EXPECT_THROW((void)launch.variant(), UserError);
  launch = there;
  launch.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 1, 1));
}

TEST(MovedFrom, AGraphIsRefused) {
  const Stream stream{device};
  Buffer<float> y{device, {3}};
  Launch launch = ones().record({3}, {.stream = stream}, y);
  Graph graph = capture(stream, [&] { launch.launch(); });
  Graph there = std::move(graph);
  expect_refused("Graph", [&] { graph.launch(); });
  expect_refused("Graph", [&] { graph.set(0, launch); });
  expect_refused("Graph", [&] { graph.enable(0, false); });
  EXPECT_THROW((void)graph.size(), UserError);
  EXPECT_THROW((void)graph.to_string(), UserError);
  there.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 1, 1));
}

TEST(MovedFrom, ATapeIsRefusedUntilItIsCleared) {
  Buffer<float> y{device, {1}, Gradient::tracked};
  auto kernel = ones();
  Tape tape;
  tape.record([&] { kernel.launch({1}, y); });
  Tape there = std::move(tape);
  expect_refused("Tape", [&] { tape.record([] {}); });
  expect_refused("Tape", [&] { tape.backward(y); });
  expect_refused("Tape", [&] { tape.backward({{y, y}}); });
  expect_refused("Tape", [&] { tape.zero_gradients(); });
  there.backward(y);
  tape.clear();
  tape.record([&] { kernel.launch({1}, y); });
  EXPECT_EQ(tape.size(), 1u);
}

// Handles of queues and of the host's memory, which copies share.
TEST(MovedFrom, AStreamAnEventAndAPinnedArrayStayWhatTheyWere) {
  Stream stream{device};
  const Stream there = std::move(stream);
  EXPECT_EQ(stream, there);
  Buffer<float> y{device, {2}};
  ones().launch({2}, {.stream = stream}, y);
  stream.synchronize();

  Event event;
  event.record(stream);
  const Event moved = std::move(event);
  event.synchronize();
  EXPECT_EQ(event.milliseconds_since(moved), 0);

  PinnedArray<float> array{device, {2}};
  const PinnedArray<float> other = std::move(array);
  y.copy_to(array, stream);
  EXPECT_THAT(other.values(), ElementsAre(1, 1));
}

// NOLINTEND(bugprone-use-after-move)

}  // namespace
}  // namespace samite
