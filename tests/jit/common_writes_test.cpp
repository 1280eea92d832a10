// Samite warns if every instance of a launch writes to one element.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/toolchain/heard_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using on_device::device;

TEST(CommonWrites, AreWarnedOfOnceForEachKernel) {
  HeardWarnings heard;
  int line = __LINE__ + 2;
  Kernel sum{
      "sum", {"total", "x"}, [](Array<float, 1> total, Array<const float, 1> x) { total(0) += x(thread_index()); }};
  Buffer<float> total(device, {1}), x(device, {10});
  sum.launch({1}, total, x);
  EXPECT_THAT(heard.texts(), IsEmpty()) << "one instance";
  sum.launch({10}, total, x);
  sum.record({10}, total, x).launch();
  ASSERT_EQ(heard.texts().size(), 1u);
  EXPECT_THAT(heard.texts()[0], HasSubstr("common_writes_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(heard.texts()[0], HasSubstr("kernel 'sum': every instance of the launch writes total(0) of array "
                                          "'total', in no order: use atomic_add(total(0), …), or launch one instance"));
}

TEST(CommonWrites, AreWarnedOfByTheAdjointToo) {
  HeardWarnings heard;
  Kernel sum{"sum", [](Array<double, 1> total, Array<const double, 1> x) { total(0) += 3 * x(thread_index()); }};
  Buffer<double> total(device, {1}, Gradient::tracked), x(device, {3}, Gradient::tracked);
  sum.launch({3}, {.direction = Direction::adjoint}, total, x);
  EXPECT_EQ(heard.texts().size(), 1u);
}

TEST(CommonWrites, OfOneInstanceAndFlagsAreNone) {
  HeardWarnings heard;
  Kernel first{"first", [](Array<float, 1> total, Array<bool, 1> flag, Array<const float, 1> x) {
                 Int i = thread_index();
                 if_(i == 0, [&] { total(0) = x(i); });
                 flag(0) = true;
                 atomic_add(total(1), x(i));
               }};
  Buffer<float> total(device, {2}), x(device, {10});
  first.launch({10}, total, Buffer<bool>(device, {1}), x);
  EXPECT_THAT(heard.texts(), IsEmpty());
}

TEST(CommonWrites, OfBlocks) {
  HeardWarnings heard;
  TileKernel sums{"sums", [](Array<float, 1> y, Array<const float, 1> x) {
                    Int block = block_index();
                    auto sum = tile::load(x, {block}, {8});
                    tile::store(y, {0}, sum);
                  }};
  Buffer<float> x(device, {32}), y(device, {8});
  sums.launch({4}, y, x);
  ASSERT_EQ(heard.texts().size(), 1u);
  EXPECT_THAT(heard.texts()[0], HasSubstr("every block of the launch writes p0(0) of array 'p0'"));
  EXPECT_THAT(heard.texts()[0], HasSubstr("tile::atomic_add"));
}

}  // namespace
}  // namespace samite::test
