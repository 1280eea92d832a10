// The zeros that replace taken elements, in a loop of their own.
#include "samite/passes/adjoint/split_zero_fills.h"

#include "samite/jit/pipeline.h"
#include "tests/passes/lowered_block.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace samite::passes {
namespace {

using test::product_loops::array;
using test::product_loops::expect_runs_as;
using test::product_loops::lowered;
using test::product_loops::structured;

const FactsOfArrays unaliased_rows(4, {.unit_stride = true, .unaliased = true, .aligned_rows = true});

int exchanges(const ir::Kernel &kernel) {
  return static_cast<int>(std::ranges::count_if(test::all<ir::Let>(kernel),
                                                [](const ir::Let &let) { return let.value.op == ir::Op::Exchange; }));
}

int cleared(const std::string &body, const FactsOfArrays &arrays = unaliased_rows) {
  const ir::Kernel kernel = test::lowered_block(body);
  const int before = exchanges(kernel);
  EXPECT_GT(before, 0);
  const ir::Kernel made = split_zero_fills(kernel, arrays);
  ir::verify(made, ir::Form::lowered, "split_zero_fills");
  return before - exchanges(made);
}

const std::string take = "%1: tile<f32, 16, 32> = exchange @x[%0, @n] ",
                  more = "%2: tile<f32, 16, 32> = exchange @y[%0, 0] ";

TEST(SplitZeroFills, OfAnArrayThatTheLoopOnlyTakes) {
  EXPECT_EQ(cleared(take + "%3: tile<f32, 16, 32> = mul %1, 2.0:tile<f32, 16, 32> store @y[%0, 0] = %3"), 1);
  EXPECT_EQ(cleared(take + more +
                    "%3: tile<f32, 16, 32> = mul %1, %2 %4: tile<f16, 16, 32> = cast %3 "
                    "store @h[0, 0] = %4"),
            2);
}

// A loop as text, with statements on its element %1.
int cleared_in_loop(const std::string &body, const FactsOfArrays &arrays) {
  const ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@x: array<f32, 1>, @y: array<f32, 1>, @n: i32) blocks 1 of 64 { %8: i32 = launch_begin 0 %9: i32 = "
      "launch_end 0 for.block %0: i32 in %8 .. %9 step 1 { for.thread %1: i32 in 0 .. 64 step 1 { " +
      body + " } } }");
  ir::verify(kernel, ir::Form::lowered, "the test");
  return exchanges(kernel) - exchanges(split_zero_fills(kernel, arrays));
}

TEST(SplitZeroFills, NotWhereAnotherArrayOfTheLoopMayShareMemoryWithIt) {
  for (const char *other :
       {"store @y[%1] = %2", "%3: f32 = load @y[%1] %4: f32 = exchange @y[%1]", "accumulate atomic @y[%1] += %2"}) {
    const std::string body = std::string("%2: f32 = exchange @x[%1] ") + other;
    EXPECT_EQ(cleared_in_loop(body, FactsOfArrays(3)), 0) << other;
  }
  EXPECT_EQ(cleared_in_loop("%2: f32 = exchange @x[%1] store @y[%1] = %2", unaliased_rows), 1);
}

TEST(SplitZeroFills, NotOfElementsThatTheLoopAccessesAgainOrFindsByALoad) {
  for (const char *body :
       {"%2: f32 = exchange @x[%1] store @x[%1] = %2", "%2: f32 = exchange @x[%1] %3: f32 = load @x[0]",
        "%2: f32 = load @y[%1] %3: i32 = cast %2 %4: f32 = exchange @x[%3]"})
    EXPECT_EQ(cleared_in_loop(body, unaliased_rows), 0) << body;
  EXPECT_EQ(
      cleared_in_loop("%2: i32 = add %1, @n %3: bool = lt %2, 9 if %3 { %4: f32 = exchange @x[%2] }", unaliased_rows),
      1);
  EXPECT_EQ(
      cleared_in_loop("%3: bool = lt %1, 9 if %3 { %2: i32 = add %1, @n %4: f32 = exchange @x[%2] }", unaliased_rows),
      0);
}

TEST(SplitZeroFills, NotOfAtomicExchanges) {
  EXPECT_EQ(cleared("%1: tile<f32, 16, 32> = exchange atomic @x[%0, 0] store @y[%0, 0] = %1"), 0);
}

// Windows of every place at the edges; threads in three orders, which see a barrier that is missing.
TEST(SplitZeroFills, MatchTheStructuredForm) {
  const std::string body = take + more +
                           "%3: tile<f32, 16, 32> = mul %1, %2 %4: tile<f32, 16, 16> = matmul %3, transposed %1, "
                           "0.0:tile<f32, 16, 16> accumulate atomic @x[0, 0] += %4";
  const std::string text =
      "kernel @k(@x: array<f32, 2>, @y: array<f32, 2>, @h: array<f16, 2>, @n: i32) blocks 1 of 64 "
      "{ %9: i32 = thread_index 0 %0: i32 = mul %9, 16 " +
      body + " }";
  const ir::Kernel planned = jit::plan(lowered(text), {gpu_architecture(90), unaliased_rows});
  EXPECT_EQ(exchanges(planned), 0);
  using Kind = test::ThreadOrder::Kind;
  for (const std::int64_t at : {-3, 0, 5})
    expect_runs_as(planned, structured(text), 3,
                   {array(ScalarType::Float32, 50, 36, 1),
                    array(ScalarType::Float32, 45, 30, 2),
                    array(ScalarType::Float16, 1, 1, 3),
                    {ScalarType::Int32, {}, {{0, 0, at}}}},
                   {0, 1}, {Kind::FirstToLast, Kind::LastToFirst, Kind::Random});
}

}  // namespace
}  // namespace samite::passes
