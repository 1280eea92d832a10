#include "samite/driver/capture.h"
#include "samite/driver/graph_executable.h"

#include "samite/driver/copy.h"
#include "samite/driver/event.h"
#include "tests/driver/small_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <thread>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;

struct Capturing : testing::Test {
  FakeDriver fake;
  Context context = Context::primary(fake.driver(), 0);
  Stream stream = Stream::create(context);
  Kernel kernel = test::load(fake, context, test::add_code());
  DeviceMemory sum = DeviceMemory::allocate(stream, MemoryPool::standard(context), 4);

  Capturing() {
    fill_words(stream, sum.address(), 0, 1);
    stream.synchronize();
  }

  int result() {
    int value = 0;
    copy_to_host(stream, &value, sum.address(), 4);
    stream.synchronize();
    return value;
  }
};

TEST_F(Capturing, RunsNothingUntilTheGraphIsLaunched) {
  const Graph graph = capture(stream, [&] {
    fill_words(stream, sum.address(), 5, 1);
    test::add(stream, kernel, sum.address(), 2);
  });
  EXPECT_EQ(result(), 0);

  GraphExecutable::instantiate(graph).launch(stream);

  EXPECT_EQ(result(), 7);
  EXPECT_EQ(graph.nodes().size(), 2u);
}

TEST_F(Capturing, KeepsTheKernelsThatWereLaunched) {
  std::optional<Graph> graph = capture(stream, [&] {
    const Kernel other = test::load(fake, context, {.name = "other"});
    launch(stream, other, {}, nullptr);
  });
  EXPECT_EQ(fake.count("cuLibraryUnload"), 0);
  GraphExecutable::instantiate(*graph).launch(stream);

  graph.reset();
  EXPECT_EQ(fake.count("cuLibraryUnload"), 1);
}

TEST_F(Capturing, TakesInStreamsThatJoin) {
  const Stream side = Stream::create(context);
  const Event fork = Event::create(context), join = Event::create(context);
  std::optional<Kernel> other = test::load(fake, context, test::add_code("other"));

  const Graph graph = capture(stream, [&] {
    fork.record(stream);
    side.wait(fork);
    test::add(side, *other, sum.address(), 3);
    join.record(side);
    stream.wait(join);
    test::add(stream, kernel, sum.address(), 4);
  });
  other.reset();
  EXPECT_EQ(fake.count("cuLibraryUnload"), 0) << "the kernel of the stream that joined is kept, too";
  GraphExecutable::instantiate(graph).launch(stream);

  EXPECT_EQ(result(), 7);
}

TEST_F(Capturing, OfAStreamThatIsNotWaitedFor) {
  const Stream side = Stream::create(context);
  const Event fork = Event::create(context);

  const std::string message = message_of<DriverError>([&] {
    capture(stream, [&] {
      test::add(stream, kernel, sum.address(), 1);
      fork.record(stream);
      side.wait(fork);
      test::add(side, kernel, sum.address(), 3);
    });
  });

  EXPECT_THAT(message, AllOf(HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNJOINED"), HasSubstr("record an event in it")));
}

TEST_F(Capturing, OfACallThatWaitsFails) {
  const std::string message = message_of<DriverError>([&] { capture(stream, [&] { stream.synchronize(); }); });

  EXPECT_THAT(message, AllOf(HasSubstr("cuStreamSynchronize"), HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
                             HasSubstr("being captured into a graph")));
  EXPECT_NO_THROW(stream.synchronize()) << "the capture has ended";
}

TEST_F(Capturing, OfAFailureThatIsCaughtStillFails) {
  const std::string message =
      message_of<DriverError>([&] { capture(stream, [&] { EXPECT_THROW(stream.synchronize(), DriverError); }); });

  EXPECT_THAT(message, AllOf(HasSubstr("cuStreamEndCapture"), HasSubstr("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
                             HasSubstr("its error names it")));
}

TEST_F(Capturing, EndsWhereTheWorkThrows) {
  EXPECT_THROW(capture(stream,
                       [&] {
                         test::add(stream, kernel, sum.address(), 1);
                         throw std::runtime_error("of the caller");
                       }),
               std::runtime_error);

  EXPECT_EQ(fake.count("cuGraphDestroy"), 1);
  EXPECT_EQ(result(), 0);
}

TEST_F(Capturing, OfTheDefaultStreamIsRefused) {
  const Stream standard = Stream::borrow(context, nullptr);

  EXPECT_THAT(message_of<DriverError>([&] { capture(standard, [] {}); }),
              AllOf(HasSubstr("cuStreamBeginCapture"), HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")));
}

TEST_F(Capturing, DoesNotTouchLaunchesOnOtherStreams) {
  const Stream other = Stream::create(context);
  const Graph graph = capture(stream, [&] { std::thread([&] { test::add(other, kernel, sum.address(), 9); }).join(); });
  other.synchronize();

  EXPECT_EQ(result(), 9);
  EXPECT_TRUE(graph.nodes().empty());
}

TEST_F(Capturing, GoesIntoTheBodyOfALoop) {
  int rounds = 0;
  Graph graph = Graph::create(context);
  const Condition again = graph.add_condition(1);
  const Kernel count = test::load(fake, context, {.name = "count", .run = [&](void **) {
                                                    if (++rounds == 3) fake.set_condition(again.raw, 0);
                                                  }});
  Graph::Conditional loop = graph.add_while(again);
  capture_into(loop.body, stream, [&] {
    test::add(stream, kernel, sum.address(), 2);
    launch(stream, count, {}, nullptr);
  });

  GraphExecutable::instantiate(graph).launch(stream);

  EXPECT_EQ(result(), 6);
}

TEST_F(Capturing, GoesOnWhereItHasEnded) {
  std::optional<Capture> running(std::in_place, stream);
  test::add(stream, kernel, sum.address(), 1);
  Capture::Captured first = running->end();
  ASSERT_EQ(first.last.size(), 1u);
  const GraphNode between = first.graph.add_empty(first.last);
  running.emplace(stream, first.graph, std::span(&between, 1));
  test::add(stream, kernel, sum.address(), 10);
  const Capture::Captured second = running->end();

  EXPECT_EQ(second.graph.raw(), first.graph.raw());
  EXPECT_EQ(second.graph.nodes().size(), 3u);
  GraphExecutable::instantiate(second.graph).launch(stream);
  EXPECT_EQ(result(), 11);
}

TEST_F(Capturing, IntoAGraphEndsWhereTheWorkThrows) {
  Graph graph = Graph::create(context);

  EXPECT_THROW(capture_into(graph, stream, [] { throw std::runtime_error("of the caller"); }), std::runtime_error);

  EXPECT_NO_THROW(stream.synchronize());
  EXPECT_EQ(fake.count("cuGraphDestroy"), 0) << "the graph is the caller's";
}

}  // namespace
}  // namespace samite::driver
