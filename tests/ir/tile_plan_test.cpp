// Plans as values, as text, and in kernels.
#include "samite/ir/tile_plan.h"

#include "samite/base/error.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(TilePlan, EachFieldHasANameAndARange) {
  TilePlan plan;
  for (const PlanField &field : plan_fields()) {
    EXPECT_FALSE(plan.*field.value) << field.name << " is another field's member";
    for (const int value : {field.least - 1, field.most + 1}) {
      TilePlan wrong;
      wrong.*field.value = value;
      EXPECT_THAT(invalid_field(wrong), MatchesRegex(std::string(field.name) + " -?[0-9]+; expected [0-9]+ to [0-9]+"));
    }
    plan.*field.value = field.most;
  }
  EXPECT_EQ(invalid_field(plan), "");
  EXPECT_EQ(sizeof(TilePlan), plan_fields().size() * sizeof(TilePlan::Field)) << "a member is in no row";
}

TEST(TilePlan, OfALaunchReplacesTheFieldsThatItSets) {
  const TilePlan merged = with({.stages = 4, .teams = 2}, {.teams = 1, .parts = 3});
  EXPECT_EQ(merged, (TilePlan{.stages = 4, .teams = 1, .parts = 3}));
  EXPECT_EQ(to_string(merged), "stages 4, teams 1, parts 3");
  EXPECT_EQ(to_string(TilePlan()), "");
}

std::string kernel_with(const std::string &plan) {
  return "kernel @k(@x: array<f32, 1>) blocks 1 of 64" + plan +
         " {\n  %0: i32 = thread_index 0\n  store @x[%0] = 1.0:tile<f32, 64>\n}\n";
}

TEST(TilePlan, GoesThroughTheTextOfAKernel) {
  TilePlan all;
  for (const PlanField &field : plan_fields()) all.*field.value = field.most;
  const std::string text = kernel_with(" plan (" + to_string(all) + ")");
  const ir::Kernel kernel = ir::parse_kernel(text);
  EXPECT_EQ(kernel.plan, all);
  EXPECT_EQ(ir::to_string(kernel), text);
  EXPECT_EQ(ir::parse_kernel(kernel_with("")).plan, TilePlan());
}

TEST(TilePlan, WithOtherFieldsIsNoText) {
  const auto message = [](const std::string &plan) {
    try {
      ir::parse_kernel(kernel_with(plan));
      return std::string("accepted");
    } catch (const UserError &error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(message(" plan (crews 2)"), HasSubstr("a field of the plan"));
  EXPECT_THAT(message(" plan (teams)"), HasSubstr("the field's value"));
  EXPECT_THAT(message(" plan ()"), HasSubstr("a field of the plan"));
}

TEST(TilePlan, IsWhatAPlannedKernelIs) {
  const auto verdict = [](ir::Kernel kernel, bool planned) {
    if (planned) kernel.properties = kernel.properties.with({ir::Property::memory_planned});
    try {
      ir::verify(kernel, ir::Form::structured, "test");
      return std::string("accepted");
    } catch (const InternalError &error) {
      return std::string(error.what());
    }
  };
  const ir::Kernel asks = ir::parse_kernel(kernel_with(" plan (teams 2)"));
  EXPECT_EQ(verdict(asks, false), "accepted");
  EXPECT_THAT(verdict(asks, true), HasSubstr("a plan with teams 2, and the kernel has 1"));
  EXPECT_THAT(verdict(ir::parse_kernel(kernel_with(" plan (teams 3)")), false), HasSubstr("a plan with teams 3"));
  ir::Kernel of_threads = ir::parse_kernel("kernel @k(@x: array<f32, 1>) threads 1 { }");
  of_threads.plan.teams = 1;
  EXPECT_THAT(verdict(of_threads, false), HasSubstr("a plan of a kernel that is none of tiles"));
}

}  // namespace
}  // namespace samite
