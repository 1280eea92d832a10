// Loops that a break or a condition of the user's may end early, and that count to an end: tapes for as many iterations
// as there can be, filled in one run.
#include "tests/autodiff/differentiate.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::HasSubstr;
using testing::Not;

using Out = Array<double, 1>;
using In = Array<const double, 1>;

// A product whose loop a lane leaves when it is large: after 3 to 12 factors, depending on `in`.
template <class Range>
auto product_until_large(const Range &range_of) {
  return [=](Out out, In in) {
    Int i = thread_index();
    Double product = 1 + in(i);
    for (Int k : range_of(in.extent(0))) {
      if_(product > 4, [] { break_(); });
      product *= 1.2 + 0.5 * in((i + k % 7 + 7) % 7) * in(i);
    }
    out(i) = product;
  };
}

template <class F>
void expect_right_gradient(const F &function) {
  Kernel kernel{"bounded", {"out", "in"}, function};
  EXPECT_LT(gradient_error(kernel, 7, random_values(7, 0.1, 0.9, 3), 7), 1e-7);
}

template <class F>
std::string report(const F &function, std::optional<std::int64_t> memory_limit = {}) {
  return Kernel{"bounded", {"out", "in"}, function}.adjoint_report(memory_limit).to_string();
}

TEST(Bounds, ALoopThatABreakEndsRunsOnceToKeepItsValues) {
  auto function = product_until_large([](const Int &) { return range(100); });
  expect_right_gradient(function);
  const std::string text = report(function);
  EXPECT_THAT(text, HasSubstr("8 B x 100 iterations"));
  EXPECT_THAT(text, HasSubstr("runs forward 2 times"));
}

// Their tapes are for the iterations that are run.
TEST(Bounds, ABoundBeyondTheMemoryLimitIsNone) {
  auto long_loop = product_until_large([](const Int &) { return range(1 << 30); });
  expect_right_gradient(long_loop);
  EXPECT_THAT(report(long_loop), HasSubstr("8 B x iterations of a chunk"));
  EXPECT_THAT(report(long_loop), HasSubstr("runs forward 3 times; beyond 8192 iterations 4 times"));

  auto function = product_until_large([](const Int &) { return range(100); });
  EXPECT_THAT(report(function, 800), HasSubstr("runs forward 2 times"));
  EXPECT_THAT(report(function, 799), HasSubstr("checkpoints"));
}

TEST(Bounds, AnEndThatTheLaunchGives) {
  auto function = [](int factor) {
    return product_until_large([=](const Int &n) { return range(3, factor * n + 3); });
  };
  expect_right_gradient(function(0));
  expect_right_gradient(function(1));
  expect_right_gradient(function(10));
  expect_right_gradient(function(100'000'000));  // counted first
}

TEST(Bounds, StepsOfEitherSign) {
  expect_right_gradient(product_until_large([](const Int &n) { return range(-n, 2 * n, 3); }));
  expect_right_gradient(product_until_large([](const Int &n) { return range(2 * n, -n, -1); }));
  expect_right_gradient(product_until_large([](const Int &n) { return range(4 * n, 0, -5); }));
  expect_right_gradient(product_until_large([](const Int &) { return range(40, -1, -2); }));
}

// The distance does not fit into the counter's type, or the step after the last one goes beyond it.
TEST(Bounds, AtTheEndsOfTheCountersType) {
  constexpr int low = -2'147'483'647, high = 2'147'483'647;
  expect_right_gradient(product_until_large([=](const Int &n) { return range(low + 7 * n, high - n, 1000); }));
  expect_right_gradient(product_until_large([=](const Int &n) { return range(high - 40 + 0 * n, high, 3); }));
  expect_right_gradient(product_until_large([=](const Int &n) { return range(low + 40 + 0 * n, low, -3); }));
}

TEST(Bounds, AWhileThatCounts) {
  auto while_counting = [](auto goes_on, int first, int step) {
    return [=](Out out, In in) {
      Int i = thread_index(), k = first;
      Double x = in(i);
      while_([&] { return x < 3 && goes_on(k, in.extent(0)); },
             [&] {
               x = x * (1.1 + 0.2 * in(i)) + 0.1 * in((i + 5) % 7);
               k += step;
             });
      out(i) = x;
    };
  };
  expect_right_gradient(while_counting([](const Int &k, const Int &n) { return k < n; }, 0, 1));
  expect_right_gradient(while_counting([](const Int &k, const Int &n) { return k <= n; }, -3, 2));
  expect_right_gradient(while_counting([](const Int &k, const Int &n) { return n > k; }, 1, 1));
  expect_right_gradient(while_counting([](const Int &k, const Int &n) { return n >= k; }, 0, 4));
  expect_right_gradient(while_counting([](const Int &k, const Int &n) { return k > -n; }, 5, -1));
  expect_right_gradient(while_counting([](const Int &k, const Int &n) { return -n <= k; }, 5, -3));
  const auto to_twenty = while_counting([](const Int &k, const Int &) { return k <= 20; }, 0, 1);
  EXPECT_THAT(report(to_twenty), HasSubstr("8 B x 21 iterations"));
}

// A moving end is no bound.
TEST(Bounds, AWhileWhoseEndMoves) {
  auto function = [](Out out, In in) {
    Int i = thread_index(), k = 0, end = 2 + i;
    Double x = in(i);
    while_([&] { return k < end; },
           [&] {
             x = sin(x) + 0.5 * x * in((i + k) % 7);
             if_(k % 3 == 0, [&] { end += 1; });
             k += 1;
           });
    out(i) = x;
  };
  expect_right_gradient(function);
  EXPECT_THAT(report(function), HasSubstr("8 B x iterations of a chunk"));
}

TEST(Bounds, WithLocalArraysAndLoopsInside) {
  expect_right_gradient([](Out out, In in) {
    Int i = thread_index();
    LocalArray<double, 5> chain;
    for (Int k : range(5)) chain(k) = in(k);
    Double scale = 1;
    for (Int step : range(12 + i)) {
      for (Int k : range(1, 4)) {
        if_(chain(k) * scale > 1.5, [] { break_(); });
        chain(k) += 0.3 * chain(k - 1) * chain(k + 1) * scale + 0.05;
      }
      if_(step > 4 && chain(2) > 0.9, [] { break_(); });
      scale = scale * 0.9 + 0.1 * chain(2);
    }
    out(i) = chain(3) + chain(1) * scale;
  });
}

}  // namespace
}  // namespace samite::test
