// Which thread loops run their instances one after another.
#include "samite/passes/threads/scalar_instances.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/threads/lower_threads.h"

#include <gmock/gmock.h>

#include <string>

namespace samite::passes {
namespace {

using namespace ir;
using testing::HasSubstr;
using testing::Not;

std::string as_chosen(const std::string &body) {
  const ir::Kernel structured = parse_kernel(
      "kernel @k(@y: array<f32, 1>, @a: array<const f32, 1>, @x: array<const f32, 1>, @matrix: array<const f32, 2>, "
      "@offsets: array<const i32, 1>, @indices: array<const i32, 1>, @n: i32) threads 1 {\n"
      "  %0: i32 = thread_index 0\n" +
      body + "\n}");
  verify(structured, Form::structured, "the test");
  const ir::Kernel kernel = scalar_instances(lower_threads(structured));
  verify(kernel, Form::lowered, "scalar_instances");
  return to_string(kernel, {.renumber = true});
}

// The sum over an instance's part of `a` of %9, as `term` computes it.
std::string sum_of_row(const std::string &term) {
  return "%1: i32 = add %0, 1\n %2: i32 = load @offsets[%0]\n %3: i32 = load @offsets[%1]\n"
         "for %4: i32 in %2 .. %3 step 1 carry (%5 -> %6: f32 = 0.0 then %10) {\n" +
         term + "\n %10: f32 = add %5, %9 }\n store @y[%0] = %6";
}

const std::string one_after_another = "for.block ", in_vectors = "for.thread ";

TEST(ScalarInstances, RowsOfASparseMatrix) {
  const std::string text = as_chosen(
      sum_of_row("%7: i32 = load @indices[%4] %8: f32 = load @a[%4] %11: f32 = load @x[%7] %9: f32 = mul %8, %11"));
  EXPECT_THAT(text, HasSubstr(one_after_another));
  EXPECT_THAT(text, Not(HasSubstr(in_vectors)));
}

TEST(ScalarInstances, MuchArithmeticStaysInVectors) {
  std::string term = "%7: f32 = load @a[%4] %20: f32 = mul %7, %7";
  for (int i = 21; i < 40; ++i) term += " %" + std::to_string(i) + ": f32 = mul %" + std::to_string(i - 1) + ", %7";
  EXPECT_THAT(as_chosen(sum_of_row(term + " %9: f32 = add %39, 1.0")), HasSubstr(in_vectors));
}

TEST(ScalarInstances, FunctionsStayInVectors) {
  EXPECT_THAT(as_chosen(sum_of_row("%7: i32 = load @indices[%4] %8: f32 = load @x[%7] %9: f32 = exp %8")),
              HasSubstr(in_vectors));
}

TEST(ScalarInstances, LoopsOfOneLengthStayInVectors) {
  EXPECT_THAT(as_chosen("for %1: i32 in 0 .. @n step 1 carry (%2 -> %3: f32 = 0.0 then %6) {\n"
                        "%4: i32 = mul %0, @n %7: i32 = add %4, %1 %8: i32 = load @indices[%7]\n"
                        "%5: f32 = load @x[%8] %6: f32 = add %2, %5 }\n store @y[%0] = %3"),
              HasSubstr(in_vectors));
}

// Lanes are neighbours in a row of the matrix.
TEST(ScalarInstances, NeighboursStayInVectors) {
  EXPECT_THAT(as_chosen("%1: i32 = load @offsets[%0]\n"
                        "for %2: i32 in 0 .. %1 step 1 carry (%3 -> %4: f32 = 0.0 then %6) {\n"
                        "%5: f32 = load @matrix[%2, %0] %6: f32 = add %3, %5 }\n store @y[%0] = %4"),
              HasSubstr(in_vectors));
}

TEST(ScalarInstances, AtomicStepsStayInVectors) {
  EXPECT_THAT(as_chosen("%1: i32 = load @offsets[%0]\n"
                        "for %2: i32 in %1 .. @n step 1 {\n"
                        "%3: i32 = load @indices[%2] %4: f32 = load @x[%3] accumulate atomic @y[%3] += %4 }"),
              HasSubstr(in_vectors));
}

}  // namespace
}  // namespace samite::passes
