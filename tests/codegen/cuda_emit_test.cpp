// The text for CUDA: its names and options.
#include "samite/codegen/emit.h"

#include "samite/base/error.h"
#include "samite/codegen/argument_layout.h"
#include "samite/codegen/prelude.h"
#include "samite/ir/parse.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/threads/lower_threads.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::codegen {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

EmitOptions options(ArrayFacts facts = {.unit_stride = true}) {
  EmitOptions options;
  options.arrays.assign(16, facts);
  return options;
}

EmittedSource emitted_for_cuda(std::string_view text, const EmitOptions &with = options()) {
  return emit_cuda(jit::plan(passes::lower_threads(ir::parse_kernel(text)),
                             {passes::gpu_architecture(90), with.arrays, {.debug = with.debug}}),
                   with);
}

constexpr const char *cuda_axpy = R"(kernel @"axpy 2"(@y: array<f32, 1>, @x: array<const f32, 1>, @a: f32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @x[%0] at "/home/user/axpy.cpp":7
  %2: f32 = mul %1, @a at "/home/user/axpy.cpp":7
  %3: f32 = load @y[%0] at "/home/user/axpy.cpp":8
  %4: f32 = add %2, %3 at "/home/user/axpy.cpp":8
  store @y[%0] = %4 at "/home/user/axpy.cpp":8
})";

TEST(EmitCuda, ReadsAsTheKernelDoes) {
  EXPECT_THAT(emitted_for_cuda(cuda_axpy).text, HasSubstr(R"(
  const u32 at0 = u32(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at0 < u32(v6 - v5)) {
    const i32 v7 = v5 + i32(at0);
    // axpy.cpp:7
    const f32 v1 = p1.data[v7];
    const f32 v2 = v1 * p2;
    // axpy.cpp:8
    const f32 v3 = p0.data[v7];
    const f32 v4 = v2 + v3;
    p0.data[v7] = v4;
  }
)"));
}

TEST(EmitCuda, TheEntryIsAKernel) {
  const EmittedSource source = emitted_for_cuda(cuda_axpy);
  EXPECT_EQ(source.entry, "samite_axpy_2");
  EXPECT_THAT(source.text, HasSubstr(R"(
extern "C" __global__ void __launch_bounds__(256)
samite_axpy_2(const __grid_constant__ Arguments arguments, const __grid_constant__ Box box, Channel *channel,
    const __grid_constant__ Workspace memory) {
)"));
  EXPECT_FALSE(source.uses_channel || source.uses_workspace || source.sums_over_launch);
}

TEST(EmitCuda, AKernelThatMayBeginEarlyWaitsFirst) {
  EmitOptions early = options();
  early.cuda.waits_for_earlier_launch = true;
  EXPECT_THAT(emitted_for_cuda(cuda_axpy, early).text,
              HasSubstr("Workspace memory) {\n  wait_for_earlier_launch();\n"));
  EXPECT_THAT(emitted_for_cuda(cuda_axpy).text, Not(HasSubstr("wait_for")));
}

TEST(EmitCuda, TheBlockSizeIsAnOption) {
  EmitOptions small = options();
  small.cuda.threads_per_block = 128;
  EXPECT_THAT(emitted_for_cuda(cuda_axpy, small).text, HasSubstr("__launch_bounds__(128)"));
}

TEST(EmitCuda, TheGridStrideFormGoesOnToFurtherInstances) {
  EmitOptions strided = options();
  strided.cuda.grid_stride = true;
  EXPECT_THAT(emitted_for_cuda(cuda_axpy, strided).text,
              HasSubstr("for (i64 at0 = i64(blockIdx.x) * blockDim.x + threadIdx.x; at0 < (i64(v6) - v5); "
                        "at0 += i64(gridDim.x) * blockDim.x) {"));
}

TEST(EmitCuda, OnlyWhatNothingWritesIsLoadedAsConstant) {
  const std::string text = emitted_for_cuda(cuda_axpy, options({.unit_stride = true, .unaliased = true})).text;
  EXPECT_THAT(text, AllOf(HasSubstr("v1 = load_constant(&p1.data[v7]);"), HasSubstr("v3 = p0.data[v7];")));
}

TEST(EmitCuda, OffsetsAreIn32BitsUnlessTheArrayNeeds64) {
  constexpr const char *transpose = R"(kernel @t(@a: array<f32, 2>, @b: array<f32, 2>) threads 2 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    %2: f32 = load @b[%1, %0]
    store @a[%0, %1] = %2
  })";
  EXPECT_THAT(emitted_for_cuda(transpose).text, HasSubstr("p1.data[v8 * i32(p1.stride[0]) + v5]"));
  EXPECT_THAT(emitted_for_cuda(transpose, options({.unit_stride = true, .wide_index = true})).text,
              HasSubstr("p1.data[i64(v8) * p1.stride[0] + i64(v5)]"));
  EXPECT_THAT(emitted_for_cuda(transpose, options({})).text,
              HasSubstr("p1.data[v8 * i32(p1.stride[0]) + v5 * i32(p1.stride[1])]"));
}

TEST(EmitCuda, IntegersWrapRoundUnlessTheyOnlyIndex) {
  const std::string text = emitted_for_cuda(R"(kernel @k(@a: array<i32, 1>, @n: i32) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = mul %0, @n
    %2: i32 = load @a[%1]
    %3: i32 = mul %2, @n
    %4: i32 = add %3, 1
    %5: i32 = load @a[%4]
    %6: i32 = add %4, %5
    store @a[%0] = %6
  })")
                               .text;
  EXPECT_THAT(text, HasSubstr("v1 = v9 * p1;"));
  EXPECT_THAT(text, HasSubstr("v3 = wrapping_mul(v2, p1);"));
  EXPECT_THAT(text, HasSubstr("v4 = wrapping_add(v3, 1);"));
  EXPECT_THAT(text, HasSubstr("p0.data[(v3 + 1)]"));
}

TEST(EmitCuda, ASumOverTheLaunchIsAddedByBlocks) {
  constexpr const char *sum = R"(kernel @sum(@total: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    accumulate atomic @total[0] += %1
  })";
  const EmittedSource source = emitted_for_cuda(sum);
  EXPECT_TRUE(source.sums_over_launch);
  EXPECT_THAT(source.text, AllOf(HasSubstr("sum0 = sum_of(sum0, v1);"), HasSubstr("if (any_of_block(sum0_used)) {"),
                                 HasSubstr("add_sum_of_block<f32>(&p0.data[0], sum0);")));
}

TEST(EmitCuda, LargeLocalArraysAreInTheWorkspace) {
  const auto with_array_of = [](const char *size) {
    return emitted_for_cuda(std::string("kernel @k(@a: array<f32, 1>, @n: i32) threads 1 {\n"
                                        "  %0: i32 = thread_index 0\n  local $0: f32[") +
                            size +
                            "]\n  local_store $0[%0] = 1.0\n  %1: f32 = local_load $0[%0]\n  store @a[%0] = %1\n}");
  };
  EXPECT_THAT(with_array_of("256").text, HasSubstr("f32 a0[256];"));
  EXPECT_FALSE(with_array_of("256").uses_workspace);
  for (const char *size : {"257", "@n"}) {
    const EmittedSource source = with_array_of(size);
    EXPECT_TRUE(source.uses_workspace && source.uses_channel);
    EXPECT_THAT(source.text, HasSubstr("const auto a0 = allocate<f32>(workspace, failure, "));
  }
}

TEST(EmitCuda, ArgumentsThatDoNotFitAreRefused) {
  std::string parameters, uses;
  for (int i = 0; i < 56; ++i) parameters += fmt::format("{}@a{}: array<f32, 4>", i ? ", " : "", i);
  const ir::Kernel kernel = ir::parse_kernel("kernel @many(" + parameters + ") threads 1 {}");
  ASSERT_EQ(argument_layout(kernel.parameters).bytes, 56u * 72);
  try {
    emit_cuda(passes::lower_threads(kernel), {});
    FAIL() << "4,032 bytes of arguments, and 88 more, were taken";
  } catch (const UserError &error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("kernel 'many'"), HasSubstr("56 arguments take 4032 bytes"),
                                    HasSubstr("may take 4008"), HasSubstr("Pass fewer arrays")));
  }
}

TEST(EmitCuda, ThePreludeIncludesNothing) {
  EXPECT_THAT(cuda_prelude("load_constant"), AllOf(Not(HasSubstr("#include")), HasSubstr("__ldg")));
  EXPECT_THAT(cuda_prelude_with("// nothing\n"), AllOf(Not(HasSubstr("__ldg")), HasSubstr("// nothing")));
}

}  // namespace
}  // namespace samite::codegen
