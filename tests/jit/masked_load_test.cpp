// A value that a branch loads, and that lives on after a store to the same place. Clang 22 moves such a load past the
// store (samite/device/cpu/lanes/memory.h).
#include "samite/samite.h"
#include "tests/jit/on_device.h"

#include <gtest/gtest.h>

#include <vector>

namespace samite::test {
namespace {

using on_device::device;

template <class T>
std::vector<T> taken_by_a_branch(int count) {
  Kernel kernel{"taken", [](Array<T, 1> out, Array<T, 1> x, Array<const std::int32_t, 1> wanted) {
                  Int i = thread_index();
                  Traced<T> kept = T(-1);
                  if_(wanted(i) != 0, [&] {
                    kept = x(i);
                    x(i) = T(0);
                  });
                  out(i) = kept;
                }};
  std::vector<T> values;
  std::vector<std::int32_t> wanted;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<T>(i + 1)), wanted.push_back(i % 3 != 1);
  Buffer<T> out{device, {count}}, x{device, {count}, values};
  kernel.launch({count}, out, x, Buffer<std::int32_t>{device, {count}, wanted});
  for (int i = 0; i < count; ++i) EXPECT_EQ(x.to_vector()[i], wanted[i] ? T(0) : values[i]) << i << " of " << count;
  return out.to_vector();
}

template <class T>
void expect_taken() {
  for (int count = 1; count <= 40; ++count) {
    std::vector<T> expected;
    for (int i = 0; i < count; ++i) expected.push_back(i % 3 != 1 ? static_cast<T>(i + 1) : T(-1));
    EXPECT_EQ(taken_by_a_branch<T>(count), expected) << count << " elements";
  }
}

TEST(MaskedLoad, IsDoneBeforeAStoreToItsPlace) {
  expect_taken<float>();
  expect_taken<double>();
  expect_taken<std::int32_t>();
  expect_taken<std::int8_t>();
  expect_taken<std::int64_t>();
}

}  // namespace
}  // namespace samite::test
