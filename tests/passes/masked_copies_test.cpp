// Products whose factors are masked: which of them are loops with a number of terms, and that they compute the same.
#include "samite/passes/tiles/masked_copies.h"

#include "samite/jit/pipeline.h"
#include "samite/passes/sm90/product_loops.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_loops;

using ::testing::HasSubstr;

std::string why_not_whole(const std::string &text) {
  const std::vector<WayOfProduct> ways = ways_of_products(passes::product_loops(
      test::product_loops::lowered(text), gpu_architecture(90), FactsOfArrays(6, good), {.steps = false}));
  return ways.size() == 1 ? ways[0].why_not : "no product";
}

ir::Kernel plan_of(const std::string &text) {
  return jit::plan(test::product_loops::lowered(text), {gpu_architecture(90), FactsOfArrays(6, good)});
}

// The limits of the kernel's loops of products that have one.
std::size_t limits_of(const ir::Kernel &kernel) {
  std::size_t count = 0;
  for (const ir::MainLoop &loop : test::all<ir::MainLoop>(kernel)) count += loop.terms ? 1 : 0;
  return count;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

const ProductShape masked_shape{.rows = 128, .columns = 64, .inner = 64, .threads = 256, .limited = true};

TEST(MaskedCopies, AreALimitOfTerms) {
  const ir::Kernel kernel = plan_of(kernel_text(masked_shape));
  EXPECT_EQ(limits_of(kernel), 1u);
  const std::string text = ir::to_string(kernel);
  EXPECT_THAT(text, HasSubstr(" terms "));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
  ir::verify(ir::parse_kernel(text), ir::Form::lowered, "the test");
  EXPECT_EQ(test::all<ir::LocalStore>(kernel).size(), 1u) << "of the sums, which begin as zeros";
  EXPECT_EQ(limits_of(plan_of(kernel_text({.rows = 64, .columns = 64, .inner = 64}))), 0u);
}

// No term, a few, all of some steps, all of all, and more than there are.
TEST(MaskedCopies, DoWhatTheStructuredFormDoes) {
  const auto expect = [](const ProductShape &s, std::int64_t limit, std::int64_t steps = 3) {
    SCOPED_TRACE(testing::PrintToString(s) + ", terms " + std::to_string(limit));
    const std::string text = kernel_text(s);
    const ir::Kernel plan = plan_of(text);
    ASSERT_EQ(limits_of(plan), 1u);
    expect_as_structured(s, plan, text, 200, steps, 0, limit);
  };
  for (const std::int64_t limit : {-70, 0, 1, 63, 64, 65, 127, 191, 192, 500})
    expect({.rows = 64, .columns = 64, .inner = 64, .limited = true}, limit);
  for (const std::int64_t limit : {1, 100})
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        expect({.rows = 128,
                .columns = 64,
                .inner = 64,
                .a_transposed = a,
                .b_transposed = b,
                .threads = 256,
                .type = "bf16",
                .limited = true},
               limit, 2);
  ProductShape other{.rows = 64, .columns = 16, .inner = 32, .b_transposed = true, .type = "f32", .tf32 = true};
  other.limited = true;
  expect(other, 45);
  other.b_transposed = false, other.columns = 64;
  expect(other, 45);
  other = {.rows = 64, .columns = 16, .inner = 128, .b_transposed = true, .type = "f8e4m3"};
  other.limited = true;
  expect(other, 133);
}

// The producers' part knows nothing of the limit.
TEST(MaskedCopies, WhereThreadsHaveRoles) {
  const ProductShape large{.rows = 128, .columns = 256, .inner = 64, .threads = 256, .limited = true};
  const std::string text = kernel_text(large);
  const ir::Kernel plan = plan_of(text);
  EXPECT_EQ(plan.producers, 128);
  EXPECT_EQ(limits_of(plan), 1u);
  for (const std::int64_t limit : {0, 1, 130}) expect_as_structured(large, plan, text, 200, 3, 0, limit);
}

TEST(MaskedCopies, OthersAreNoLimit) {
  const std::string text = kernel_text(masked_shape);
  EXPECT_EQ(why_not_whole(text), "");
  const auto expect_none = [](const std::string &other) {
    EXPECT_NE(why_not_whole(other), "");
    EXPECT_EQ(limits_of(plan_of(other)), 0u);
  };
  // One factor alone: what the other one has there is multiplied by zeros, which of infinity is no number.
  expect_none(replaced(text, "matmul %43, %44", "matmul %3, %44"));
  expect_none(replaced(text, "matmul %43, %44", "matmul %43, %4"));
  // Along the rows of a, and up to another number.
  expect_none(replaced(text, "= coordinate 1", "= coordinate 0"));
  expect_none(replaced(text, "= broadcast %50", "= broadcast %7"));
  // The limit must come nearer by the terms of a step.
  expect_none(replaced(text, "sub @terms, %7", "sub @terms, %1"));
  expect_none(replaced(text, "sub @terms, %7", "add @terms, 0"));
  // Other comparisons, and other numbers than zero.
  expect_none(replaced(text, "lt %23, %53", "lt %53, %23"));
  expect_none(replaced(text, "select %33, %3, 0.0", "select %33, %3, 1.0"));
  expect_none(replaced(text, "select %33, %3, 0.0", "select %33, %3, -0.0"));
  // A factor that something else reads, before it is masked or after.
  for (const char *factor : {"%3", "%43"})
    expect_none(
        kernel_text(masked_shape, std::string("%60: tile<f32, 128, 64> = cast ") + factor + " store @c[0, 0] = %60"));
}

}  // namespace
}  // namespace samite::passes
