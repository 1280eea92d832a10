// Which products of an iteration start before the one before them has ended.
#include "samite/passes/sm90/overlap_products.h"

#include "samite/base/error.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/take_turns.h"
#include "tests/passes/product_steps_kernel.h"

namespace samite::passes {
namespace {

using namespace test::product_steps;

TEST(OverlapProducts, ThatFollowEachOtherDirectly) {
  const ir::Kernel plan = steps_planned(kernel_text(with_both));
  const std::vector<ir::WindowProduct> products = steps_of(plan);
  ASSERT_EQ(products.size(), 3u);
  EXPECT_EQ(products[0].runs_into, products[1].result.array);
  EXPECT_FALSE(products[1].runs_into) << "its sums are read before the next product";
  EXPECT_FALSE(products[2].runs_into) << "it is the last one";
  for (const ir::WindowProduct &product : steps_of(steps_planned(kernel_text(steps)))) EXPECT_FALSE(product.runs_into);
}

TEST(OverlapProducts, WhatFollowsMustBeThatProduct) {
  const ir::Kernel plan = steps_planned(kernel_text(with_both));
  std::string text = ir::to_string(plan);
  const std::string other = "runs_into $" + std::to_string(steps_of(plan)[2].result.array);
  text.replace(text.find("runs_into $"), text.find(' ', text.find("runs_into $") + 11) - text.find("runs_into $"),
               other + "\n");
  EXPECT_THROW(ir::verify(ir::parse_kernel(text), ir::Form::lowered, "the test"), InternalError);
}

// A product into the sums of one that has not ended waits for it, and so does a loop that declares no products.
TEST(OverlapProducts, AreDeclaredAndIndependent) {
  const auto overlapping = [](const ir::Kernel &kernel) {
    std::ptrdiff_t count = 0;
    for (const ir::WindowProduct &product : steps_of(overlap_products(kernel))) count += product.runs_into ? 1 : 0;
    return count;
  };
  ir::Kernel plan = steps_planned(kernel_text(with_both));
  plan.body = rewrite(plan.body, [](const ir::Stmt &stmt) -> ir::Stmt {
    const auto *own = stmt.as<ir::WindowProduct>();
    if (!own) return stmt;
    ir::WindowProduct product = *own;
    product.runs_into.reset();
    return {product, stmt.where()};
  });
  EXPECT_EQ(overlapping(plan), 1);
  const auto with = [&](const auto &change) {
    ir::Kernel other = plan;
    other.body = rewrite(plan.body, [&](const ir::Stmt &stmt) -> ir::Stmt {
      const auto *loop = stmt.as<ir::For>();
      if (!loop || loop->products.declared.empty()) return stmt;
      ir::For made = *loop;
      change(made.products.declared);
      return {std::move(made), stmt.where()};
    });
    return other;
  };
  EXPECT_EQ(overlapping(with([](auto &declared) { declared[1].result = declared[0].result; })), 0);
  EXPECT_EQ(overlapping(with([](auto &declared) { declared[1].factors[0].tile = declared[0].result; })), 0);
  EXPECT_EQ(overlapping(with([](auto &declared) { declared.clear(); })), 0);
}

}  // namespace
}  // namespace samite::passes
