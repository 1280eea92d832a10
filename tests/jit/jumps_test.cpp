// Loops that are left early, and functions that return early, against the same in plain C++. Neighbouring instances go
// different ways, and there are more of them than lanes.

#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace samite::test {
namespace {

constexpr int count = 203;

using on_device::device;

// A fixed sequence of small numbers.
std::vector<std::int32_t> small_numbers(int size, std::uint32_t seed = 1) {
  std::vector<std::int32_t> values;
  for (int i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    values.push_back(static_cast<std::int32_t>(seed >> 16) % 40);
  }
  return values;
}

// out(i) of `kernel`, launched over `count` instances with `in`, is reference(i).
template <class K, class F>
void expect_as_reference(K &kernel, const std::vector<std::int32_t> &in, F reference) {
  Buffer<std::int32_t> out{device, {count}};
  Buffer<std::int32_t> input{device, {static_cast<std::int64_t>(in.size())}, in};
  for (bool debug : {false, true}) {
    out.fill(-99);
    kernel.launch({count}, {.debug = debug}, out, input);
    std::vector<std::int32_t> expected;
    for (int i = 0; i < count; ++i) expected.push_back(reference(i));
    EXPECT_EQ(out.to_vector(), expected) << (debug ? "in debug mode" : "");
  }
}

using IntsOut = Array<std::int32_t, 1>;
using IntsIn = Array<const std::int32_t, 1>;

TEST(Jumps, SearchUntilFound) {
  const std::vector<std::int32_t> in = small_numbers(64);
  Kernel search{"search", [](IntsOut out, IntsIn in) {
                  Int i = thread_index(), at = -1;
                  for (Int k : range(in.extent(0)))
                    if_(in(k) == i % 50, [&] {
                      at = k;
                      break_();
                    });
                  out(i) = at;
                }};
  expect_as_reference(search, in, [&](int i) {
    for (int k = 0; k < 64; ++k)
      if (in[k] == i % 50) return k;
    return -1;
  });
}

TEST(Jumps, ABreakThatIsTheSameForAllInstances) {
  const std::vector<std::int32_t> in = small_numbers(64);
  Kernel first{"first_above", [](IntsOut out, IntsIn in) {
                 Int i = thread_index(), sum = i;
                 for (Int k : range(63, -1, -1)) {
                   if_(in(k) == in(0), [] { break_(); });
                   sum += in(k);
                 }
                 out(i) = sum;
               }};
  expect_as_reference(first, in, [&](int i) {
    for (int k = 63; k > -1 && in[k] != in[0]; --k) i += in[k];
    return i;
  });
}

TEST(Jumps, ContinueSkipsTheRestOfAnIteration) {
  const std::vector<std::int32_t> in = small_numbers(64);
  Kernel kernel{"odd_sum", [](IntsOut out, IntsIn in) {
                  Int i = thread_index(), sum = 0;
                  for (Int k : range(i % 64)) {
                    if_(in(k) % 2 == 0, [] { continue_(); });
                    sum += in(k);
                    if_(in(k) > i % 31, [] { continue_(); });
                    sum += 1000;
                  }
                  out(i) = sum;
                }};
  expect_as_reference(kernel, in, [&](int i) {
    int sum = 0;
    for (int k = 0; k < i % 64; ++k) {
      if (in[k] % 2 == 0) continue;
      sum += in[k];
      if (in[k] > i % 31) continue;
      sum += 1000;
    }
    return sum;
  });
}

TEST(Jumps, BreakOfTheInnerLoopAndContinueOfTheOuterOne) {
  const std::vector<std::int32_t> in = small_numbers(64);
  Kernel kernel{"nested", [](IntsOut out, IntsIn in) {
                  Int i = thread_index(), sum = 0;
                  for (Int j : range(i % 9)) {
                    Bool rare = false;
                    for (Int k : range(j, 64, 3)) {
                      if_(in(k) == 7 + i % 5, [&] {
                        rare = true;
                        break_();
                      });
                      if_(in(k) < 10, [] { continue_(); });
                      sum += k;
                    }
                    if_(rare, [] { continue_(); });
                    sum += 1000 * j;
                    if_(sum > 9000, [] { break_(); });
                  }
                  out(i) = sum;
                }};
  expect_as_reference(kernel, in, [&](int i) {
    int sum = 0;
    for (int j = 0; j < i % 9; ++j) {
      bool rare = false;
      for (int k = j; k < 64; k += 3) {
        if (in[k] == 7 + i % 5) {
          rare = true;
          break;
        }
        if (in[k] < 10) continue;
        sum += k;
      }
      if (rare) continue;
      sum += 1000 * j;
      if (sum > 9000) break;
    }
    return sum;
  });
}

TEST(Jumps, WhileWithBreakAndContinue) {
  const std::vector<std::int32_t> in = small_numbers(64);
  Kernel kernel{"wander", [](IntsOut out, IntsIn in) {
                  Int i = thread_index(), at = i % 64, steps = 0, sum = 0;
                  while_([&] { return in(at) != 3; },
                         [&] {
                           steps += 1;
                           at = (at * 5 + 3 + steps) % 64;
                           if_(steps > 20 + i % 7, [] { break_(); });
                           if_(at % 2 == 0, [] { continue_(); });
                           sum += in(at);
                         });
                  out(i) = 100 * sum + steps;
                }};
  expect_as_reference(kernel, in, [&](int i) {
    int at = i % 64, steps = 0, sum = 0;
    while (in[at] != 3) {
      steps += 1;
      at = (at * 5 + 3 + steps) % 64;
      if (steps > 20 + i % 7) break;
      if (at % 2 == 0) continue;
      sum += in[at];
    }
    return 100 * sum + steps;
  });
}

// In debug mode a condition that is computed after the break would report an index outside.
TEST(Jumps, TheConditionOfAWhileIsNotComputedAfterABreak) {
  const std::vector<std::int32_t> in(64, 1);
  Kernel kernel{"to_the_end", [](IntsOut out, IntsIn in) {
                  Int i = thread_index(), at = i % 64;
                  while_([&] { return in(at) > 0; },
                         [&] {
                           at += 1;
                           if_(at == in.extent(0), [] { break_(); });
                         });
                  out(i) = at;
                }};
  expect_as_reference(kernel, in, [](int) { return 64; });
}

TEST(Jumps, ReturnEndsTheInstanceFromAnyDepth) {
  const std::vector<std::int32_t> in = small_numbers(64);
  Kernel kernel{"returning", [](IntsOut out, IntsIn in) {
                  Int i = thread_index();
                  if_(i % 5 == 0, [] { return_(); });
                  for (Int j : range(8)) {
                    Int k = 0;
                    while_([&] { return k < 8; },
                           [&] {
                             if_(in(8 * j + k) == i % 40, [&] {
                               out(i) = 8 * j + k;
                               return_();
                             });
                             k += 1;
                           });
                    if_(i % 40 > 35, [] { break_(); });
                  }
                  out(i) = -1;
                }};
  expect_as_reference(kernel, in, [&](int i) {
    if (i % 5 == 0) return -99;
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 8; ++k)
        if (in[8 * j + k] == i % 40) return 8 * j + k;
      if (i % 40 > 35) break;
    }
    return -1;
  });
}

Int gcd_or_zero(Int a, Int b) {
  return returning<Int>([&](auto return_) {
    if_(a == 0 || b == 0, [&] { return_(0); });
    for ([[maybe_unused]] Int step : range(100)) {
      if_(b == 0, [&] { return_(a); });
      Int rest = a % b;
      a = b;
      b = rest;
    }
    return -1;
  });
}

TEST(Jumps, AFunctionReturnsFromInsideOfItsLoopAndTheCallerGoesOn) {
  Kernel kernel{"gcds", [](IntsOut out, IntsIn) {
                  Int i = thread_index(), sum = 0;
                  for (Int k : range(i % 7, 24)) {
                    Int divisor = gcd_or_zero(i, k);
                    if_(divisor == 1, [] { continue_(); });
                    sum = 3 * sum + divisor;
                    if_(sum > 100000, [] { break_(); });
                  }
                  out(i) = sum + gcd_or_zero(i, 36);
                }};
  expect_as_reference(kernel, {0}, [](int i) {
    auto gcd_or_zero = [](int a, int b) { return a == 0 || b == 0 ? 0 : std::gcd(a, b); };
    int sum = 0;
    for (int k = i % 7; k < 24; ++k) {
      int divisor = gcd_or_zero(i, k);
      if (divisor == 1) continue;
      sum = 3 * sum + divisor;
      if (sum > 100000) break;
    }
    return sum + gcd_or_zero(i, 36);
  });
}

// As many ways out as a loop that the capture unrolls has iterations.
TEST(Jumps, FromVeryManyPlaces) {
  Kernel kernel{"unrolled", [](IntsOut out, IntsIn) {
                  Int i = thread_index(), last = 0;
                  for ([[maybe_unused]] Int once : range(1))
                    for (int k = 0; k < 300; ++k) {
                      if_(i == k, [] { break_(); });
                      last = k;
                    }
                  out(i) = last;
                }};
  expect_as_reference(kernel, {0}, [](int i) { return std::max(0, i - 1); });
}

TEST(Jumps, TheGradientPassesABranchThatContinues) {
  Kernel kernel{"skipping", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double sum = 0;
                  for (Int k : range(in.extent(0))) {
                    if_(k % 3 == i % 3, [] { continue_(); });
                    sum += in(k)*in(k);
                  }
                  out(i) = sum;
                }};
  Buffer<double> in{device, {7}, {1, 2, 3, 4, 5, 6, 7}, Gradient::tracked}, out{device, {2}, Gradient::tracked};
  kernel.launch({2}, out, in);
  EXPECT_EQ(out.to_vector(), (std::vector<double>{4 + 9 + 25 + 36, 1 + 9 + 16 + 36 + 49}));
  out.gradient().fill(1);
  kernel.launch({2}, {.direction = Direction::adjoint}, out, in);
  EXPECT_EQ(in.gradient().to_vector(), (std::vector<double>{2, 4, 12, 8, 10, 24, 14}));
}

// The product of the elements up to the first that is above 5: the adjoint needs each partial product again.
TEST(Jumps, TheGradientPassesALoopThatBreaks) {
  Kernel kernel{"product", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double product = 1;
                  for (Int k : range(i, in.extent(0))) {
                    product *= in(k);
                    if_(in(k) > 5, [] { break_(); });
                    product = product * product;
                  }
                  out(i) = product;
                }};
  const std::vector<double> in = {2, 0.5, 6, 3, 7, 1};
  auto product = [](int i, std::vector<double> x) {
    double product = 1;
    for (std::size_t k = static_cast<std::size_t>(i); k < x.size(); ++k) {
      product *= x[k];
      if (x[k] > 5) break;
      product = product * product;
    }
    return product;
  };
  Buffer<double> input{device, {6}, in, Gradient::tracked}, out{device, {6}, Gradient::tracked};
  kernel.launch({6}, out, input);
  out.gradient().fill(1);
  kernel.launch({6}, {.direction = Direction::adjoint}, out, input);
  for (std::size_t k = 0; k < in.size(); ++k) {
    double expected = 0;
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(out.at(i), product(i, in));
      std::vector<double> more = in, less = in;
      more[k] += 1e-5, less[k] -= 1e-5;
      expected += (product(i, more) - product(i, less)) / 2e-5;
    }
    EXPECT_NEAR(input.gradient().at(static_cast<std::int64_t>(k)), expected, 1e-6 * std::max(1.0, std::abs(expected)));
  }
}

TEST(Jumps, TheGradientPassesAnEarlyReturn) {
  Kernel kernel{"guarded", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  if_(i == 1, [] { return_(); });
                  out(i) = returning<Double>([&](auto return_) {
                    Double x = in(i);
                    if_(x < 0, [&] { return_(3 * x); });
                    return x * x;
                  });
                }};
  Buffer<double> in{device, {3}, {-1, 5, 4}, Gradient::tracked}, out{device, {3}, Gradient::tracked};
  kernel.launch({3}, out, in);
  EXPECT_EQ(out.to_vector(), (std::vector<double>{-3, 0, 16}));
  out.gradient().fill(1);
  kernel.launch({3}, {.direction = Direction::adjoint}, out, in);
  EXPECT_EQ(in.gradient().to_vector(), (std::vector<double>{3, 0, 8}));
}

}  // namespace
}  // namespace samite::test
