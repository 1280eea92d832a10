// The loops in which warp groups alternate, and the places at which each group takes and gives its turn.
#include "samite/passes/sm90/take_turns.h"

#include "samite/base/error.h"
#include "samite/passes/simplify/rewrite.h"
#include "tests/passes/product_steps_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_steps;
using test::product_loops::lowered;
using ::testing::HasSubstr;

TEST(TakeTurns, AroundWhatLiesBetweenTheLastTwoProducts) {
  const ir::Kernel plan = steps_planned(kernel_text(steps));
  EXPECT_EQ(groups_in_turns(plan), 2);
  const std::vector<ir::WindowProduct> products = steps_of(plan);
  ASSERT_EQ(products.size(), 2u);
  EXPECT_TRUE(products[0].gives_turn && !products[0].takes_turn);
  EXPECT_TRUE(products[1].takes_turn && !products[1].gives_turn);
  EXPECT_THAT(ir::to_string(plan), HasSubstr("in_turns"));
}

TEST(TakeTurns, NotWithOtherLoopsOrFewerGroups) {
  EXPECT_EQ(groups_in_turns(steps_planned(kernel_text(with_both))), 0) << "there are three products";
  const StepShape one_group{.queries = 64, .keys = 64, .size = 128, .threads = 128, .stages = 4};
  EXPECT_EQ(groups_in_turns(steps_planned(kernel_text(one_group))), 0) << "one group has nobody to take turns with";
  EXPECT_EQ(groups_in_turns(take_turns(lowered(kernel_text(steps)))), 0) << "threads without roles";
}

// The pass reads the declaration of the loop: without it, the same statements take no turns.
TEST(TakeTurns, OfDeclaredProducts) {
  ir::Kernel plan = steps_planned(kernel_text(steps));
  const auto with_loops = [&](const auto &change) {
    ir::Kernel made = plan;
    made.body = rewrite(plan.body, [&](const ir::Stmt &stmt) -> ir::Stmt {
      const auto *loop = stmt.as<ir::For>();
      if (!loop || loop->products.declared.empty()) return stmt;
      ir::For own = *loop;
      change(own.products);
      return {std::move(own), stmt.where()};
    });
    return made;
  };
  const ir::Kernel without_turns = with_loops([](ir::LoopProducts &products) { products.in_turns = false; });
  EXPECT_EQ(groups_in_turns(without_turns), 0);
  EXPECT_EQ(groups_in_turns(take_turns(without_turns)), 2);
  EXPECT_EQ(groups_in_turns(take_turns(with_loops([](ir::LoopProducts &products) { products = {}; }))), 0);
}

TEST(TakeTurns, AGroupThatKeepsItsTurnIsFound) {
  std::string text = ir::to_string(steps_planned(kernel_text(steps)));
  text.replace(text.find(" gives_turn"), 11, "");
  EXPECT_THROW(ir::verify(ir::parse_kernel(text), ir::Form::lowered, "the test"), InternalError);
}

}  // namespace
}  // namespace samite::passes
