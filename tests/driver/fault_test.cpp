#include "samite/driver/fault.h"
#include "samite/driver/copy.h"
#include "samite/driver/launch.h"
#include "tests/driver/small_kernels.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/heard_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Fault : testing::Test {
  FakeDriver fake;
  Context context = Context::primary(fake.driver(), 0);
  Stream stream = Stream::create(context);
  Kernel innocent = test::load(fake, context, {.name = "innocent"});
  Kernel astray = test::load(fake, context, test::fault_code(fake));
};

TEST_F(Fault, IsReportedAsTheEarlierLaunchNotAsTheCallThatMetIt) {
  launch(stream, innocent, {}, nullptr, {"user.cpp", 10});
  stream.synchronize();
  launch(stream, innocent, {}, nullptr, {"user.cpp", 20});
  launch(stream, astray, {.grid = {2, 3, 1}, .block = {64, 1, 1}}, nullptr, {"user.cpp", 30});

  try {
    stream.synchronize();
    FAIL();
  } catch (const DriverError &error) {
    EXPECT_EQ(error.code(), Result::illegal_address);
    EXPECT_THAT(error.what(),
                AllOf(testing::StartsWith("asynchronous work on cuda:0 failed: CUDA_ERROR_ILLEGAL_ADDRESS (700): the "
                                          "fake's words for illegal_address"),
                      HasSubstr("met by cuStreamSynchronize(stream=0x"), HasSubstr("not its cause"),
                      HasSubstr("kernel \"innocent\" at user.cpp:20"),
                      HasSubstr("kernel \"astray\" at user.cpp:30, grid 2x3x1, block 64x1x1"),
                      HasSubstr("Every later call on cuda:0 fails"), Not(HasSubstr("user.cpp:10"))));
  }
}

TEST_F(Fault, MetByALaunchIsNotBlamedOnItsKernel) {
  launch(stream, astray, {}, nullptr, {"user.cpp", 30});

  const std::string message = message_of<DriverError>([&] { launch(stream, innocent, {}, nullptr, {"user.cpp", 40}); });

  EXPECT_THAT(message,
              AllOf(HasSubstr("met by user.cpp:40: kernel \"innocent\": cuLaunchKernelEx"),
                    HasSubstr("    kernel \"astray\" at user.cpp:30"), Not(HasSubstr("    kernel \"innocent\""))));
}

TEST_F(Fault, IsRepeatedToLaterCalls) {
  launch(stream, astray, {}, nullptr, {"user.cpp", 30});
  EXPECT_THROW(stream.synchronize(), DriverError);

  const std::string message = message_of<DriverError>([&] { MemoryPool::create(context); });

  EXPECT_TRUE(context.lost());
  EXPECT_THAT(message, AllOf(HasSubstr("cuMemPoolCreate"), HasSubstr("lost earlier"), HasSubstr("user.cpp:30")));
}

TEST_F(Fault, OfAnotherStreamOfTheContextIsNamedWithItsStream) {
  const Stream other = Stream::create(context);
  launch(other, astray, {}, nullptr, {"user.cpp", 30});

  EXPECT_THAT(message_of<DriverError>([&] { stream.synchronize(); }),
              AllOf(HasSubstr(other.to_string()), HasSubstr("user.cpp:30")));
}

TEST_F(Fault, OfAStreamThatIsGoneIsStillNamed) {
  samite::test::HeardWarnings warnings;
  launch(Stream::create(context), astray, {}, nullptr, {"user.cpp", 30});

  EXPECT_THAT(message_of<DriverError>([&] { context.synchronize(); }), HasSubstr("user.cpp:30"));
}

TEST_F(Fault, OfNoLaunchOfOursSaysSo) {
  fake.fail(Entry::StreamSynchronize, Result::ecc_uncorrectable);

  EXPECT_THAT(message_of<DriverError>([&] { stream.synchronize(); }),
              AllOf(HasSubstr("cuda:0 can no longer be used: CUDA_ERROR_ECC_UNCORRECTABLE"),
                    HasSubstr("No launch that was made through Samite was running"), HasSubstr("hardware")));
}

TEST_F(Fault, DoesNotTouchAnotherDevice) {
  const Stream far = Stream::create(Context::primary(context.shared_driver(), 1));
  launch(stream, astray, {}, nullptr);
  EXPECT_THROW(stream.synchronize(), DriverError);

  EXPECT_NO_THROW(far.synchronize());
}

TEST_F(Fault, IsNotWarnedOfAgainWhenHandlesGo) {
  samite::test::HeardWarnings warnings;
  launch(stream, astray, {}, nullptr);
  EXPECT_THROW(stream.synchronize(), DriverError);

  Stream::create(Context::primary(context.shared_driver(), 1));
  {
    const Kernel copy = innocent;
  }
  stream = Stream::create(Context::primary(context.shared_driver(), 1));

  EXPECT_TRUE(warnings.texts().empty()) << warnings.texts()[0];
}

TEST_F(Fault, OfADestructorIsAWarningAndRememberedForTheNextCall) {
  samite::test::HeardWarnings warnings;
  launch(stream, astray, {}, nullptr, {"user.cpp", 30});

  Stream::create(Context::primary(context.shared_driver(), 1));
  innocent = astray;

  ASSERT_EQ(warnings.texts().size(), 1u);
  EXPECT_THAT(warnings.texts()[0], AllOf(HasSubstr("cuLibraryUnload"), HasSubstr("user.cpp:30")));
  EXPECT_THAT(message_of<DriverError>([&] { stream.synchronize(); }), HasSubstr("user.cpp:30"));
}

TEST(LaunchHistory, KeepsTheLastAndForgetsTheCompleted) {
  LaunchHistory history;
  for (std::uint32_t line = 1; line <= 20; ++line)
    history.record({.kernel = "k", .where = {"f.cpp", line}, .grid = {1, 1, 1}});

  std::vector<LaunchRecord> pending = history.pending();
  ASSERT_EQ(pending.size(), LaunchHistory::length);
  EXPECT_EQ(pending.front().where.line, 13u);
  EXPECT_EQ(pending.back().where.line, 20u);

  history.completed(18);
  pending = history.pending();
  ASSERT_EQ(pending.size(), 2u);
  EXPECT_EQ(pending.front().to_string(), "kernel \"k\" at f.cpp:19, grid 1x1x1, block 0x0x0");
  history.completed(5);
  EXPECT_EQ(history.pending().size(), 2u) << "what has completed stays so";
}

TEST(LaunchHistory, MayBeReadWhileThreadsRecord) {
  LaunchHistory history;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (std::uint32_t line = 1; line <= 2000; ++line)
        history.record({.kernel = "k", .where = {"f.cpp", line}, .grid = {line, 1, 1}});
    });

  for (int i = 0; i < 200; ++i) EXPECT_LE(history.pending().size(), LaunchHistory::length);
  for (std::thread &thread : threads) thread.join();

  EXPECT_EQ(history.count(), 6000u);
}

TEST(FaultLog, DoesNotGrowWithStreamsThatAreGone) {
  FaultLog log;
  for (int i = 0; i < 5000; ++i) {
    const auto history = std::make_shared<LaunchHistory>();
    log.watch("stream", history);
    history->record({.kernel = "k"});
  }
  EXPECT_LT(log.mark().size(), 1000u);
}

}  // namespace
}  // namespace samite::driver
