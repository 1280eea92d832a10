// Gathering adjoints, compared with the same adjoints that scatter.

#include "samite/passes/adjoint/gather.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "tests/passes/interpreter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using namespace ir;
using Cover = GatheredAdjoint::Cover;

// An adjoint of one dimension, of `out` by `a`; small whole numbers are in the arrays, so that sums are exact.
Kernel line(const std::string &body) {
  Kernel kernel = parse_kernel(
      "kernel @k(@out: array<const f64, 1>, @a: array<const f64, 1>, @n: i32, @o: gradient of @out array<f64, 1>, "
      "@g: gradient of @a array<f64, 1>) threads 1 { %0: i32 = thread_index 0 %1: i32 = extent @a, 0 " +
      body + "}");
  verify(kernel, Form::structured, "the test");
  return kernel;
}

Kernel plane(const std::string &body) {
  Kernel kernel = parse_kernel(
      "kernel @k(@out: array<const f64, 2>, @a: array<const f64, 2>, @n: i32, @o: gradient of @out array<f64, 2>, "
      "@g: gradient of @a array<f64, 2>) threads 2 { %0: i32 = thread_index 0 %1: i32 = thread_index 1 " +
      body + "}");
  verify(kernel, Form::structured, "the test");
  return kernel;
}

std::vector<double> numbers(std::int64_t count, int seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>((i * i * 7 + i * 3 + std::int64_t{5} * seed) % 11 - 4));
  return values;
}

test::Arguments run(const Kernel &kernel, const std::vector<std::int64_t> &launch, const test::Arguments &arguments) {
  return test::interpret(kernel, launch, arguments).arguments;
}

// Gathers, and compares the results of both ways in all arrays.
void expect_same(const Kernel &adjoint, const std::vector<std::int64_t> &launch) {
  const auto gathered = gather_adjoint(adjoint, true);
  ASSERT_TRUE(gathered.has_value()) << to_string(adjoint);
  verify(gathered->gather, Form::structured, "gather_adjoint");
  verify(gathered->clear, Form::structured, "gather_adjoint");
  std::int64_t count = 1;
  for (std::int64_t extent : launch) count *= extent;
  test::Arguments arguments;
  arguments.add_array(numbers(count, 1), launch).add_array(numbers(count, 2), launch).add(1);
  arguments.add_array(numbers(count, 3), launch).add_array(numbers(count, 4), launch);
  const test::Arguments scattered = run(adjoint, launch, arguments);
  const test::Arguments both = run(gathered->clear, launch, run(gathered->gather, launch, arguments));
  EXPECT_EQ(both.arrays(), scattered.arrays()) << to_string(gathered->gather);
}

void expect_same_on_lines(const std::string &body) {
  for (std::int64_t extent : {1, 2, 3, 4, 5, 9}) expect_same(line(body), {extent});
}

std::string gather_text(const Kernel &adjoint) { return to_string(gather_adjoint(adjoint, true).value().gather); }

bool gathers(const Kernel &adjoint) { return gather_adjoint(adjoint, true).has_value(); }

TEST(Gather, AShiftIsTurnedRound) {
  for (const char *shift : {"1", "-1", "2", "-3", "4"})
    expect_same_on_lines("%2: i32 = add %0, " + std::string(shift) + R"(
        %3: bool = ge %2, 0
        %4: bool = lt %2, %1
        %5: bool = and %3, %4
        if %5 {
          %6: f64 = exchange @o[%0]
          accumulate atomic @g[%2] += %6
        })");
}

TEST(Gather, NothingIsAtomicAfterwards) {
  const Kernel kernel = line(R"(
      %2: i32 = sub %0, 1
      %3: i32 = max %2, 0
      %4: f64 = exchange @o[%0]
      accumulate atomic @g[%3] += %4)");
  EXPECT_EQ(gather_text(kernel).find("atomic"), std::string::npos);
  EXPECT_EQ(gather_text(kernel).find("exchange"), std::string::npos);
  EXPECT_NE(to_string(gather_adjoint(kernel, true)->clear).find("store @o[%0] = 0.0"), std::string::npos);
}

TEST(Gather, TheEndsOfAnArrayAreOwedMore) {
  for (const char *shift : {"-1", "-2", "-4"})
    expect_same_on_lines("%2: i32 = add %0, " + std::string(shift) + R"(
        %3: i32 = max 0, %2
        %4: f64 = exchange @o[%0]
        accumulate atomic @g[%3] += %4)");
  for (const char *shift : {"1", "2", "3"})
    expect_same_on_lines("%2: i32 = add %0, " + std::string(shift) + R"(
        %3: i32 = sub %1, 1
        %4: i32 = min %2, %3
        %5: f64 = exchange @o[%0]
        accumulate atomic @g[%4] += %5)");
  for (const char *shift : {"1", "-2", "0"})
    expect_same_on_lines("%2: i32 = add %0, " + std::string(shift) + R"(
        %3: i32 = add %1, -1
        %4: i32 = max %2, 0
        %5: i32 = min %3, %4
        %6: f64 = exchange @o[%0]
        accumulate atomic @g[%5] += %6
        accumulate atomic @g[%0] += 2.0:f64)");
}

TEST(Gather, ValuesAndConditionsAreThoseOfTheOtherInstance) {
  expect_same_on_lines(R"(
      %2: i32 = sub %1, 1
      %3: i32 = add %0, 1
      %4: i32 = min %3, %2
      %5: f64 = load @a[%0]
      %6: f64 = load @a[%4]
      %7: f64 = exchange @o[%0]
      %8: bool = gt %5, %6
      if %8 -> (%9: f64 = %10 | 3.0:f64) {
        %10: f64 = mul %6, %7
      } else {
        accumulate atomic @g[%0] += %5
      }
      %11: f64 = mul %9, %5
      if %8 { accumulate atomic @g[%4] += %11 })");
}

TEST(Gather, NeighboursInAPlane) {
  for (const std::vector<std::int64_t> &launch : std::vector<std::vector<std::int64_t>>{{1, 1}, {1, 3}, {2, 1}, {4, 5}})
    expect_same(plane(R"(
        %2: i32 = extent @a, 0
        %3: i32 = extent @a, 1
        %4: i32 = sub %2, 1
        %5: i32 = sub %3, 1
        %6: i32 = sub %0, 1
        %7: i32 = max %6, 0
        %8: i32 = add %0, 1
        %9: i32 = min %8, %4
        %10: i32 = sub %1, 1
        %11: i32 = max %10, 0
        %12: i32 = add %1, 1
        %13: i32 = min %12, %5
        %14: f64 = exchange @o[%0, %1]
        %15: f64 = mul %14, -4.0:f64
        accumulate atomic @g[%7, %1] += %14
        accumulate atomic @g[%9, %11] += %14
        accumulate atomic @g[%0, %13] += %14
        accumulate atomic @g[%0, %1] += %15)"),
                launch);
}

TEST(Gather, WhatCannotBeGatheredStaysBesideWhatCan) {
  const Kernel kernel = parse_kernel(R"(
      kernel @k(@out: array<const f64, 1>, @a: array<const f64, 1>, @i: array<const i32, 1>,
                @o: gradient of @out array<f64, 1>, @g: gradient of @a array<f64, 1>,
                @h: gradient of @a array<f64, 1>) threads 1 {
        %0: i32 = thread_index 0
        %1: i32 = load @i[%0]
        %2: i32 = sub %0, 1
        %3: i32 = max %2, 0
        %4: f64 = exchange @o[%0]
        accumulate atomic @g[%3] += %4
        accumulate atomic @h[%1] += %4
      })");
  const auto gathered = gather_adjoint(kernel, true).value();
  test::Arguments arguments;
  arguments.add_array(numbers(5, 1)).add_array(numbers(5, 2)).add_array<std::int32_t>({4, 0, 0, 2, 4});
  arguments.add_array(numbers(5, 3)).add_array(numbers(5, 4)).add_array(numbers(5, 5));
  EXPECT_EQ(run(gathered.clear, {5}, run(gathered.gather, {5}, arguments)).arrays(),
            run(kernel, {5}, arguments).arrays());
  EXPECT_NE(to_string(gathered.gather).find("accumulate atomic @h"), std::string::npos);
  EXPECT_EQ(to_string(gathered.gather).find("accumulate atomic @g"), std::string::npos);
}

// A vector for each instance: components are told apart by a constant.
TEST(Gather, ComponentsOfANeighboursVector) {
  const Kernel kernel = parse_kernel(R"(
      kernel @k(@out: array<const f64, 2>, @a: array<const f64, 2>, @o: gradient of @out array<f64, 2>,
                @g: gradient of @a array<f64, 2>) threads 1 {
        %0: i32 = thread_index 0
        %1: i32 = add %0, 1
        %2: i32 = extent @a, 1
        %3: bool = lt %1, %2
        if %3 {
          %4: f64 = exchange @o[0, %0]
          %5: f64 = exchange @o[1, %0]
          accumulate atomic @g[0, %1] += %4
          accumulate atomic @g[1, %1] += %5
          accumulate atomic @g[1, %0] += %4
        }
      })");
  const auto gathered = gather_adjoint(kernel, true).value();
  test::Arguments arguments;
  for (int seed = 1; seed <= 4; ++seed) arguments.add_array(numbers(8, seed), {2, 4});
  EXPECT_EQ(run(gathered.clear, {4}, run(gathered.gather, {4}, arguments)).arrays(),
            run(kernel, {4}, arguments).arrays());
  EXPECT_EQ(gathered.covers, (std::vector<Cover>{{{1, 1}, 0}}));
}

TEST(Gather, TheLaunchMustCoverTheArraysThatItKeepsWithin) {
  const Kernel kernel = line(R"(
      %2: i32 = extent @out, 0
      %3: i32 = sub %2, 1
      %4: i32 = add %0, 1
      %5: i32 = min %4, %3
      %6: f64 = exchange @o[%0]
      accumulate atomic @g[%5] += %6)");
  EXPECT_EQ(gather_adjoint(kernel, true)->covers, (std::vector<Cover>{{{1, 0}, 0}, {{0, 0}, 0}}));
}

// Two additions to a neighbour, of a value that takes `operations` to compute.
Kernel long_neighbour(int operations) {
  std::string body = "%2: i32 = sub %0, 1 %3: bool = ge %2, 0 if %3 { %4: f64 = exchange @o[%0] ";
  for (int k = 0; k < operations; ++k) body += fmt::format("%{}: f64 = sin %{} ", 5 + k, 4 + k);
  return line(body +
              fmt::format("accumulate atomic @g[%2] += %{0} accumulate atomic @g[%0] += %{0} }}", 4 + operations));
}

TEST(Gather, IsNotDoneWhereComputingAgainTakesLonger) {
  EXPECT_TRUE(gather_adjoint(long_neighbour(1), false));
  EXPECT_FALSE(gather_adjoint(long_neighbour(40), false));
  EXPECT_TRUE(gather_adjoint(long_neighbour(40), true));
}

// Gathering each of these would be wrong, or not worthwhile.
TEST(Gather, IsNotDone) {
  const std::string shifted = "%2: i32 = sub %0, 1 %3: i32 = max %2, 0 ";
  EXPECT_TRUE(gathers(line(shifted + "%4: f64 = exchange @o[%0] accumulate atomic @g[%3] += %4")));
  for (const std::string &body :
       {shifted + "%4: f64 = exchange @o[%0] accumulate @g[%0] += %4",                // nothing is atomic
        shifted + "%4: f64 = exchange atomic @o[%0] accumulate atomic @g[%3] += %4",  // instances may take one element
        shifted + "%4: f64 = exchange @o[%0] %5: f64 = exchange @o[%0] %6: f64 = add %4, %5 "
                  "accumulate atomic @g[%3] += %6",  // the second reads zero
        shifted + "%4: f64 = load @o[%0] %5: f64 = exchange @o[%0] %6: f64 = add %4, %5 "
                  "accumulate atomic @g[%3] += %6",
        shifted + "%4: f64 = load @g[%0] accumulate atomic @g[%3] += %4",  // reads the gradient that it adds to
        shifted + "for %4: i32 in 0 .. @n step 1 { accumulate atomic @g[%3] += 1.0:f64 }",
        std::string("%2: i32 = add %0, 5 %3: f64 = exchange @o[%0] accumulate atomic @g[%2] += %3"),  // far
        std::string("%2: i32 = add %0, @n accumulate atomic @g[%2] += 1.0:f64"),                      // by how much?
        std::string("%2: i32 = mul %0, 2 accumulate atomic @g[%2] += 1.0:f64"),
        std::string("%2: i32 = max %0, 1 accumulate atomic @g[%2] += 1.0:f64"),  // not the array's end
        std::string("%2: i32 = min %0, @n accumulate atomic @g[%2] += 1.0:f64"),
        std::string("%2: i32 = min %0, %1 accumulate atomic @g[%2] += 1.0:f64"),
        std::string("accumulate atomic @g[0] += 1.0:f64")})
    EXPECT_FALSE(gathers(line(body))) << body;
  // An index below the first element wraps around, and becomes the last one.
  EXPECT_FALSE(gathers(
      line("%2: u32 = cast %0 %3: u32 = sub %2, 1:u32 %4: u32 = max %3, 0:u32 %5: u32 = cast %1 "
           "%6: u32 = sub %5, 1:u32 %7: u32 = min %4, %6 %8: i32 = cast %7 accumulate atomic @g[%8] += 1.0:f64")));
  // Instances 2^32 apart are one.
  Kernel wide = line("%2: i64 = thread_index 0 %3: i32 = cast %2 accumulate atomic @g[%3] += 1.0:f64");
  wide.body.erase(wide.body.begin());
  EXPECT_FALSE(gathers(wide));
  // An element would belong to two instances.
  EXPECT_FALSE(gathers(plane("accumulate atomic @g[%0, %1] += 1.0:f64 accumulate atomic @g[%1, %0] += 1.0:f64")));
  EXPECT_FALSE(gathers(plane("accumulate atomic @g[%0, %0] += 1.0:f64")));
}

}  // namespace
}  // namespace samite::passes
