// Debug mode's errors name the instance, or the block, in addition to the array and the line.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

using on_device::device;

TEST(DebugInstance, OfAnIndexOutside) {
  const int line = __LINE__ + 3;
  Kernel shift{"shift", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                 Int i = thread_index();
                 y(i) = x(i + 1);
               }};
  for (const int n : {1, 7, 100, 1001}) {
    Buffer<float> y(device, {n}), x(device, {n});
    const std::string message = message_of<UserError>([&] { shift.launch({n}, {.debug = true}, y, x); });
    EXPECT_THAT(message, HasSubstr("debug_instance_test.cpp:" + std::to_string(line) + ": kernel 'shift' (forward): "));
    EXPECT_THAT(message, HasSubstr("in instance (" + std::to_string(n - 1) + "): index " + std::to_string(n) +
                                   " is outside of dimension 0 of array 'x', whose extent is " + std::to_string(n)));
  }
}

TEST(DebugInstance, OfADivisionByZeroAmongMany) {
  Kernel divide{"divide", {"y", "x"}, [](Array<std::int32_t, 2> y, Array<const std::int32_t, 2> x) {
                  auto [i, j] = thread_index<2>();
                  y(i, j) = 12 % x(i, j);
                }};
  std::vector<std::int32_t> divisors(300 * 501, 3);
  divisors[211 * 501 + 333] = 0;
  Buffer<std::int32_t> y(device, {300, 501}), x(device, {300, 501}, divisors);
  EXPECT_THAT(message_of<UserError>([&] { divide.launch({300, 501}, {.debug = true}, y, x); }),
              HasSubstr("(forward): in instance (211, 333): integer division by zero"));
}

TEST(DebugInstance, OfASumOfAllInstances) {
  Kernel add{"add", {"total", "x"}, [](Array<float, 1> total, Array<const float, 1> x) {
               Int i = thread_index();
               if_(i == 61, [&] { atomic_add(total(4), x(i)); });
               atomic_add(total(0), x(i));
             }};
  Buffer<float> total(device, {1}), x(device, {100}, std::vector<float>(100, 1.f));
  EXPECT_THAT(message_of<UserError>([&] { add.launch({100}, {.debug = true}, total, x); }),
              HasSubstr("in instance (61): index 4 is outside of dimension 0 of array 'total'"));
  EXPECT_EQ(total.at(0), 100);
}

TEST(DebugInstance, OfALocalArray) {
  Kernel pick{"pick", {"y", "at"}, [](Array<float, 1> y, Array<const std::int32_t, 1> at) {
                Int i = thread_index();
                LocalArray<float, 4> own;
                own(at(i)) = 1;
                y(i) = own(0);
              }};
  std::vector<std::int32_t> at(50, 2);
  at[29] = 4;
  Buffer<float> y(device, {50});
  Buffer<std::int32_t> indices(device, {50}, at);
  EXPECT_THAT(message_of<UserError>([&] { pick.launch({50}, {.debug = true}, y, indices); }),
              HasSubstr("in instance (29): index 4 is outside of the local array, whose size is 4"));
}

TEST(DebugInstance, OfTheAdjoint) {
  Kernel shift{"shift", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                 Int i = thread_index();
                 y(i) = x(i + 1);
               }};
  Buffer<float> y(device, {9}, Gradient::tracked), x(device, {9}, Gradient::tracked);
  EXPECT_THAT(message_of<UserError>([&] { shift.launch({9}, {.direction = Direction::adjoint, .debug = true}, y, x); }),
              HasSubstr("(adjoint): in instance (8): index 9 is outside of dimension 0 of array 'x_gradient'"));
}

// The elements of a tile have no index of their own in the launch.
TEST(DebugInstance, OfATileKernelIsTheBlock) {
  TileKernel kernel{"blocks", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                      auto [i, j] = block_index<2>();
                      Tile<float> row = tile::load(x, {i, 16 * j}, {16});
                      Float first = x(i + 1, j);
                      tile::store(y, {i, 16 * j}, row + first);
                    }};
  Buffer<float> y(device, {3, 32}), x(device, {3, 32});
  const std::string message = message_of<UserError>([&] { kernel.launch({3, 2}, {.debug = true}, y, x); });
  EXPECT_TRUE(message.find("in block (2, 0): ") != std::string::npos ||
              message.find("in block (2, 1): ") != std::string::npos)
      << message;
  EXPECT_THAT(message, HasSubstr("index 3 is outside of dimension 0 of array 'x', whose extent is 3\n"));
}

}  // namespace
}  // namespace samite::test
