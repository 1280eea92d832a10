// A kernel computes the same as the corresponding C++: written twice, run by the interpreter and by the compiler.

#include "samite/lang/math.h"
#include "tests/lang/captured.h"
#include "tests/passes/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace samite {
namespace {

using test::Arguments;

// The kernel as captured and as simplified, which leave the same in the arrays; `instances` run.
template <class F>
Arguments run(const F &function, std::int64_t instances, const Arguments &arguments) {
  Arguments captured = test::interpret(test::captured(function), {instances}, arguments).arguments;
  Arguments structured = test::interpret(test::structured(function), {instances}, arguments).arguments;
  EXPECT_EQ(captured.arrays(), structured.arrays());
  return structured;
}

TEST(Meaning, GreatestCommonDivisor) {
  Arguments arguments;
  arguments.add_array<int>({0, 0, 0, 0}).add_array<int>({12, 7, 0, 1071}).add_array<int>({18, 5, 4, 462});
  arguments = run(
      [](Array<int, 1> out, Array<const int, 1> first, Array<const int, 1> second) {
        Int i = thread_index();
        Int a = first(i), b = second(i);
        while_([&] { return b != 0; },
               [&] {
                 Int rest = a % b;
                 a = b;
                 b = rest;
               });
        out(i) = a;
      },
      4, arguments);
  EXPECT_EQ(arguments.elements<int>(0),
            (std::vector<int>{std::gcd(12, 18), std::gcd(7, 5), std::gcd(0, 4), std::gcd(1071, 462)}));
}

TEST(Meaning, IntegersBesideFloatingLiterals) {
  Arguments arguments;
  arguments.add_array<double>({0, 0, 0, 0, 0}).add_array<int>({7});
  arguments = run(
      [](Array<double, 1> out, Array<const int, 1> in) {
        Int i = in(0);
        static_assert(std::same_as<decltype(i * 0.5), Double> && std::same_as<decltype(0.5f * i), Float>);
        static_assert(std::same_as<decltype(i < 0.5), Bool> && std::same_as<decltype(max(i, 0)), Int>);
        out(0) = 0.5 * i;
        out(1) = in(0) / 2.0f;
        out(2) = 1.5 - i;
        out(3) = select(i > 6.5, 1.0, 0.0);
        out(4) = max(i, 7.25);
      },
      1, arguments);
  EXPECT_EQ(arguments.elements<double>(0), (std::vector<double>{3.5, 3.5, -5.5, 1, 7.25}));
}

TEST(Meaning, IncrementsGiveTheValueBeforeOrAfter) {
  Arguments arguments;
  arguments.add_array<int>({0, 0, 0, 0, 0, 0, 10});
  arguments = run(
      [](Array<int, 1> out) {
        Int n = 3, sum = 0;
        for (Int k : range(4)) sum += n++ + k;  // 3 + 4 + 5 + 6 + 0 + 1 + 2 + 3
        out(0) = sum;
        out(1) = n;
        out(2) = n--;
        out(3) = --n;
        out(4) = ++n;
        out(5) = out(6)++;
      },
      1, arguments);
  EXPECT_EQ(arguments.elements<int>(0), (std::vector<int>{24, 7, 7, 5, 6, 10, 11}));
}

TEST(Meaning, CollatzSteps) {
  auto steps = [](int n) {
    int count = 0;
    for (; n != 1; ++count) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return count;
  };
  Arguments arguments;
  arguments.add_array<int>({0, 0, 0, 0, 0, 0, 0, 0});
  arguments = run(
      [](Array<int, 1> out) {
        Int i = thread_index();
        Int n = i + 1, count = 0;
        while_([&] { return n != 1; },
               [&] {
                 if_(n % 2 == 0, [&] { n = n / 2; }, [&] { n = 3 * n + 1; });
                 count += 1;
               });
        out(i) = count;
      },
      8, arguments);
  std::vector<int> expected;
  for (int n = 1; n <= 8; ++n) expected.push_back(steps(n));
  EXPECT_EQ(arguments.elements<int>(0), expected);
}

TEST(Meaning, RangesVisitTheSameNumbers) {
  struct Case {
    int begin, end;
  };
  const Case cases[] = {{0, 5}, {-3, 4}, {5, 0}, {4, 4}, {7, -8}};
  for (auto [begin, end] : cases) {
    std::vector<int> expected(4);
    for (int i = begin; i < end; ++i) expected[0] = expected[0] * 3 + i;
    for (int i = begin; i < end; i += 3) expected[1] = expected[1] * 3 + i;
    for (int i = begin; i > end; --i) expected[2] = expected[2] * 3 + i;
    for (int i = begin; i > end; i -= 4) expected[3] = expected[3] * 3 + i;
    Arguments arguments;
    arguments.add_array<int>({0, 0, 0, 0}).add(begin).add(end);
    arguments = run(
        [](Array<int, 1> out, Int begin, Int end) {
          for (Int i : range(begin, end)) out(0) = out(0) * 3 + i;
          for (Int i : range(begin, end, 3)) out(1) = out(1) * 3 + i;
          for (Int i : range(begin, end, -1)) out(2) = out(2) * 3 + i;
          for (Int i : range(begin, end, -4)) out(3) = out(3) * 3 + i;
        },
        1, arguments);
    EXPECT_EQ(arguments.elements<int>(0), expected) << begin << " to " << end;
  }
}

TEST(Meaning, ChangingPlacesInALoop) {
  Arguments arguments;
  arguments.add_array<std::int64_t>({0, 0}).add(30);
  arguments = run(
      [](Array<std::int64_t, 1> out, Int n) {
        Int64 current = 0, next = 1;
        for (Int i : range(n)) {
          Int64 sum = current + next;
          current = next;
          next = sum;
        }
        out(0) = current;
        out(1) = next;
      },
      1, arguments);
  EXPECT_EQ(arguments.elements<std::int64_t>(0), (std::vector<std::int64_t>{832040, 1346269}));
}

TEST(Meaning, FunctionsThatTakeReferencesChangeTheCallersLocals) {
  auto rotate = [](auto &x, auto &y, auto angle) {
    using std::cos, std::sin;
    auto c = cos(angle), s = sin(angle);
    auto before = x;
    x = c * x - s * y;
    y = s * before + c * y;
  };
  Arguments arguments;
  arguments.add_array<double>({0, 0}).add(0.3);
  arguments = run(
      [&](Array<double, 1> out, Double angle) {
        Double x = 1, y = 2;
        for (Int i : range(3)) rotate(x, y, angle);
        out(0) = x;
        out(1) = y;
      },
      1, arguments);
  double x = 1, y = 2;
  for (int i = 0; i < 3; ++i) rotate(x, y, 0.3);
  EXPECT_EQ(arguments.elements<double>(0), (std::vector<double>{x, y}));
}

TEST(Meaning, IntegersOfEveryWidthWrap) {
  Arguments arguments;
  arguments.add_array<std::uint8_t>({250}).add_array<std::int16_t>({32767}).add_array<std::uint32_t>({3});
  arguments = run(
      [](Array<std::uint8_t, 1> a, Array<std::int16_t, 1> b, Array<std::uint32_t, 1> c) {
        a(0) += 10;
        b(0) += 1;
        c(0) -= 4;
      },
      1, arguments);
  EXPECT_EQ(arguments.elements<std::uint8_t>(0).at(0), 4);
  EXPECT_EQ(arguments.elements<std::int16_t>(1).at(0), -32768);
  EXPECT_EQ(arguments.elements<std::uint32_t>(2).at(0), 4294967295u);
}

TEST(Meaning, AnArrayThatIsReadAndWrittenThroughTwoNames) {
  Arguments arguments;
  arguments.add_array<float>({1, 2, 3, 4}).add_same_array(0);
  arguments = run(
      [](Array<float, 1> out, Array<const float, 1> in) {
        Float before = in(1);
        out(1) = 10;
        out(0) = in(1) + before;
      },
      1, arguments);
  EXPECT_EQ(arguments.elements<float>(0), (std::vector<float>{12, 10, 3, 4}));
}

}  // namespace
}  // namespace samite
