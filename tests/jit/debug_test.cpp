#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

using on_device::device;

std::string debug_test(int line) { return "debug_test.cpp:" + std::to_string(line) + ": "; }

TEST(DebugMode, ReportsAnIndexOutside) {
  int line = __LINE__ + 3;
  Kernel shift{"shift", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                 Int i = thread_index();
                 y(i) = x(i + 1);
               }};
  Buffer<float> y(device, {100}), x(device, {100});
  std::string message = message_of<UserError>([&] { shift.launch({100}, {.debug = true}, y, x); });
  EXPECT_THAT(message, HasSubstr(debug_test(line)));
  EXPECT_THAT(message, HasSubstr("index 100 is outside of dimension 0 of array 'x', whose extent is 100"));
  shift.launch({99}, {.debug = true}, y, x);  // all inside
}

TEST(DebugMode, ReportsTheDimension) {
  Kernel corner{"corner", {"y"}, [](Array<float, 2> y) { y(1, -1) = 0; }};
  Buffer<float> y(device, {2, 3});
  EXPECT_THAT(message_of<UserError>([&] { corner.launch({1}, {.debug = true}, y); }),
              HasSubstr("index -1 is outside of dimension 1 of array 'y', whose extent is 3"));
}

TEST(DebugMode, LeavesTheRestOfTheLaunchDone) {
  Kernel shift{"shift", [](Array<float, 1> y) { y(thread_index() + 1) = 1; }};
  Buffer<float> y(device, {3});
  EXPECT_THROW(shift.launch({3}, {.debug = true}, y), UserError);
  EXPECT_THAT(y.to_vector(), testing::ElementsAre(0, 1, 1));
}

TEST(DebugMode, ReportsADivisionOfIntegersByZero) {
  int line = __LINE__ + 3;
  Kernel divide{"divide", [](Array<std::int32_t, 1> y, Array<const std::int32_t, 1> x) {
                  Int i = thread_index();
                  y(i) = 12 / x(i);
                }};
  Buffer<std::int32_t> y(device, {3}), x(device, {3}, {1, 2, 0});
  std::string message = message_of<UserError>([&] { divide.launch({3}, {.debug = true}, y, x); });
  EXPECT_THAT(message, HasSubstr(debug_test(line)));
  EXPECT_THAT(message, HasSubstr("integer division by zero"));
}

TEST(DebugMode, ChecksTheAdjointToo) {
  Kernel shift{"shift", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                 Int i = thread_index();
                 y(i) = x(i + 1);
               }};
  Buffer<float> y(device, {4}, Gradient::tracked), x(device, {4}, Gradient::tracked);
  EXPECT_THAT(message_of<UserError>([&] { shift.launch({4}, {.direction = Direction::adjoint, .debug = true}, y, x); }),
              HasSubstr("array 'x_gradient'"));
}

TEST(DebugMode, IsOnForAllLaunchesWhereAsked) {
  Kernel outside{"outside", [](Array<float, 1> y, Int at) { if_(at > 0, [&] { y(at) = 0; }); }};
  Buffer<float> y(device, {8});
  Buffer<float> part = y.slice(0, 0, 2);
  outside.launch({1}, part, 5);  // unchecked, and inside of the storage
  set_debug_mode(true);
  EXPECT_THROW(outside.launch({1}, part, 5), UserError);
  EXPECT_THROW(outside.record({1}, part, 5).launch(), UserError);
  set_debug_mode(false);
}

// Instances that race on an element.

TEST(Races, AnUpdateByAllInstancesIsFound) {
  int line = __LINE__ + 2;
  Kernel sum{
      "sum", {"total", "x"}, [](Array<float, 1> total, Array<const float, 1> x) { total(0) += x(thread_index()); }};
  Buffer<float> total(device, {1}), x(device, {100'000});
  x.fill(1);
  std::string message = message_of<UserError>([&] { sum.launch({100'000}, {.debug = true}, total, x); });
  EXPECT_THAT(message, HasSubstr(debug_test(line)));
  EXPECT_THAT(message, HasSubstr("kernel 'sum' (forward): instances ("));
  EXPECT_THAT(message, HasSubstr(" race for total(0) of array 'total'"));
  // On a GPU the two that are found first may both be at their store.
  EXPECT_THAT(message, testing::AnyOf(HasSubstr("both read and write it here, in no order"),
                                      HasSubstr("both write it here, in no order")));
  EXPECT_THAT(message, HasSubstr("; use an atomic step, such as atomic_add(total(0), …), or let each instance write an "
                                 "element of its own"));
}

TEST(Races, BothInstancesArrayElementAndLineAreNamed) {
  int line = __LINE__ + 3;
  Kernel fold{"fold", {"y", "x"}, [](Array<int, 2> y, Array<const int, 2> x) {
                auto [i, j] = thread_index<2>();
                y(i / 2, j) = x(i, j);
              }};
  Buffer<int> y(device, {2, 5}), x(device, {4, 5});
  fold.launch({1, 5}, {.debug = true}, y, x);
  std::string message = message_of<UserError>([&] { fold.launch({4, 5}, {.debug = true}, y, x); });
  EXPECT_THAT(message, HasSubstr(debug_test(line)));
  // The first one that finds another; the threads' timing decides which of the two that is.
  EXPECT_THAT(message, testing::AnyOf(HasSubstr("instances (0, 0) and (1, 0) race for y(0, 0) of array 'y'"),
                                      HasSubstr("instances (1, 0) and (0, 0) race for y(0, 0) of array 'y'")));
  EXPECT_THAT(message, HasSubstr("both write it here, in no order"));
}

TEST(Races, AReadOfWhatAnotherInstanceWritesIsOne) {
  int line = __LINE__ + 3;
  Kernel shift{"shift", {"y"}, [](Array<float, 1> y) {
                 Int i = thread_index();
                 Float next = y(i + 1);
                 y(i) = next;
               }};
  Buffer<float> y(device, {100});
  std::string message = message_of<UserError>([&] { shift.launch({99}, {.debug = true}, y); });
  EXPECT_THAT(message, HasSubstr(" of array 'y': the first "));
  EXPECT_THAT(message, HasSubstr("debug_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("debug_test.cpp:" + std::to_string(line + 1)));
  EXPECT_THAT(message, HasSubstr("write the results to another array"));
}

TEST(Races, PlainStepsBesideAtomicOnesAreFound) {
  Kernel count{"count", {"n"}, [](Array<int, 1> n) {
                 Int i = thread_index();
                 if_(i == 7, [&] { n(0) = 5; }, [&] { atomic_add(n(0), 1); });
               }};
  Buffer<int> n(device, {1});
  std::string message = message_of<UserError>([&] { count.launch({50}, {.debug = true}, n); });
  EXPECT_THAT(message, HasSubstr("(7)"));
  EXPECT_THAT(message, HasSubstr("updates it atomically"));
  EXPECT_THAT(message, HasSubstr("let each of them take an atomic step"));
}

TEST(Races, OfViewsOfOneBuffer) {
  Kernel copy{"copy", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                Int i = thread_index();
                y(i) = x(i);
              }};
  Buffer<double> all(device, {40});
  copy.launch({20}, {.debug = true}, all.slice(0, 0, 20), all.slice(0, 20, 40));
  copy.launch({20}, {.debug = true}, all.slice(0, 5, 25), all.slice(0, 5, 25));
  std::string message =
      message_of<UserError>([&] { copy.launch({20}, {.debug = true}, all.slice(0, 0, 20), all.slice(0, 3, 23)); });
  EXPECT_THAT(message, HasSubstr(" as an element of array '"));
}

TEST(Races, OfTransposedViews) {
  Kernel transpose{"transpose", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                     auto [i, j] = thread_index<2>();
                     y(i, j) = x(i, j);
                   }};
  Buffer<float> a(device, {6, 6}), b(device, {6, 6});
  transpose.launch({6, 6}, {.debug = true}, a, b.transpose());
  transpose.launch({6, 6}, {.debug = true}, a.transpose(), b);
  transpose.launch({6, 6}, {.debug = true}, a.transpose(), a.transpose());
  EXPECT_THROW(transpose.launch({6, 6}, {.debug = true}, a, a.transpose()), UserError);
}

TEST(Races, EachLaunchBeginsAnew) {
  Kernel write{"write", [](Array<float, 1> y, Int from) { y(from - thread_index()) = 1; }};
  Buffer<float> y(device, {10});
  Launch launch = write.record({10}, {.debug = true}, y, 9);
  launch.launch();
  launch.launch();
  for (int i = 0; i < 10; ++i) write.launch({1}, {.debug = true}, y, i);
}

TEST(Races, OfBlocks) {
  TileKernel overlap{"overlap", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                       Int b = block_index();
                       tile::store_at(y, {b * 6}, tile::load(x, {b}, {8}));
                     }};
  Buffer<float> y(device, {64}), x(device, {64});
  overlap.launch({1}, {.debug = true}, y, x);
  std::string message = message_of<UserError>([&] { overlap.launch({8}, {.debug = true}, y, x); });
  EXPECT_THAT(message, HasSubstr("blocks ("));
  EXPECT_THAT(message, HasSubstr("tile::atomic_add"));
  EXPECT_THAT(message, HasSubstr("both write it here"));
}

TEST(Races, OfAnAdjointAreLookedForAndThereAreNone) {
  Kernel blur{"blur", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                Int i = thread_index();
                Double sum = 0.;
                for (Int k : range(3)) sum += x(i + k) * x(i + k);
                y(i) = y(i) * 2 + sum;
              }};
  Buffer<double> y(device, {30}, Gradient::tracked), x(device, {32}, Gradient::tracked);
  x.fill(3);
  blur.launch({30}, {.debug = true}, y, x);
  y.gradient().fill(1);
  blur.launch({30}, {.direction = Direction::adjoint, .debug = true}, y, x);
  EXPECT_EQ(x.gradient().at(10), 18);
}

TEST(Races, TheSameValueIsARaceToo) {
  Kernel raise{"raise", [](Array<bool, 1> flag) { flag(0) = true; }};
  Buffer<bool> flag(device, {1});
  raise.launch({1}, {.debug = true}, flag);
  EXPECT_THROW(raise.launch({2}, {.debug = true}, flag), UserError);
}

}  // namespace
}  // namespace samite::test
