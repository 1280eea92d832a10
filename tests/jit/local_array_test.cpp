// Local arrays from the language to the launch.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace samite::test {
namespace {

using testing::HasSubstr;

using on_device::device;

// Sorts rows by insertion: dynamic indices, loops whose ends differ between instances, stores in branches.
TEST(LocalArray, SortsRows) {
  static constexpr int width = 7, rows = 1000;
  Kernel sort{"sort", [](Array<float, 2> a) {
                Int row = thread_index();
                LocalArray<float, width> sorted;
                for (Int i : range(width)) {
                  Float x = a(row, i);
                  Int k = i;
                  while_([&] { return k > 0 && sorted(max(k - 1, 0)) > x; },
                         [&] {
                           sorted(k) = sorted(k - 1);
                           k -= 1;
                         });
                  sorted(k) = x;
                }
                for (Int i : range(width)) a(row, i) = sorted[i];
              }};
  std::vector<float> values(rows * width);
  for (int i = 0; i < rows * width; ++i) values[i] = static_cast<float>(i * 7919 % 1009);
  Buffer<float> a(device, {rows, width}, values);
  sort.launch({rows}, a);
  for (auto row = values.begin(); row != values.end(); row += width) std::sort(row, row + width);
  EXPECT_EQ(a.to_vector(), values);
}

// 64 KiB for each instance, on as many workers as there are; each sees zeros at first.
TEST(LocalArray, LargerThanTheStackIsEachWorkersOwn) {
  static constexpr int size = 1 << 14;
  Kernel histogram{"histogram", [](Array<std::int32_t, 1> most, Array<std::int32_t, 1> total) {
                     Int i = thread_index();
                     LocalArray<std::int32_t, size> counts;
                     for (Int k : range(100)) counts(k * k * (i + 1) % size) += 1;
                     Int largest = 0, sum = 0;
                     for (Int k : range(size)) {
                       largest = max(largest, counts(k));
                       sum += counts(k);
                     }
                     most(i) = largest;
                     total(i) = sum;
                   }};
  constexpr int n = 300;
  Buffer<std::int32_t> most(device, {n}), total(device, {n});
  for (int repeat = 0; repeat < 2; ++repeat) histogram.launch({n}, most, total);
  EXPECT_EQ(total.to_vector(), std::vector<std::int32_t>(n, 100));
  for (int i = 0; i < n; ++i) {
    std::vector<int> counts(size);
    for (int k = 0; k < 100; ++k) ++counts[k * k * (i + 1) % size];
    EXPECT_EQ(most.at(i), *std::max_element(counts.begin(), counts.end()));
  }
}

TEST(LocalArray, DebugModeReportsAnIndexOutside) {
  int line = __LINE__ + 4;
  Kernel last{"last", [](Array<float, 1> y) {
                Int i = thread_index();
                LocalArray<float, 4> a;
                a(i) = 1;
                y(i) = a(0);
              }};
  Buffer<float> y(device, {5});
  std::string message = message_of<UserError>([&] { last.launch({5}, {.debug = true}, y); });
  EXPECT_THAT(message, HasSubstr("local_array_test.cpp:" + std::to_string(line) + ": kernel 'last' (forward): "));
  EXPECT_THAT(message, HasSubstr("index 4 is outside of the local array, whose size is 4"));
  last.launch({4}, {.debug = true}, y);
}

TEST(LocalArray, WithoutMemoryForItTheLaunchSaysHowMuchItAskedFor) {
  SAMITE_ON_THE_CPU();
  int line = __LINE__ + 2;
  Kernel huge{"huge", [](Array<std::int8_t, 1> y) {
                LocalArray<std::int8_t, 2'000'000'000> a;
                y(0) = a(y(0));
              }};
  Buffer<std::int8_t> y(device, {1});
  std::string message = message_of<DeviceError>([&] { huge.launch({1}, y); });
  EXPECT_THAT(message, HasSubstr("local_array_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("kernel 'huge' (forward): allocating "));
  EXPECT_THAT(message, HasSubstr("out of memory"));
}

}  // namespace
}  // namespace samite::test
