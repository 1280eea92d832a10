// Loops in which the threads of a warp work together: their sums and loads, and for how many iterations at once.
#include "samite/passes/threads/warp_loops.h"

#include "samite/base/error.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/analysis/architecture.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/side_by_side.h"
#include "tests/passes/interpreter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const FactsOfArrays apart_in_rows(8, {.unit_stride = true, .unaliased = true, .aligned_rows = true});

Kernel with_warp_loops(const std::string &body, const FactsOfArrays &arrays = apart_in_rows, int side_by_side = 1) {
  const Kernel structured = parse_kernel(
      "kernel @k(@z: array<f32, 1>, @i: array<i32, 1>, @x: array<const f32, 1>, @b: array<const f64, 2>, "
      "@n: i32) threads 1 {\n  %0: i32 = thread_index 0\n  %1: f32 = load @x[%0]\n" +
      body + "\n}");
  verify(structured, Form::structured, "the test");
  Kernel kernel = place_arrays(lower_threads(structured), gpu_architecture(90));
  kernel = warp_loops(passes::side_by_side(std::move(kernel), {side_by_side, arrays}), arrays);
  verify(kernel, Form::lowered, "warp_loops");
  const std::string text = to_string(kernel);
  EXPECT_EQ(to_string(parse_kernel(text)), text);
  return kernel;
}

std::string text_of_warps(const std::string &body, const FactsOfArrays &arrays = apart_in_rows) {
  return to_string(with_warp_loops(body, arrays), {.renumber = true});
}

const std::string pairs_of_bodies = R"(for %2: i32 in 0 .. @n step 1 carry (%3 -> %4: f32 = 0.0 then %7) {
    %5: f32 = load @x[%2]
    %6: f32 = mul %1, %5
    %7: f32 = add %3, %6
    accumulate atomic @z[%2] += %6
  })";

TEST(WarpLoops, SumAndLoadForSeveralIterationsAtOnce) {
  EXPECT_THAT(text_of_warps(pairs_of_bodies),
              HasSubstr(R"(for %4: i32 in 0 .. @n step 1 by_warp 8 carry (%5 -> %6: f32 = 0.0 then %9) {
      %7: f32 = load by_warp @x[%4]
      %8: f32 = mul %3, %7
      %9: f32 = add %5, %8
      accumulate atomic over_lanes @z[%4] += %8
    })"));
}

TEST(WarpLoops, LoadsAloneAreOf32Iterations) {
  const std::string text = text_of_warps(
      "for %2: i32 in 0 .. @n step 1 carry (%3 -> %4: f32 = %1 then %6) { %5: f32 = load @x[%2] "
      "%6: f32 = add %3, %5 } store @z[%0] = %4");
  EXPECT_THAT(text, AllOf(HasSubstr("step 1 by_warp 32 carry"), HasSubstr("load by_warp @x[%4]")));
}

TEST(WarpLoops, ManySumsAreOfFewerIterations) {
  std::string body = "for %2: i32 in 0 .. @n step 1 { ";
  for (int sum = 0; sum < 5; ++sum)
    body += fmt::format("%{0}: i32 = add %2, {1} accumulate atomic @z[%{0}] += %1 ", 3 + sum, sum);
  EXPECT_THAT(text_of_warps(body + "}"), HasSubstr("step 1 by_warp 4 {"));
}

// Each iteration of the outer loop separately.
TEST(WarpLoops, LoopsAroundOthersSumIterationByIteration) {
  EXPECT_THAT(text_of_warps("for %2: i32 in 0 .. @n step 1 { accumulate atomic @z[%2] += %1 "
                            "for %3: i32 in 0 .. 4 step 1 { store @i[%3] = %2 } }"),
              AllOf(HasSubstr("in 0 .. @n step 1 by_warp 1 {"), HasSubstr("in 0 .. 4 step 1 {")));
}

TEST(WarpLoops, SumsOfAnotherTypeAreAddedOneByOne) {
  EXPECT_THAT(text_of_warps("%3: i32 = cast %1 for %2: i32 in 0 .. @n step 1 { accumulate atomic @z[%2] += %1 "
                            "accumulate atomic @i[%2] += %3 }"),
              AllOf(HasSubstr("over_lanes @z"), HasSubstr("accumulate atomic @i")));
}

TEST(WarpLoops, ThreadsThatAreApartGoByThemselves) {
  const auto apart = [](const std::string &body, const FactsOfArrays &arrays = apart_in_rows) {
    EXPECT_THAT(text_of_warps(body, arrays), Not(HasSubstr("by_warp"))) << body;
  };
  const std::string sum = "{ accumulate atomic @z[%2] += %1 }";
  apart("for %2: i32 in 0 .. %0 step 1 " + sum);  // threads leave the loop one by one
  apart(
      "local $0: f32[@n] local_store $0[0] = %1 %3: f32 = local_load $0[0] store @z[%0] = %3 "
      "for %2: i32 in 0 .. @n step 1 { accumulate atomic @i[%2] += 1 }");  // a thread may end for want of memory
  const std::string load = "for %2: i32 in 0 .. @n step 1 { %3: f32 = load @x[%2] store @z[%0] = %3 }";
  EXPECT_THAT(text_of_warps(load), HasSubstr("load by_warp"));
  apart(load, FactsOfArrays(8, {.unit_stride = true}));  // a store may change what the warp has loaded
  apart("for %2: i32 in 0 .. @n step 1 { %3: f32 = load @x[@n] store @z[%0] = %3 }");  // one element for all iterations
  apart("for %2: i32 in 0 .. @n step 1 { %4: i32 = add %2, 1 %3: f32 = load @x[%4] store @z[%0] = %3 }");
}

// A row is 8 bytes here; 64 are the most that a thread has.
TEST(WarpLoops, RowsOfAKernelTakeLittleSharedMemory) {
  std::string body = "for %2: i32 in 0 .. @n step 1 { ";
  for (int load = 0; load < 9; ++load)
    body += fmt::format("%{0}: f64 = load @b[%2, {1}] %{2}: f32 = cast %{0} store @z[{1}] = %{2} ", 10 + 2 * load, load,
                        11 + 2 * load);
  const std::string text = text_of_warps(body + "}");
  EXPECT_THAT(text, AllOf(HasSubstr("load by_warp @b[%4, 7]"), HasSubstr("load @b[%4, 8]")));
}

TEST(WarpLoops, NeighboursGoTogetherWhereAllOfThemDo) {
  const std::string text = to_string(with_warp_loops(pairs_of_bodies, apart_in_rows, 2), {.renumber = true});
  const std::size_t rest = text.find("rolled");
  EXPECT_THAT(text.substr(0, rest), HasSubstr("instances 2 by_warp 8 carry"));
  EXPECT_THAT(text.substr(rest), Not(HasSubstr("by_warp")));
}

TEST(WarpLoops, TheResultIsTheSame) {
  test::Arguments arguments;
  arguments.add_array<float>({0, 1, 2, 3}).add_array<int>({}).add_array<float>({1, 2, 4}).add_array<double>({}, {0, 0});
  arguments.add(3);
  EXPECT_EQ(
      test::interpret(with_warp_loops(pairs_of_bodies), {3}, arguments, {.lowered = true}).arguments.elements<float>(0),
      (std::vector<float>{7, 15, 30, 3}));
}

TEST(WarpLoops, NameWhatMustBeTheSameInAWarp) {
  const Kernel kernel = with_warp_loops(
      "%2: i32 = extent @x, 0 %3: i32 = mul @n, 2 for %4: i32 in 0 .. %2 step 1 { %5: i32 = add %4, %3 "
      "accumulate atomic @z[%5] += %1 }");
  for_each_statement(kernel, [](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (loop && loop->threads.by_warp != 0) {
      EXPECT_THAT(same_in_warp(*loop), ElementsAre(2, 3));
    }
  });
}

TEST(WarpLoops, TheVerifierKnowsWhereTheyMayBe) {
  const auto fails = [](const std::string &body) {
    const Kernel kernel = parse_kernel("kernel @k(@x: array<f32, 1>) threads 1 { " + body + " }");
    EXPECT_THROW(verify(kernel, Form::lowered, "the test"), InternalError) << body;
  };
  fails("for.thread %0: i32 in 0 .. 8 step 1 { %1: f32 = load by_warp @x[%0] }");
  fails("for.thread %0: i32 in 0 .. 8 step 1 by_warp 8 { }");
  fails("for.thread %0: i32 in 0 .. 8 step 1 { for %1: i32 in 0 .. 8 step 1 by_warp 33 { } }");
}

}  // namespace
}  // namespace samite::passes
