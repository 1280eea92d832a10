// Additions of all lanes to one element in each iteration of a loop: which are put off.
#include "samite/passes/threads/sum_over_lanes.h"

#include "samite/base/error.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/threads/sum_over_launch.h"
#include "tests/passes/interpreter.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using testing::HasSubstr;
using testing::Not;

Kernel with_sums_put_off(const std::string &body) {
  const Kernel structured = parse_kernel(
      "kernel @k(@z: array<f32, 1>, @half: array<f16, 1>, @x: array<const f32, 1>, @n: i32) threads 1 {\n"
      "  %0: i32 = thread_index 0\n  %1: f32 = load @x[%0]\n" +
      body + "\n}");
  verify(structured, Form::structured, "the test");
  Kernel kernel = sum_over_lanes(lower_threads(structured));
  verify(kernel, Form::lowered, "sum_over_lanes");
  const std::string text = to_string(kernel);
  EXPECT_EQ(to_string(parse_kernel(text)), text);
  return kernel;
}

std::string text_put_off(const std::string &body) { return to_string(with_sums_put_off(body), {.renumber = true}); }

const std::string sum_of_pairs = "for %2: i32 in 0 .. @n step 1 { accumulate atomic @z[%2] += %1 }";

TEST(SumOverLanes, ElementsThatMoveWithTheLoopAreMarked) {
  EXPECT_THAT(text_put_off(sum_of_pairs), HasSubstr("for %4: i32 in 0 .. @n step 1 {\n"
                                                    "      accumulate atomic over_lanes @z[%4] += %3\n"));
  EXPECT_THAT(text_put_off("for %2: i32 in @n .. 0 step -2 { %3: i32 = add %2, @n accumulate atomic @z[%3] += %1 }"),
              HasSubstr("over_lanes @z[%5] +="));
}

TEST(SumOverLanes, OthersAreNot) {
  const auto is_not = [](const std::string &body) {
    EXPECT_THAT(text_put_off(body), Not(HasSubstr("over_lanes"))) << body;
  };
  is_not("for %2: i32 in 0 .. @n step 1 { accumulate atomic @z[@n] += %1 }");  // one element, in every iteration
  is_not("for %2: i32 in 0 .. @n step 1 { %3: i32 = add %2, %0 accumulate atomic @z[%3] += %1 }");  // one for each lane
  is_not("for %2: i32 in 0 .. @n step 1 { accumulate atomic @z[%2] += 1.0 }");  // the lanes can be counted
  is_not("for %2: i32 in 0 .. @n step @n { accumulate atomic @z[%2] += %1 }");  // by an unknown step
  is_not("for %2: i32 in 0 .. %0 step 1 { accumulate atomic @z[%2] += %1 }");   // lanes leave the loop one by one
  is_not("for %2: i32 in %0 .. @n step 1 { accumulate atomic @z[%2] += %1 }");  // lanes join it one by one
  is_not("for %2: i32 in 0 .. @n step 1 { %3: f16 = cast %1 accumulate atomic @half[%2] += %3 }");
  is_not("%3: f32 = load @z[%0] " + sum_of_pairs);  // the order could be told
  is_not("%3: bool = gt %1, 0.0 for %2: i32 in 0 .. @n step 1 { if %3 { accumulate atomic @z[%2] += %1 } }");
}

// A sum that a loop keeps in a local while it runs.
TEST(SumOverLanes, ALoopKeepsTheSumsOfElementsThatStay) {
  const auto kept = [](const std::string &body) {
    const Kernel kernel =
        lower_threads(parse_kernel("kernel @k(@z: array<f32, 1>, @n: i32) threads 1 {\n"
                                   "  %0: i32 = thread_index 0\n" +
                                   body + "\n}"));
    const std::vector<KeptSum> sums =
        sums_kept_by(*kernel.body.back().as<For>(), uniformity(kernel), arrays_only_added_to(kernel));
    std::vector<std::string> indices;
    for (const KeptSum &sum : sums) indices.push_back(to_string(sum.first->indices[0], kernel.parameters));
    return indices;
  };
  const std::string add = "accumulate atomic @z[@n] += 1.0 ";
  EXPECT_THAT(kept(add + "accumulate atomic @z[3] += 2.0 " + add), testing::ElementsAre("@n", "3"));
  EXPECT_THAT(kept("accumulate atomic @z[%0] += 1.0"), testing::IsEmpty()) << "one for each lane";
  EXPECT_THAT(kept("%1: i32 = add @n, 1 accumulate atomic @z[%1] += 1.0"), testing::IsEmpty())
      << "known inside of the loop alone";
  EXPECT_THAT(kept("%1: f32 = load @z[0] " + add), testing::IsEmpty()) << "the order could be told";
}

TEST(SumOverLanes, TheResultIsTheSame) {
  test::Arguments arguments;
  arguments.add_array<float>({0, 1, 2, 3}).add_array<float>({}).add_array<float>({1, 2, 4}).add(3);
  EXPECT_EQ(
      test::interpret(with_sums_put_off(sum_of_pairs), {3}, arguments, {.lowered = true}).arguments.elements<float>(0),
      (std::vector<float>{7, 8, 9, 3}));
}

TEST(SumOverLanes, TheVerifierKnowsWhereTheyMayBe) {
  const auto fails = [](const std::string &body) {
    const Kernel kernel = parse_kernel("kernel @k(@z: array<f32, 1>) threads 1 { " + body + " }");
    EXPECT_THROW(verify(kernel, Form::lowered, "the test"), InternalError) << body;
  };
  fails("for.thread %0: i32 in 0 .. 8 step 1 { for %1: i32 in 0 .. 8 step 1 { accumulate over_lanes @z[%1] += 1.0 } }");
  fails("accumulate atomic over_lanes @z[0] += 1.0");
}

}  // namespace
}  // namespace samite::passes
