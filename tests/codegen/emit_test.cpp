// The text itself: it is readable, and its names and options are right.
#include "samite/codegen/emit.h"

#include "samite/base/error.h"
#include "samite/codegen/cpu_lanes.h"
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

EmittedSource emitted(std::string_view text, EmitOptions options = {.arrays = {{true}, {true}, {true}}}) {
  return emit_cpu(jit::plan(passes::lower_threads(ir::parse_kernel(text)),
                            {passes::cpu_architecture(), options.arrays, {.debug = options.debug}}),
                  options);
}

EmitOptions without_comments() {
  EmitOptions options;
  options.comments = false;
  return options;
}

constexpr const char *axpy = R"(kernel @"axpy 2"(@y: array<f32, 1>, @x: array<const f32, 1>, @a: f32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @x[%0] at "/home/user/axpy.cpp":7
  %2: f32 = mul %1, @a at "/home/user/axpy.cpp":7
  %3: f32 = load @y[%0] at "/home/user/axpy.cpp":8
  %4: f32 = add %2, %3 at "/home/user/axpy.cpp":8
  store @y[%0] = %4 at "/home/user/axpy.cpp":8
})";

TEST(Emit, ReadsAsTheKernelDoes) {
  EXPECT_THAT(emitted(axpy).text, HasSubstr(R"(
      // axpy.cpp:7
      const F32 v1 = load(m1, p1.data + v7);
      const F32 v2 = v1 * p2;
      // axpy.cpp:8
      const F32 v3 = load(m1, p0.data + v7);
      const F32 v4 = v2 + v3;
      store(m1, p0.data + v7, v4);
)"));
}

TEST(Emit, TheEntryIsANameThatLinkersTake) {
  EXPECT_EQ(emitted(axpy).entry, "samite_axpy_2");
  EXPECT_THAT(emitted(axpy).text, HasSubstr("extern \"C\" void samite_axpy_2("));
}

TEST(Emit, WithoutCommentsTheTextIsTheSameOnOtherLines) {
  std::string moved = axpy;
  for (std::size_t at = 0; (at = moved.find(":8", at)) != std::string::npos;) moved[at + 1] = '9';
  EXPECT_NE(emitted(axpy).text, emitted(moved).text);
  EXPECT_EQ(emitted(axpy, without_comments()).text, emitted(moved, without_comments()).text);
}

TEST(Emit, ANameCannotBreakOutOfAComment) {
  const EmittedSource source = emitted(R"(kernel @k(@"a\x0a#error": f32) threads 1 {})");
  EXPECT_THAT(source.text, Not(HasSubstr("\n#error")));
}

TEST(Emit, LanesFillARegisterWithTheTypeThatTheKernelComputesWith) {
  auto kernel = [](const char *type) {
    std::string text = "kernel @k(@x: array<T, 1>) threads 1 { %0: i64 = thread_index 0 %1: T = load @x[%0] }";
    for (std::size_t at; (at = text.find('T')) != std::string::npos;) text.replace(at, 1, type);
    return ir::parse_kernel(text);
  };
  EXPECT_EQ(cpu_lanes(kernel("f32"), 64), 16);
  EXPECT_EQ(cpu_lanes(kernel("f64"), 64), 8);
  EXPECT_EQ(cpu_lanes(kernel("i64"), 32), 8);
  EXPECT_EQ(cpu_lanes(kernel("f64"), 16), 2);
}

TEST(Emit, AnArrayWithoutUnitStrideIsGathered) {
  EXPECT_THAT(emitted(axpy, {.arrays = {{true}, {false}}}).text,
              HasSubstr("gather(m1, p1.data + v7 * p1.stride[0], lane_i32 * i32(p1.stride[0]))"));
  EXPECT_THAT(emitted(axpy, {.arrays = {{true}, {false, true}}}).text,
              HasSubstr("gather(m1, p1.data + v7 * p1.stride[0], lane_i64 * p1.stride[0])"));
}

// For types of 32 bits and more, which have the same form in memory as in vectors.
TEST(Emit, EverySecondElementComesFromTwoVectors) {
  const auto halved = [](const std::string &type) {
    return emitted(fmt::format(R"(kernel @k(@x: array<{0}, 1>) threads 1 {{
                                    %0: i32 = thread_index 0
                                    %1: i32 = mul %0, 2
                                    %2: {0} = load @x[%1]
                                  }})",
                               type),
                   {.arrays = {{true}}})
        .text;
  };
  EXPECT_THAT(halved("f32"), HasSubstr("load_every_second(m1, p0.data, v1)"));
  EXPECT_THAT(halved("f16"), HasSubstr("gather(m1, p0.data, v1)"));
}

TEST(Emit, AnElementOfTwoLanesComesFromHalvesOfVectors) {
  const auto doubled = [](const std::string &type) {
    return emitted(fmt::format(R"(kernel @k(@x: array<{0}, 1>) threads 1 {{
                                    %0: i32 = thread_index 0
                                    %1: i32 = shr %0, 1
                                    %2: {0} = load @x[%1]
                                  }})",
                               type),
                   {.arrays = {{true}}})
        .text;
  };
  EXPECT_THAT(doubled("f32"), HasSubstr("load_each_twice(m1, p0.data, v1)"));
  EXPECT_THAT(doubled("f16"), HasSubstr("gather(m1, p0.data, v1)"));
}

// Its lanes are neighbours, except for those at a limit.
TEST(Emit, AClampedIndexLoadsNeighbours) {
  const auto clamped = [](const std::string &type, const std::string &index) {
    return emitted(fmt::format(R"(kernel @k(@x: array<{0}, 1>, @n: i32) threads 1 {{
                                    %0: i32 = thread_index 0
                                    %1: i32 = {1}
                                    %2: i32 = max %1, 0
                                    %3: i32 = min @n, %2
                                    %4: {0} = load @x[%3]
                                  }})",
                               type, index),
                   {.arrays = {{true}}})
        .text;
  };
  EXPECT_THAT(clamped("f32", "sub %0, 3"), HasSubstr("load_clamped(m2, p0.data, v3, i32(v1))"));
  EXPECT_THAT(clamped("f16", "sub %0, 3"), Not(HasSubstr("load_clamped")));
  // A stride of two; a shift by which lanes may wrap around.
  EXPECT_THAT(clamped("f32", "mul %0, 2"), HasSubstr("gather(m1, p0.data, v3)"));
  EXPECT_THAT(clamped("f32", "add %0, @n"), HasSubstr("gather(m1, p0.data, v3)"));
}

// Full vectors have code that leaves at the branch, unless something has been stored by then.
TEST(Emit, AFallbackIsApartFromTheLikelySide) {
  const auto with_fallback = [](int statements, const std::string &before) {
    std::string fallback = "%10: f32 = add %1, 1.0\n";
    for (int k = 11; k < 10 + statements; ++k) fallback += fmt::format("%{}: f32 = mul %{}, %1\n", k, k - 1);
    return emitted(fmt::format(R"(kernel @k(@x: array<f32, 1>) threads 1 {{
                                    %0: i32 = thread_index 0
                                    %1: f32 = load @x[%0]
                                    %2: bool = lt %1, 1.0
                                    {}
                                    if %2 -> (%3: f32 = %4 | %{}) {{ %4: f32 = mul %1, 2.0 }} else {{ {} }}
                                    store @x[%0] = %3
                                  }})",
                               before, 9 + statements, fallback))
        .text;
  };
  const std::string apart = with_fallback(80, "");
  EXPECT_THAT(apart, AllOf(HasSubstr("&& any(m1 & !v2)) return false;"), HasSubstr("__attribute__((noinline))")));
  EXPECT_THAT(with_fallback(20, ""), Not(HasSubstr("return false")));
  EXPECT_THAT(with_fallback(80, "store @x[0] = %1"), Not(HasSubstr("return false")));
}

TEST(Emit, AUniformLoopIsNative) {
  EXPECT_THAT(emitted(R"(kernel @k(@x: array<f32, 1>) threads 1 {
                for %0: i32 in 10 .. 0 step -2 { %1: f32 = load @x[%0] }
              })")
                  .text,
              HasSubstr(R"(
      for (i32 v0 = 10; v0 > 0; v0 += -2) {
        const f32 v1 = p0.data[v0];
      }
)"));
}

// Schedules that unroll have thousands of vectors, each of which would be a loop.
TEST(Emit, AThreadLoopOfOneVectorIsNoLoop) {
  const auto thread_loop = [](int extent) {
    return emitted(fmt::format("kernel @k(@x: array<f32, 1>) blocks 1 of 16 scheduled {{ "
                               "for.thread %1: i32 in 0 .. {} step 1 {{ store @x[%1] = 1.0 }} }}",
                               extent),
                   {.vector_bytes = 64, .arrays = {{true}}})
        .text;
  };
  EXPECT_THAT(thread_loop(16), AllOf(Not(HasSubstr("+= 16")), HasSubstr("const Mask m1 = all_lanes();")));
  EXPECT_THAT(thread_loop(12), AllOf(Not(HasSubstr("+= 16")), HasSubstr("const Mask m1 = first_lanes(12);")));
  EXPECT_THAT(thread_loop(32), HasSubstr("+= 16"));
}

TEST(Emit, AKernelThatIsNotLoweredIsAMistakeOfOurs) {
  EXPECT_THROW(emit_cpu(ir::parse_kernel(axpy), {}), InternalError);
}

}  // namespace
}  // namespace samite::codegen
