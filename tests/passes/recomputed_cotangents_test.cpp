// The adjoints that are split at a computed cotangent, and unchanged ones.
#include "samite/passes/adjoint/recomputed_cotangents.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string loop_of_sums =
    "for %9: i32 in 0 .. %5 step 1 carry (%10 -> %11: tile<f32, 8, 8> = 0.0:tile<f32, 8, 8> then %12) { "
    "%12: tile<f32, 8, 8> = add %10, 1.0:tile<f32, 8, 8> } ";
const std::string taken_window = "%20: tile<f32, 8, 8> = exchange @cg[%2, %3] ";
const std::string times_sums = "%21: tile<f32, 8, 8> = mul %20, %11 ";
const std::string add_window = "accumulate atomic @ag[%2, %7] += %23 ";

// An adjoint that adds its function of %21 in a loop to the windows [i, k] of `@ag`, of 16 bits.
std::optional<GatheredAdjoint> split(const std::string &outside, const std::string &inside) {
  Kernel kernel = parse_kernel(
      "kernel @k(@a: array<const bf16, 2>, @c: array<const f32, 2>, @ag: gradient of @a array<bf16, 2>, @cg: gradient "
      "of @c array<f32, 2>) blocks 2 of 64 { %0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 8 "
      "%3: i32 = mul %1, 8 %4: i32 = extent @a, 1 %5: i32 = div %4, 8 " +
      outside + "for %6: i32 in 0 .. %5 step 1 { %7: i32 = mul %6, 8 " + inside + " } }");
  verify(kernel, Form::structured, "the test");
  auto gathered = gather_recomputed(kernel);
  if (!gathered) return gathered;
  EXPECT_TRUE(gathered->before);
  for (const Kernel *part : {&*gathered->before, &gathered->gather, &gathered->clear})
    verify(*part, Form::structured, "gather_recomputed");
  return gathered;
}

const std::string rounded_first = "%22: tile<bf16, 8, 8> = cast %21 %23: tile<bf16, 8, 8> = mul %22, %22 ";

TEST(RecomputedCotangents, AreInAnArrayOfTheTypeThatTheyAreReadIn) {
  const auto gathered = split(loop_of_sums + taken_window + times_sums, rounded_first + add_window);
  ASSERT_TRUE(gathered);
  EXPECT_THAT(gathered->copies, testing::ElementsAre(CotangentCopy{4, 3, ScalarType::BFloat16}));
  EXPECT_EQ(gathered->before->parameters, gathered->gather.parameters);
  EXPECT_EQ(gathered->before->parameters[4].name, "cg_1");
  EXPECT_EQ(gathered->before->parameters[4].rank, 2);
  const std::string before = to_string(*gathered->before), gather = to_string(gathered->gather);
  EXPECT_THAT(before, testing::AllOf(HasSubstr("exchange"), HasSubstr("store @cg_1[")));
  EXPECT_THAT(before, Not(HasSubstr("@ag[")));
  EXPECT_THAT(gather, testing::AllOf(HasSubstr("load @cg_1["), HasSubstr("@ag["), Not(HasSubstr("atomic"))));
  EXPECT_THAT(gather, testing::AllOf(Not(HasSubstr("@cg[")), HasSubstr("tile<bf16, 8, 8> = load @cg_1[")));
  EXPECT_TRUE(gathered->clear.body.empty());
}

TEST(RecomputedCotangents, AreAsTheyAreWhereNotRoundedAlone) {
  const auto gathered = split(loop_of_sums + taken_window + times_sums,
                              "%22: tile<bf16, 8, 8> = cast %21 %24: tile<f32, 8, 8> = mul %21, %21 "
                              "%25: tile<bf16, 8, 8> = cast %24 %23: tile<bf16, 8, 8> = mul %22, %25 " +
                                  add_window);
  ASSERT_TRUE(gathered);
  EXPECT_THAT(gathered->copies, testing::ElementsAre(CotangentCopy{4, 3, ScalarType::Float32}));
}

// The array would lack the values computed beyond it.
TEST(RecomputedCotangents, AreZeroOutsideOfTheArray) {
  EXPECT_TRUE(split(loop_of_sums + taken_window +
                        "%24: tile<bool, 8, 8> = gt %11, 0.5:tile<f32, 8, 8> %25: tile<f32, 8, 8> = mul %20, %11 "
                        "%26: tile<f32, 8, 8> = select %24, %25, 0.0:tile<f32, 8, 8> "
                        "%21: tile<f32, 8, 8> = add %20, %26 ",
                    rounded_first + add_window));
  EXPECT_FALSE(split(loop_of_sums + taken_window + "%21: tile<f32, 8, 8> = add %20, %11 ", rounded_first + add_window));
  // Elements of the other window may be inside the array where those of the first are outside.
  EXPECT_FALSE(split(
      loop_of_sums + taken_window + "%24: tile<f32, 8, 8> = exchange @cg[%2, 0] %21: tile<f32, 8, 8> = add %20, %24 ",
      rounded_first + add_window));
}

TEST(RecomputedCotangents, LeavesAloneWhatItCannotSplit) {
  // No window of the value's shape is taken; or by an exchange that others may take part in.
  EXPECT_FALSE(split(loop_of_sums + "%20: tile<f32, 4, 8> = exchange @cg[%2, %3] %21: tile<f32, 8, 8> = mul %11, %11 ",
                     rounded_first + add_window));
  EXPECT_FALSE(split(loop_of_sums + "%20: tile<f32, 8, 8> = exchange atomic @cg[%2, %3] " + times_sums,
                     rounded_first + add_window));
  // A window that depends on computed values.
  EXPECT_FALSE(split(loop_of_sums +
                         "%30: f32 = reduce_max %11 %31: i32 = cast %30 "
                         "%20: tile<f32, 8, 8> = exchange @cg[%31, %3] " +
                         times_sums,
                     rounded_first + add_window));
  // The gradient that the loop adds to is taken before it.
  EXPECT_FALSE(split(loop_of_sums + taken_window + times_sums + "%40: tile<bf16, 8, 8> = exchange @ag[%2, %3] ",
                     rounded_first + add_window));
  // The loop needs a computed number, or does more, or adds to a place that cannot be gathered.
  EXPECT_FALSE(split(loop_of_sums + taken_window + times_sums + "%30: f32 = reduce_max %11 %31: bf16 = cast %30 ",
                     rounded_first + "%32: tile<bf16, 8, 8> = broadcast %31 %33: tile<bf16, 8, 8> = mul %23, %32 "
                                     "accumulate atomic @ag[%2, %7] += %33 "));
  EXPECT_FALSE(split(loop_of_sums + taken_window + times_sums, rounded_first + add_window + "store @cg[0, 0] = 1.0 "));
  EXPECT_FALSE(split(loop_of_sums + taken_window + times_sums,
                     rounded_first + add_window + "accumulate atomic @ag[0, 0] += %23 "));
}

}  // namespace
}  // namespace samite::passes
