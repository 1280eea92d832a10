// Additions of all instances to one element are marked, if their moment cannot be observed.
#include "samite/passes/threads/sum_over_launch.h"

#include "samite/ir/parse.h"
#include "samite/ir/verify.h"
#include "samite/passes/threads/lower_threads.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

bool is_summed(const std::string &body) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@sum: array<f32, 1>, @x: array<const f32, 1>, @n: i32) threads 1 { %0: i32 = thread_index 0 "
      "%1: f32 = load @x[%0] " +
      body + " }");
  ir::verify(kernel, ir::Form::structured, "the test");
  kernel = sum_over_launch(lower_threads(std::move(kernel)));
  ir::verify(kernel, ir::Form::lowered, "sum_over_launch");
  return sums_over_launch(kernel);
}

TEST(SumOverLaunch, OneElementForAllInstances) {
  EXPECT_TRUE(is_summed("accumulate atomic @sum[0] += %1"));
  EXPECT_TRUE(is_summed("accumulate atomic @sum[@n] += %1")) << "a parameter is the same for all";
}

TEST(SumOverLaunch, NotAnElementOfEachInstance) { EXPECT_FALSE(is_summed("accumulate atomic @sum[%0] += %1")); }

TEST(SumOverLaunch, NotIfTheMomentOfAnAdditionCouldBeSeen) {
  EXPECT_FALSE(is_summed("accumulate atomic @sum[0] += %1 %2: f32 = load @sum[1] accumulate atomic @sum[0] += %2"));
  EXPECT_FALSE(is_summed("accumulate atomic @sum[0] += %1 store @sum[%0] = %1"));
}

TEST(SumOverLaunch, NotInTileKernels) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@sum: array<f32, 1>, @x: array<const f32, 1>) blocks 1 of 64 { %0: i32 = thread_index 0 "
      "%1: f32 = load @x[%0] accumulate atomic @sum[0] += %1 }");
  EXPECT_FALSE(sums_over_launch(sum_over_launch(lower_threads(std::move(kernel)))));
}

TEST(SumOverLaunch, NamesTheArraysThatAreOnlyAddedTo) {
  const ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@a: array<f32, 1>, @b: array<f32, 1>, @c: array<f32, 1>) threads 1 { %0: i32 = thread_index 0 "
      "%1: f32 = load @b[%0] accumulate atomic @a[0] += %1 accumulate @c[%0] += %1 }");
  EXPECT_EQ(arrays_only_added_to(kernel), (std::vector<bool>{true, false, false}));
}

}  // namespace
}  // namespace samite::passes
