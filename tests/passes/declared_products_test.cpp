// lower_tiles' declarations of a loop's products. Products with masked factors: those that become loops with a number
// of terms compute the same.
#include "samite/passes/tiles/declared_products.h"

#include "samite/jit/pipeline.h"
#include "samite/passes/sm90/product_loops.h"
#include "tests/passes/product_steps_kernel.h"
#include "tests/passes/stage_steps_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_loops;

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

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

// The loops of a lowered kernel that declare products, as text with `$` for each tile and `%` for each value.
std::string declared(const std::string &text, const Architecture &architecture = gpu_architecture(90)) {
  const ir::Kernel kernel = lower_tiles(structured(text), architecture);
  ir::verify(kernel, ir::Form::lowered, "lower_tiles");
  std::string loops;
  for (const ir::For &loop : test::all<ir::For>(kernel)) {
    if (loop.products.declared.empty()) continue;
    const std::string own = ir::to_string(ir::Stmt(loop, {}), kernel.parameters);
    const std::size_t begin = own.find("products");
    for (const char c : own.substr(begin, own.find(')', begin) + 1 - begin))
      if (c < '0' || c > '9') loops += c;
  }
  return loops;
}

TEST(DeclaredProducts, OfALoopThatOnlyMultiplies) {
  for (const char *type : {"f16", "f64"})
    for (const int stages : {1, 3}) {
      ProductShape shape{.rows = 64, .columns = 64, .inner = 16, .stages = stages, .type = type};
      EXPECT_EQ(declared(kernel_text(shape)), "products ($ += $ window, $ window)") << type;
      shape.a_transposed = shape.b_transposed = true;
      EXPECT_EQ(declared(kernel_text(shape)), "products ($ += $ window, $ window)") << type;
    }
  EXPECT_EQ(declared(kernel_text({.rows = 64, .columns = 64, .inner = 16}), cpu_architecture()), "")
      << "whose loads are loops over elements";
}

TEST(DeclaredProducts, OfALoopThatDoesMore) {
  const ProductShape shape{.rows = 64, .columns = 64, .inner = 64};
  ProductShape halved = shape;
  halved.halved = true;
  EXPECT_EQ(declared(kernel_text(halved)), "products and_more ($ = $ window, $ window)") << "its sums begin with zeros";
  EXPECT_EQ(declared(kernel_text(shape, "%60: f16 = load @a[%7, 0] store @c[%7, 1] = 1.0")),
            "products and_more ($ += $ window, $ window)");
  EXPECT_EQ(declared(kernel_text(shape, "store @c[0, 0] = 1.0", "%60: i32 = mul %7, 2")),
            "products and_more ($ += $ window, $ window)");
  std::string text = kernel_text(shape);
  text.replace(text.find("matmul %3, %4"), 13, "matmul %3, %3");
  EXPECT_THAT(declared(text), ContainsRegex("products and_more \\(\\$ \\+= \\$ window shared, \\$ window shared\\)"));
}

// Nothing else uses a window that several products share at the same place.
TEST(DeclaredProducts, OfSeveralProducts) {
  EXPECT_EQ(declared(test::product_steps::kernel_text({.queries = 128, .keys = 64, .size = 64})),
            "products and_more ($ = $, $ window and $ += $, $ window)");
  EXPECT_EQ(declared(test::stage_steps::kernel_text({.rows = 128, .columns = 64, .inner = 64})),
            "products and_more ($ = $ window, $ window and $ = $ window, $ window)");
}

TEST(DeclaredProducts, OfMaskedWindows) {
  const ProductShape shape{.rows = 128, .columns = 64, .inner = 64, .threads = 256, .limited = true};
  const std::string text = kernel_text(shape);
  EXPECT_EQ(declared(text), "products ($ += $ window $ terms %, $ window $ terms %)");
  EXPECT_EQ(declared(replaced(text, "matmul %43, %44", "matmul %3, %44")),
            "products and_more ($ += $, $ window $ terms %)")
      << "a mask that is left over is computed with the load, element by element";
  EXPECT_THAT(declared(replaced(text, "= coordinate 1", "= coordinate 0")),
              Not(HasSubstr("terms %, $ window $ terms")));
}

TEST(DeclaredProducts, AreALimitOfTerms) {
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
TEST(DeclaredProducts, DoWhatTheStructuredFormDoes) {
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
TEST(DeclaredProducts, WhereThreadsHaveRoles) {
  const ProductShape large{.rows = 128, .columns = 256, .inner = 64, .threads = 256, .limited = true};
  const std::string text = kernel_text(large);
  const ir::Kernel plan = plan_of(text);
  EXPECT_EQ(plan.roles.producers, 128);
  EXPECT_EQ(limits_of(plan), 1u);
  for (const std::int64_t limit : {0, 1, 130}) expect_as_structured(large, plan, text, 200, 3, 0, limit);
}

TEST(DeclaredProducts, OthersAreNoLimit) {
  const std::string text = kernel_text(masked_shape);
  EXPECT_EQ(why_not_whole(text), "");
  const auto expect_none = [](const std::string &other) {
    EXPECT_NE(why_not_whole(other), "");
    EXPECT_EQ(limits_of(plan_of(other)), 0u);
  };
  // With only one masked factor, the other one's terms there would be multiplied by zeros, and infinity times zero is
  // NaN.
  expect_none(replaced(text, "matmul %43, %44", "matmul %3, %44"));
  expect_none(replaced(text, "matmul %43, %44", "matmul %43, %4"));
  // Along the rows of a, and up to another number.
  expect_none(replaced(text, "= coordinate 1", "= coordinate 0"));
  expect_none(replaced(text, "= broadcast %50", "= broadcast %7"));
  // The limit must decrease by the terms of a step.
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
