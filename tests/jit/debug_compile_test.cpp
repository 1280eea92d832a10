// Debug mode adds a call for each access to a kernel, not the check's code. Otherwise many accesses would take many
// times as long to compile. An access that is checked once names the same place as before.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <functional>

namespace samite::test {
namespace {

using testing::HasSubstr;

std::size_t image_bytes(const KernelReport &report) { return report.variants.back().image_bytes; }

// The size of a kernel with this many stores.
std::size_t bytes_of_stores(int stores) {
  Kernel many{"many", [&](Array<float, 1> y, Array<const float, 1> x) {
                Int i = thread_index();
                for (int k = 0; k < stores; ++k) y(i * stores + k) = x(i) * static_cast<float>(k);
              }};
  Buffer<float> y(Device::cpu(), {10 * stores}), x(Device::cpu(), {10}, std::vector<float>(10, 1.f));
  many.launch({10}, {.debug = true}, y, x);
  EXPECT_EQ(y.at(10 * stores - 1), static_cast<float>(stores - 1));
  return image_bytes(report(many));
}

TEST(DebugCompiles, AStoreIsAFewCalls) {
  SAMITE_ON_THE_CPU();
  const std::size_t few = bytes_of_stores(12), many = bytes_of_stores(36);
  EXPECT_LT((many - few) / 24, 1'000u);
}

// A kernel that loads neighbours, many of which share an index.
TEST(DebugCompiles, ALoadIsACall) {
  SAMITE_ON_THE_CPU();
  const auto bytes = [](Direction direction, int neighbours) {
    Kernel sums{"sums", [&](Array<float, 2> y, Array<const float, 2> x) {
                  auto [i, j] = thread_index<2>();
                  Float sum = 0;
                  for (int a = 0; a < neighbours; ++a)
                    for (int b = 0; b < neighbours; ++b) sum += x(i + a, j + b) * x(i + a, j + b);
                  y(i, j) = sum;
                }};
    Buffer<float> y(Device::cpu(), {4, 5}, Gradient::tracked), x(Device::cpu(), {10, 11}, Gradient::tracked);
    sums.launch({4, 5}, {.direction = direction, .debug = true}, y, x);
    return image_bytes(report(sums));
  };
  EXPECT_LT((bytes(Direction::forward, 6) - bytes(Direction::forward, 3)) / 27, 1'000u);
  EXPECT_LT((bytes(Direction::adjoint, 6) - bytes(Direction::adjoint, 3)) / 27, 4'000u);
}

// Facts known in a branch are known in nested ones.
TEST(DebugCompiles, ABranchInsideOfABranchAddsItsOwnChecks) {
  SAMITE_ON_THE_CPU();
  const auto bytes = [](int depth) {
    Kernel nested{"nested", [&](Array<float, 2> y, Array<const float, 2> x) {
                    auto [i, j] = thread_index<2>();
                    const std::function<void(int)> nest = [&](int level) {  // NOLINT(misc-no-recursion)
                      if (level == depth) return;
                      if_(x(i + level, j) > static_cast<float>(level), [&] {
                        y(i, j) += x(i, j + level);
                        nest(level + 1);
                      });
                    };
                    nest(0);
                  }};
    Buffer<float> y(Device::cpu(), {4, 5}), x(Device::cpu(), {4 + depth, 5 + depth});
    nested.launch({4, 5}, {.debug = true}, y, x);
    return image_bytes(report(nested));
  };
  EXPECT_LT((bytes(20) - bytes(10)) / 10, 1'500u);
}

// An index that has been checked in one side of a branch has not been checked in the other, nor after it.
TEST(DebugCompiles, EachSideOfABranchIsChecked) {
  SAMITE_ON_THE_CPU();
  for (const bool negative : {false, true}) {
    Kernel sides{"sides", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                   Int i = thread_index();
                   if_(x(i) < 0, [&] { y(i + 4) = 1; }, [&] { y(i + 4) = 2; });
                 }};
    Buffer<float> y(on_device::device, {13}), x(on_device::device, {10}, std::vector<float>(10, negative ? -1.f : 1.f));
    EXPECT_THAT(message_of<UserError>([&] { sides.launch({10}, {.debug = true}, y, x); }),
                HasSubstr("in instance (9): index 13 is outside of dimension 0 of array 'y', whose extent is 13"));
  }
}

TEST(DebugCompiles, TheFirstOfSeveralAccessesAtOneIndexIsNamed) {
  SAMITE_ON_THE_CPU();
  const int line = __LINE__ + 3;
  Kernel twice{"twice", {"y", "x"}, [](Array<float, 2> y, Array<const float, 2> x) {
                 auto [i, j] = thread_index<2>();
                 Float first = x(i + 1, j);
                 y(i, j) = first * x(i + 1, j) + x(i, j);
               }};
  Buffer<float> y(on_device::device, {3, 20}), x(on_device::device, {3, 20});
  const std::string message = message_of<UserError>([&] { twice.launch({3, 20}, {.debug = true}, y, x); });
  EXPECT_THAT(message, HasSubstr("debug_compile_test.cpp:" + std::to_string(line) + ": "));
  EXPECT_THAT(message, HasSubstr("index 3 is outside of dimension 0 of array 'x', whose extent is 3"));
}

}  // namespace
}  // namespace samite::test
