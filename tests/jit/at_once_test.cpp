#include "samite/jit/at_once.h"

#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

TEST(AtOnce, RunsEveryTaskOnce) {
  std::array<std::atomic<int>, 100> runs{};
  std::vector<std::function<void()>> tasks;
  for (std::atomic<int> &run : runs) tasks.emplace_back([&run] { ++run; });
  jit::at_once(tasks);
  for (const std::atomic<int> &run : runs) EXPECT_EQ(run, 1);
  jit::at_once({});
}

TEST(AtOnce, TwoTasksWaitForEachOther) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  const auto meet = [&] {
    std::unique_lock lock(mutex);
    ++arrived;
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return arrived == 2; }));
  };
  jit::at_once({meet, meet});
}

TEST(AtOnce, ThrowsWhatTheFirstTaskInTheListThrewWhenAllHaveEnded) {
  std::atomic<int> ended{0};
  const auto throws = [&](const char *words) {
    return [&ended, words] {
      ++ended;
      throw std::runtime_error(words);
    };
  };
  const auto run = [&] { jit::at_once({[&] { ++ended; }, throws("second"), throws("third"), [&] { ++ended; }}); };
  EXPECT_EQ(message_of<std::runtime_error>(run), "second");
  EXPECT_EQ(ended, 4);
}

TEST(RecordWithAdjoint, GivesBothDirectionsOfOneLaunch) {
  Kernel square{"square", {"y", "x", "a"}, [](Array<double, 1> y, Array<const double, 1> x, Double a) {
                  Int i = thread_index();
                  y(i) = a * x(i) * x(i);
                }};
  Buffer<double> y(device, {3}, Gradient::tracked), x(device, {3}, {1, 2, 3}, Gradient::tracked);
  // The direction that the options name means nothing.
  auto [forward, adjoint] = square.record_with_adjoint({3}, {.direction = Direction::tangent}, y, x, 2.0);
  EXPECT_EQ(square.variants().size(), 2u);
  EXPECT_EQ(forward.direction(), Direction::forward);
  EXPECT_EQ(adjoint.direction(), Direction::adjoint);
  forward.launch();
  EXPECT_THAT(y.to_vector(), ElementsAre(2, 8, 18));
  y.gradient().fill(1);
  adjoint.launch();
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(4, 8, 12));
}

TEST(RecordWithAdjoint, RefusesWhatEitherDirectionDoes) {
  Kernel copy{"copy", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                Int i = thread_index();
                y(i) = x(i);
              }};
  Buffer<double> y(device, {3}), x(device, {3});
  const auto untracked = [&] { copy.record_with_adjoint({3}, y, x); };
  EXPECT_THAT(message_of<UserError>(untracked), HasSubstr("copy"));
}

// One kernel twice and another once: two adjoints, compiled once each.
TEST(Tape, CompilesEachAdjointOnce) {
  auto scale = [](const char *name, double factor) {
    return Kernel{name, [=](Array<double, 1> y, Array<const double, 1> x) {
                    Int i = thread_index();
                    y(i) = factor * x(i);
                  }};
  };
  const auto twice = scale("twice", 2), thrice = scale("thrice", 3);
  std::vector<Buffer<double>> values;
  for (int i = 0; i < 4; ++i) values.emplace_back(device, Extents{1}, Gradient::tracked);
  Tape tape;
  tape.record([&] {
    twice.launch({1}, values[1], values[0]);
    thrice.launch({1}, values[2], values[1]);
    twice.launch({1}, values[3], values[2]);
  });
  tape.backward(values[3]);
  EXPECT_EQ(values[0].gradient().at(0), 12);
  EXPECT_EQ(twice.variants().size(), 2u);
  EXPECT_EQ(thrice.variants().size(), 2u);
}

}  // namespace
}  // namespace samite::test
