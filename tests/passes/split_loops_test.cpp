// Which loops of a kernel become kernels of their own.
#include "samite/passes/adjoint/split_loops.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using ::testing::HasSubstr;
using ::testing::Not;

// Two loops that add a product to arrays, and the code between them.
Kernel loops(const std::string &first, const std::string &second, const std::string &between = "") {
  Kernel kernel = parse_kernel(
      "kernel @k(@x: array<const f32, 2>, @y: array<f32, 2>, @z: array<f32, 2>) blocks 1 of 64 { "
      "%0: i32 = thread_index 0 %1: i32 = mul %0, 8 %2: tile<f32, 8, 8> = load @x[%1, 0] "
      "for %3: i32 in 0 .. 4 step 1 { %4: i32 = mul %3, 8 " +
      first + " } " + between + "for %5: i32 in 0 .. 4 step 1 { %6: i32 = mul %5, 8 " + second + " } }");
  verify(kernel, Form::structured, "the test");
  return kernel;
}
const std::string to_y = "%9: tile<f32, 8, 8> = matmul %2, %2, 0.0:tile<f32, 8, 8> accumulate @y[%1, %4] += %9 ";
const std::string to_z = "%10: tile<f32, 8, 8> = matmul %2, %2, 0.0:tile<f32, 8, 8> accumulate @z[%1, %6] += %10 ";

TEST(SplitLoops, EachOfTwoProductsGetsAKernel) {
  const std::vector<Kernel> kernels = split_loops(loops(to_y, to_z));
  ASSERT_EQ(kernels.size(), 2u);
  for (const Kernel &kernel : kernels) verify(kernel, Form::structured, "split_loops");
  EXPECT_THAT(to_string(kernels[0]), HasSubstr("accumulate @y"));
  EXPECT_THAT(to_string(kernels[0]), Not(HasSubstr("accumulate @z")));
  EXPECT_THAT(to_string(kernels[1]), HasSubstr("accumulate @z"));
  EXPECT_THAT(to_string(kernels[1]), Not(HasSubstr("accumulate @y")));
  EXPECT_EQ(kernels[1].name, "k_2");
}

TEST(SplitLoops, WhatElseTheKernelDoesIsDoneOnce) {
  Kernel kernel = loops(to_y, to_z);
  kernel.body.push_back(parse_kernel("kernel @k(@x: array<const f32, 2>, @y: array<f32, 2>, @z: array<f32, 2>, "
                                     "@w: array<f32, 2>) blocks 1 of 64 { store @w[0, 0] = 1.0:tile<f32, 8, 8> }")
                            .body[0]);
  kernel.parameters = parse_kernel(
                          "kernel @k(@x: array<const f32, 2>, @y: array<f32, 2>, @z: array<f32, 2>, "
                          "@w: array<f32, 2>) blocks 1 of 64 { }")
                          .parameters;
  const std::vector<Kernel> kernels = split_loops(kernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_THAT(to_string(kernels[0]), HasSubstr("store @w"));
  EXPECT_THAT(to_string(kernels[1]), Not(HasSubstr("store @w")));
}

TEST(SplitLoops, LoopsThatMeetStayTogether) {
  const struct {
    const char *why;
    Kernel kernel;
  } cases[] = {
      {"both add to one array", loops(to_y,
                                      "%10: tile<f32, 8, 8> = matmul %2, %2, 0.0:tile<f32, 8, 8> "
                                      "accumulate @y[%1, %6] += %10 ")},
      {"one reads what the other writes",
       loops(to_y,
             "%10: tile<f32, 8, 8> = load @y[%1, %6] %11: tile<f32, 8, 8> = matmul %10, %2, "
             "0.0:tile<f32, 8, 8> accumulate @z[%1, %6] += %11 ")},
      {"what is between them writes there", loops(to_y, to_z, "store @z[0, 0] = 1.0:tile<f32, 8, 8> ")},
      {"one multiplies nothing", loops(to_y, "accumulate @z[%1, %6] += %2 ")},
      {"one speaks", loops(to_y, to_z + "print \"here\" ")},
  };
  for (const auto &[why, kernel] : cases) {
    const std::vector<Kernel> kernels = split_loops(kernel);
    ASSERT_EQ(kernels.size(), 1u) << why;
    EXPECT_EQ(to_string(kernels[0]), to_string(kernel)) << why;
  }
}

}  // namespace
}  // namespace samite::passes
