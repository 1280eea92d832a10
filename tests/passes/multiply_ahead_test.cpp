// Loops of products of f64 whose factors threads prefetch: the loops that become one call, with unchanged results.
#include "samite/passes/tiles/multiply_ahead.h"

#include "samite/jit/pipeline.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_loops;

using ::testing::HasSubstr;

constexpr ArrayFacts of_whole_units{.unit_stride = true, .unaliased = true, .aligned_rows = true};

ProductShape of_doubles(ProductShape shape) {
  shape.type = shape.sums = "f64";
  return shape;
}
std::string text_of(const ProductShape &shape, const std::string &body = "", const std::string &loads = "") {
  std::string text = kernel_text(shape, body, loads);
  const std::string zero = " = 0:tile<f64";  // an integer for sums of other types than f32
  for (std::size_t at; (at = text.find(zero)) != std::string::npos;) text.replace(at, zero.size(), " = 0.0:tile<f64");
  return text;
}
ir::Kernel plan_of_doubles(const std::string &text, int capability = 90) {
  ir::Kernel plan =
      jit::plan(test::product_loops::lowered(text), {gpu_architecture(capability), FactsOfArrays(5, of_whole_units)});
  ir::verify(plan, ir::Form::lowered, "plan");
  return plan;
}
std::vector<ir::MainLoop> loops_of(const ir::Kernel &plan) { return test::all<ir::MainLoop>(plan); }
std::size_t loops_of(const ProductShape &shape) { return loops_of(plan_of_doubles(text_of(shape))).size(); }

TEST(MultiplyAhead, OneCallWithARingForEachFactor) {
  const ir::Kernel plan = plan_of_doubles(text_of(of_doubles({.rows = 64, .columns = 128, .inner = 16})));
  const auto loops = loops_of(plan);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].factors[0].columns, 16);
  EXPECT_EQ(loops[0].factors[1].rows, 16);
  EXPECT_TRUE(loops[0].factors[0].in_units && loops[0].factors[1].in_units);
  EXPECT_THAT(test::memory(plan), HasSubstr("stages 3"));
  EXPECT_TRUE(test::all<ir::LoadStream>(plan).empty());
  EXPECT_EQ(plan_tile_memory(plan).bytes, 3 * (64 + 128) * 16 * 8);
  EXPECT_EQ(to_string(ir::parse_kernel(to_string(plan))), to_string(plan));
}

TEST(MultiplyAhead, OnEveryGpuWithSuchTensorCores) {
  const std::string text = text_of(of_doubles({.rows = 64, .columns = 64, .inner = 16}));
  EXPECT_EQ(loops_of(plan_of_doubles(text, 80)).size(), 1u);
  EXPECT_EQ(loops_of(plan_of_doubles(text, 100)).size(), 1u);
}

TEST(MultiplyAhead, OtherLoopsStay) {
  const ProductShape shape = of_doubles({.rows = 64, .columns = 64, .inner = 16});
  EXPECT_EQ(loops_of(shape), 1u);
  ProductShape other = shape;
  other.stages = 2;
  EXPECT_EQ(loops_of(other), 0u) << "copies would start too late";
  other = shape, other.inner = 12;
  EXPECT_EQ(loops_of(other), 0u) << "not whole steps of the tensor cores";
  other = shape, other.inner = 24;
  EXPECT_EQ(loops_of(other), 1u);
  other = shape, other.rows = 128, other.columns = 128;
  EXPECT_EQ(loops_of(other), 0u) << "128 sums of 8 bytes leave no registers";
  other.threads = 256;
  EXPECT_EQ(loops_of(other), 1u);
  other.threads = 512;
  EXPECT_EQ(loops_of(other), 0u) << "512 threads have 128 registers each";
  other = shape, other.halved = true;
  EXPECT_EQ(loops_of(other), 0u) << "each product is multiplied before it is added";
  other = shape, other.limited = true;
  EXPECT_EQ(loops_of(other), 0u) << "windows are masked before they are multiplied";
  EXPECT_EQ(loops_of(plan_of_doubles(text_of(shape, "%9: f64 = load @a[%7, 0] store @c[%7, 1] = %9"))).size(), 0u);
  std::string text = text_of(shape);
  text.replace(text.find("%7: i32 = mul %1, 16"), 20, "%7: i32 = mul %1, %1");
  EXPECT_EQ(loops_of(plan_of_doubles(text)).size(), 0u) << "windows are at no one distance";
  text = text_of(shape);
  text.replace(text.find("128 { %0"), 3, "128 shared");
  EXPECT_EQ(loops_of(plan_of_doubles(text)).size(), 0u) << "sums are in shared memory";
}

TEST(MultiplyAhead, NoProductOfATileWithItself) {
  ProductShape shape = of_doubles({.rows = 16, .columns = 16, .inner = 16});
  std::string text = text_of(shape);
  const std::size_t at = text.find("matmul %3, %4");
  text.replace(at, 13, "matmul %3, %3");
  EXPECT_EQ(loops_of(plan_of_doubles(text)).size(), 0u);
}

void expect_same_products(const ProductShape &s, std::int64_t terms, std::int64_t n, std::int64_t at) {
  SCOPED_TRACE(testing::PrintToString(s));
  const std::string text = text_of(s);
  const ir::Kernel plan = plan_of_doubles(text);
  ASSERT_EQ(loops_of(plan).size(), 1u);
  test::product_loops::expect_as_structured(s, plan, text, terms, n, at);
}

// Windows that reach beyond the edges on all sides; no step, one, fewer than stages, more.
TEST(MultiplyAhead, DoesWhatTheStructuredFormDoes) {
  const ProductShape shape = of_doubles({.rows = 32, .columns = 32, .inner = 16});
  for (const int steps : {0, 1, 2, 3, 5}) expect_same_products(shape, 70, steps, 0);
  expect_same_products(shape, 60, 2, -1);
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      ProductShape other = of_doubles({.rows = 48, .columns = 16, .inner = 8, .a_transposed = a, .b_transposed = b});
      other.stages = 4, other.threads = 64;
      expect_same_products(other, 41, 6, 1);
    }
}

}  // namespace
}  // namespace samite::passes
