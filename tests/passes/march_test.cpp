// Threads that march along the first of three dimensions: the kernels that gain, with unchanged results.
#include "samite/passes/threads/march.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/analysis/architecture.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/sum_over_launch.h"
#include "tests/passes/interpreter.h"
#include "tests/passes/marching_stencil.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using testing::HasSubstr;

Kernel marching(const std::string &text) {
  const Kernel placed = place_arrays(lower_threads(parse_kernel(text)), gpu_architecture(90));
  Kernel kernel = march(sum_over_launch(placed));
  verify(kernel, Form::lowered, "march");
  const std::string printed = to_string(kernel);
  EXPECT_EQ(to_string(parse_kernel(printed)), printed);
  return kernel;
}

std::string stencil_with(const std::string &what, const std::string &instead) {
  std::string text = test::marching_stencil;
  text.insert(text.find(") threads"), ", @sum: array<f32, 1>, @n: i32");
  return text.replace(text.find(what), what.size(), instead);
}

TEST(March, TheLoopOverTheFirstOfThreeDimensionsSaysSo) {
  const Kernel kernel = marching(test::marching_stencil);
  EXPECT_EQ(marched(kernel), 5);
  EXPECT_THAT(to_string(kernel, {.renumber = true}), HasSubstr("for.block %6: i32 in %0 .. %1 step 1 march 5 {\n"
                                                               "    for.block %7: i32 in %2 .. %3 step 1 {\n"));
}

TEST(March, WhatIsReadOnceAlongTheFirstGainsNothing) {
  EXPECT_EQ(marched(marching(stencil_with("add %0, 1", "add %1, 1"))), 1) << "no neighbour along the first";
  EXPECT_EQ(marched(marching(stencil_with("load @x[%3, %1, %2]", "load @x[%0, %3, %2]"))), 1)
      << "the index of another dimension";
  EXPECT_EQ(marched(marching(stencil_with("add %0, 1", "mul %0, 2"))), 1) << "no constant distance";
}

// In the grid-stride form a thread goes on to further instances anyway.
TEST(March, KernelsInWhichThreadsGoOnDoNotMarch) {
  EXPECT_EQ(marched(marching(stencil_with("store @y", "accumulate atomic @sum[0] += %6 store @y"))), 1);
  EXPECT_EQ(marched(marching(stencil_with("store @y",
                                          "local $0: f32[@n] local_store $0[0] = %6 "
                                          "%7: f32 = local_load $0[0] store @y[%0, %1, %2] = %7 store @y"))),
            1);
}

TEST(March, TheResultIsTheSame) {
  test::Arguments arguments;
  std::vector<float> x(4 * 2 * 3), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 17);
  arguments.add_array(y, {4, 2, 3}).add_array(x, {4, 2, 3});
  EXPECT_EQ(test::interpret(marching(test::marching_stencil), {3, 2, 3}, arguments, {.lowered = true})
                .arguments.elements<float>(0),
            test::interpret(parse_kernel(test::marching_stencil), {3, 2, 3}, arguments).arguments.elements<float>(0));
}

TEST(March, LaunchesOutgrowCachesByTheNumberOfInstances) {
  EXPECT_FALSE(outgrows_caches(std::vector<std::int64_t>{64, 64, 64}));
  EXPECT_TRUE(outgrows_caches(std::vector<std::int64_t>{512, 512, 512}));
}

}  // namespace
}  // namespace samite::passes
