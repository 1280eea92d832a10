// A kernel on the CPU ends between blocks if its thread's check throws.
#include "samite/jit/interruption.h"

#include "samite/samite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace samite {
namespace {

struct Stopped {};

// Counts its instances, each of which takes this many steps.
auto slow_kernel() {
  return Kernel{"slow", [](Array<float, 1> y, Int steps) {
                  Int i = thread_index();
                  Float sum = 0.f;
                  for (Int k : range(steps)) sum = sum * 0.5f + sin(sum + cast<Float>(k));
                  y(i) = sum + 10.f;
                }};
}

std::int64_t instances_run(const Buffer<float> &y) {
  return std::ranges::count_if(y.to_vector(), [](float each) { return each != 0.f; });
}

TEST(Interruption, EndsAKernelAtItsNextBlock) {
  auto slow = slow_kernel();
  Buffer<float> y(Device::cpu(), {20'000}, std::vector<float>(20'000, 0.f));
  slow.launch({1}, y, 1);  // compiled
  int calls = 0;
  {
    const InterruptionCheck check(
        [](void *context) {
          ++*static_cast<int *>(context);
          throw Stopped();
        },
        &calls);
    EXPECT_THROW(slow.launch({20'000}, y, 10'000), Stopped);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_LT(instances_run(y), 20'000);

  slow.launch({20'000}, y, 10);
  EXPECT_EQ(instances_run(y), 20'000);
}

TEST(Interruption, RunsAllInstancesWhereTheCheckReturns) {
  auto slow = slow_kernel();
  Buffer<float> y(Device::cpu(), {20'000}, std::vector<float>(20'000, 0.f));
  int calls = 0;
  const InterruptionCheck check([](void *context) { ++*static_cast<int *>(context); }, &calls);
  slow.launch({20'000}, y, 5'000);
  EXPECT_GT(calls, 0);
  EXPECT_EQ(instances_run(y), 20'000);
}

TEST(Interruption, AnInnerCheckReplacesAnOuterOne) {
  EXPECT_EQ(InterruptionCheck::current(), nullptr);
  const InterruptionCheck outer([](void *) {}, nullptr);
  {
    const InterruptionCheck inner([](void *) {}, nullptr);
    EXPECT_EQ(InterruptionCheck::current(), &inner);
  }
  EXPECT_EQ(InterruptionCheck::current(), &outer);
}

}  // namespace
}  // namespace samite
