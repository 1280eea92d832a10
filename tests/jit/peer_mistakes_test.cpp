// One test for each known way in which another library's gradient was silently wrong: exact gradients if they are
// known, central differences otherwise.
#include "samite/jit/gradient_check.h"
#include "samite/samite.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

namespace samite {
namespace {

using testing::HasSubstr;

using Out = Array<double, 1>;
using In = Array<const double, 1>;
using Doubles = std::vector<double>;

Buffer<double> tracked_doubles(const Doubles &values) {
  return {test::device(), {static_cast<std::int64_t>(values.size())}, values, Gradient::tracked};
}

// d(sum of y) / dx of a kernel (y, x).
template <class F>
Doubles gradient_of_sum(const F &function, const Doubles &x, std::int64_t instances) {
  Kernel kernel{"kernel", {"y", "x"}, function};
  Buffer<double> in = tracked_doubles(x), out(test::device(), {instances}, Gradient::tracked);
  kernel.launch({instances}, out, in);
  out.gradient().fill(1);
  kernel.launch({instances}, {.direction = Direction::adjoint}, out, in);
  return in.gradient().to_vector();
}

template <class F>
GradientReport checked(const F &function, std::int64_t n = 5) {
  Kernel kernel{"kernel", {"y", "x"}, function};
  Doubles values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(0.3 + 0.17 * static_cast<double>(i));
  Buffer<double> in = tracked_doubles(values), out(test::device(), {n}, Gradient::tracked);
  return gradcheck([&] { kernel.launch({n}, out, in); }, {in}, {out});
}

TEST(PeerMistakes, AProductCarriedByADynamicLoop) {
  Doubles gradient = gradient_of_sum(
      [](Out y, In x) {
        Double product = 1;
        for (Int k : range(x.extent(0))) product *= x(k);
        y(thread_index()) = product;
      },
      {2, 3, 5, 7}, 1);
  EXPECT_EQ(gradient, (Doubles{105, 70, 42, 30}));
}

TEST(PeerMistakes, OneFactorCarriedThreeTimes) {
  Doubles gradient = gradient_of_sum(
      [](Out y, In x) {
        Int i = thread_index();
        Double product = 1;
        for (Int k : range(x.extent(0))) product *= x(i);
        y(i) = product;
      },
      {2, 3, 4}, 3);
  EXPECT_EQ(gradient, (Doubles{12, 27, 48})) << "3 x^2";
}

TEST(PeerMistakes, AValueFromBeforeADynamicLoopUsedAfterIt) {
  GradientReport report = checked([](Out y, In x) {
    Int i = thread_index();
    Double before = x(i) * x(i), sum = 0;
    for (Int k : range(i + 1)) sum += before * x(k);
    y(i) = sum * before;
  });
  EXPECT_TRUE(report.passed) << report;
}

TEST(PeerMistakes, NestedDynamicLoops) {
  GradientReport report = checked([](Out y, In x) {
    Int i = thread_index();
    Double value = x(i);
    for (Int j : range(i + 1)) {
      Double inner = value;
      for (Int k : range(j + 1)) inner = inner * x(k) + 0.5 * value;
      value = sin(inner) + value * 0.5;
    }
    y(i) = value;
  });
  EXPECT_TRUE(report.passed) << report;
}

TEST(PeerMistakes, Continue) {
  Doubles gradient = gradient_of_sum(
      [](Out y, In x) {
        Double product = 1;
        for (Int k : range(x.extent(0))) {
          if_(k % 2 == 1, [] { continue_(); });
          product *= x(k);
        }
        y(thread_index()) = product;
      },
      {2, 3, 5, 7, 11}, 1);
  EXPECT_EQ(gradient, (Doubles{55, 0, 22, 0, 10}));
}

TEST(PeerMistakes, Break) {
  Doubles gradient = gradient_of_sum(
      [](Out y, In x) {
        Double product = 1;
        for (Int k : range(x.extent(0))) {
          product *= x(k);
          if_(product > 5, [] { break_(); });
        }
        y(thread_index()) = product;
      },
      {2, 3, 5, 7}, 1);
  EXPECT_EQ(gradient, (Doubles{3, 2, 0, 0})) << "it ends with the second factor";
}

TEST(PeerMistakes, AnEarlyReturn) {
  Doubles gradient = gradient_of_sum(
      [](Out y, In x) {
        Int i = thread_index();
        y(i) = x(i) * x(i);
        if_(i % 2 == 0, [] { return_(); });
        y(i) = y(i) * x(i);
      },
      {2, 3, 5, 7}, 4);
  EXPECT_EQ(gradient, (Doubles{4, 27, 10, 147})) << "2 x, 3 x^2";
}

TEST(PeerMistakes, AWhileLoopWhoseEndDependsOnTheData) {
  GradientReport report = checked([](Out y, In x) {
    Int i = thread_index();
    Double value = x(i);
    while_([&] { return value < 3; }, [&] { value = value * 1.7 + x(0) * value; });
    y(i) = value;
  });
  EXPECT_TRUE(report.passed) << report;
}

TEST(PeerMistakes, AnInPlaceProduct) {
  Device device = test::device();
  Kernel kernel{"power", {"x"}, [](Out x) {
                  Int i = thread_index();
                  for (Int k : range(2)) x(i) *= x(i);
                }};
  Buffer<double> x = tracked_doubles({1, 2, 3});
  Tape tape;
  tape.record([&] { kernel.launch({3}, x); });
  tape.backward({{x, Buffer<double>(device, {3}, {1, 1, 1})}});
  EXPECT_EQ(x.gradient().to_vector(), (Doubles{4, 32, 108})) << "4 x^3";
}

TEST(PeerMistakes, AnOverwrittenElementReadEarlier) {
  Kernel kernel{"kernel", {"y", "x"}, [](Out y, Out x) {
                  Int i = thread_index();
                  Double before = x(i);
                  x(i) = before * before;
                  y(i) = x(i) * before;
                }};
  Buffer<double> x = tracked_doubles({2, 3}), y = tracked_doubles({0, 0});
  Tape tape;
  tape.record([&] { kernel.launch({2}, y, x); });
  tape.backward({{y, Buffer<double>(test::device(), {2}, {1, 1})}});
  EXPECT_EQ(x.gradient().to_vector(), (Doubles{12, 27})) << "3 x^2";
}

TEST(PeerMistakes, OneBufferForTwoInputs) {
  Kernel kernel{"product", {"y", "a", "b"}, [](Out y, In a, In b) {
                  Int i = thread_index();
                  y(i) = a(i) * b(i) * b(i);
                }};
  Buffer<double> x = tracked_doubles({2, 3}), y = tracked_doubles({0, 0});
  kernel.launch({2}, y, x, x);
  y.gradient().fill(1);
  kernel.launch({2}, {.direction = Direction::adjoint}, y, x, x);
  EXPECT_EQ(x.gradient().to_vector(), (Doubles{12, 27})) << "3 x^2";
}

TEST(PeerMistakes, OneBufferForAnInputAndTheOutput) {
  Kernel kernel{"square", {"y", "x"}, [](Out y, In x) {
                  Int i = thread_index();
                  y(i) = x(i) * x(i);
                }};
  Buffer<double> x = tracked_doubles({2, 3});
  Tape tape;
  tape.record([&] { kernel.launch({2}, x, x); });
  tape.backward({{x, Buffer<double>(test::device(), {2}, {1, 1})}});
  EXPECT_EQ(x.gradient().to_vector(), (Doubles{4, 6}));
}

// One name writes it, the other reads it: neither the previous nor the current contents are the values that were
// read.
TEST(PeerMistakes, OneBufferWrittenAndThenReadByAnotherNameIsRefused) {
  int line = 0;
  Kernel kernel{"twice", {"y", "a", "b"}, [&](Out y, Out a, In b) {
                  Int i = thread_index();
                  a(i) = a(i) * a(i);
                  line = __LINE__ + 1;
                  y(i) = b(i) * b(i);
                }};
  Buffer<double> x = tracked_doubles({2, 3}), y = tracked_doubles({0, 0});
  Tape tape;
  tape.record([&] { kernel.launch({2}, y, x, x); });
  std::string message =
      message_of<UserError>([&] { tape.backward({{y, Buffer<double>(test::device(), {2}, {1, 1})}}); });
  EXPECT_THAT(message, HasSubstr("peer_mistakes_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("argument 2 ('b')"));
  EXPECT_THAT(message, HasSubstr("share memory with argument 1 ('a')"));
  EXPECT_THAT(message, HasSubstr("separate buffers"));
}

TEST(PeerMistakes, ACopyInBetween) {
  Kernel copy{"copy", {"to", "from"}, [](Out to, In from) { to(thread_index()) = from(thread_index()); }};
  Kernel square{"square", {"y", "x"}, [](Out y, In x) {
                  Int i = thread_index();
                  y(i) = x(i) * x(i);
                }};
  Buffer<double> x = tracked_doubles({2, 3}), between = tracked_doubles({0, 0}), y = tracked_doubles({0, 0});
  Tape tape;
  tape.record([&] {
    copy.launch({2}, between, x);
    square.launch({2}, y, between);
  });
  tape.backward({{y, Buffer<double>(test::device(), {2}, {1, 1})}});
  EXPECT_EQ(x.gradient().to_vector(), (Doubles{4, 6}));
}

TEST(PeerMistakes, AComponentAssignedTwice) {
  Doubles gradient = gradient_of_sum(
      [](Out y, In x) {
        Int i = thread_index();
        Double first = x(i), second = 1;
        first = first * first;
        second = first * x(i);
        first = second + first;
        first = first * 2;
        y(i) = first;
      },
      {2, 3}, 2);
  EXPECT_EQ(gradient, (Doubles{32, 66})) << "6 x^2 + 4 x";
}

TEST(PeerMistakes, AnElementOfALocalArrayAssignedTwice) {
  Doubles gradient = gradient_of_sum(
      [](Out y, In x) {
        Int i = thread_index();
        LocalArray<double, 2> a{x(i), 1};
        for (Int k : range(2)) a(0) *= a(0);
        a(1) = a(0) * x(i);
        a(0) = 7;
        y(i) = a(1);
      },
      {2, 3}, 2);
  EXPECT_EQ(gradient, (Doubles{80, 405})) << "5 x^4";
}

}  // namespace
}  // namespace samite
