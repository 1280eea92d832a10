// Estimates of whether code is worth its size.
#include "samite/passes/analysis/op_cost.h"

#include "samite/ir/parse.h"
#include "samite/ir/visit.h"

#include <gtest/gtest.h>

#include <string>

namespace samite::passes {
namespace {

using namespace ir;

Kernel with_body(const std::string &body, const std::string &kind = "threads 1") {
  return parse_kernel("kernel @k(@x: array<f32, 1>, @n: i32) " + kind + " {\n" + body + "\n}");
}

const For &loop_of(const Kernel &kernel) {
  const For *found = nullptr;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (!found) found = stmt.as<For>();
  });
  return *found;
}

std::string stores(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "store @x[0] = 1.0\n";
  return text;
}

TEST(OpCost, SmallLoopsMayBeUnrolled) {
  const auto may = [](const std::string &body, const std::string &marks = "") {
    return may_be_unrolled(loop_of(with_body("for %0: i32 in 0 .. @n step 1 " + marks + "{ " + body + " }")));
  };
  EXPECT_TRUE(may(stores(64)));
  EXPECT_FALSE(may(stores(65)));
  EXPECT_TRUE(may(stores(65), "instances 2 ")) << "of one of the neighbours";
  EXPECT_FALSE(may(stores(1), "rolled "));
}

TEST(OpCost, TurnsThatAreMuchToCompileGoOneAfterAnother) {
  const auto turns_of = [](const std::string &body, std::int64_t turns) {
    const Kernel kernel = with_body("local $0: f32[1]\nfor %0: i32 in 0 .. @n step 1 { " + body + " }");
    return turns_together(loop_of(kernel).body, turns);
  };
  const auto together = [&](int instructions, std::int64_t turns) {
    std::string body;
    for (int i = 0; i < instructions; ++i) body += "local_store $0[0] = 1.0\n";
    return turns_of(body, turns);
  };
  const std::string load = "%1: f32 = load @x[0] ", sum = "accumulate @x[0] += 1.0 ",
                    atomic = "accumulate atomic @x[0] += 1.0 ";
  EXPECT_EQ(turns_of(stores(31) + load, 16), 8) << "loads are waited for";
  EXPECT_EQ(turns_of(stores(31) + sum, 16), 8) << "and so is what is added to";
  EXPECT_EQ(turns_of(stores(256) + load, 16), 1);
  EXPECT_EQ(turns_of(stores(15) + atomic, 16), 4);
  EXPECT_EQ(turns_of(stores(32), 16), 2) << "stores are not";
  EXPECT_EQ(turns_of(load, 16), 8) << "more are no faster";
  EXPECT_EQ(turns_of("%1: f32 = local_load $0[0] ", 16), 8);
  EXPECT_EQ(turns_of("%1: f32 = local_load $0[0] ", 12), 6);
  EXPECT_EQ(together(1, 16), 4) << "stores are waited for by none";
  EXPECT_EQ(together(1, 6), 3);
  EXPECT_EQ(together(16, 1024), 4);
  EXPECT_EQ(together(16, 6), 3) << "they divide the turns";
  EXPECT_EQ(together(16, 7), 1);
  EXPECT_EQ(together(32, 4), 2);
  EXPECT_EQ(together(33, 4), 1);
  EXPECT_EQ(together(1000, 4), 1);
  EXPECT_EQ(together(1, 1), 1);
}

TEST(OpCost, SmallBodiesOfThreadLoopsAreWorthASecondCopy) {
  const auto loop = [](int count) { return "for.thread %0: i32 in 0 .. @n step 1 { " + stores(count) + " }"; };
  const auto worth = [](const Kernel &kernel) { return worth_copying(kernel, loop_of(kernel), uniformity(kernel)); };
  EXPECT_TRUE(worth(with_body(loop(400))));
  EXPECT_FALSE(worth(with_body(loop(401))));
  std::string second = loop(201);
  second.replace(second.find("%0"), 2, "%1");
  EXPECT_FALSE(worth(with_body(loop(200) + second))) << "the loops of a strip count together";
  EXPECT_TRUE(worth(with_body(loop(200) + second, "blocks 1 of 32 scheduled"))) << "those of a block do not";
}

TEST(OpCost, BodiesWhoseLoopsAskForNoMaskHaveOneCopy) {
  const auto worth = [](const std::string &in_loop, const std::string &end = "@n") {
    const Kernel kernel = with_body("for.thread %0: i32 in 0 .. @n step 1 {\nfor %1: i32 in 0 .. " + end +
                                    " step 1 {\n" + in_loop + "\n}\nstore @x[%0] = 1.0\n}");
    return worth_copying(kernel, loop_of(kernel), uniformity(kernel));
  };
  EXPECT_FALSE(worth("%2: f32 = load @x[%1] %3: f32 = exp %2"));
  EXPECT_TRUE(worth("%2: f32 = load @x[%1] %3: f32 = exp %2", "15")) << "the loop is short";
  EXPECT_FALSE(worth("%2: f32 = load @x[%1] %3: f32 = exp %2", "16"));
  EXPECT_TRUE(worth("%2: f32 = load @x[%0]"));
  EXPECT_TRUE(worth("store @x[%1] = 1.0"));
  EXPECT_TRUE(worth("accumulate atomic @x[%1] += 1.0"));
  EXPECT_TRUE(worth("%2: bool = lt %0, %1 if %2 { }"));
  EXPECT_FALSE(worth("%2: bool = lt %1, @n if %2 { }")) << "all lanes go one way";
  EXPECT_TRUE(worth("for %2: i32 in 0 .. %0 step 1 { }")) << "lanes leave at different times";
  EXPECT_TRUE(worth("for %2: i32 in %0 .. @n step 1 { }")) << "lanes join at different times";
}

TEST(OpCost, ThreadLoopsThatFewerLoopsAreAroundHaveOneCopy) {
  const Kernel kernel = with_body(
      "for.thread %0: i32 in 0 .. @n step 1 { store @x[%0] = 1.0 }\n"
      "for %1: i32 in 0 .. @n step 1 {\nfor.thread %2: i32 in 0 .. @n step 1 { store @x[%2] = 1.0 }\n}");
  EXPECT_FALSE(worth_copying(kernel, *kernel.body[0].as<For>(), uniformity(kernel)));
  EXPECT_TRUE(worth_copying(kernel, *kernel.body[1].as<For>()->body[0].as<For>(), uniformity(kernel)));
}

TEST(OpCost, WhatDoesNothingWithoutLanesIsWorthFlattening) {
  const auto worth = [](const std::string &side, bool checked = false, bool harmless = true) {
    const Kernel kernel =
        with_body("%0: i32 = thread_index 0\nlocal $0: f32[4]\n%1: bool = lt %0, @n\nif %1 {\n" + side + "\n}");
    return worth_flattening(kernel.body.back().as<If>()->then_block, uniformity(kernel), checked,
                            [&](LocalArrayId, const Value &) { return harmless; });
  };
  EXPECT_TRUE(worth("%2: f32 = load @x[%0] %3: f32 = mul %2, %2 store @x[%0] = %3"));
  EXPECT_FALSE(worth("%2: f32 = load @x[%0]", /*checked=*/true));
  EXPECT_FALSE(worth("%2: f32 = load @x[@n]")) << "no mask guards it";
  EXPECT_FALSE(worth("store @x[@n] = 1.0")) << "no mask guards it";
  EXPECT_FALSE(worth("%2: f32 = load @x[%0] %3: f32 = exp %2")) << "it takes longer than to ask";
  EXPECT_FALSE(worth("accumulate atomic @x[%0] += 1.0"));
  EXPECT_TRUE(worth("local_store $0[0] = 1.0"));
  EXPECT_FALSE(worth("local_store $0[0] = 1.0", false, /*harmless=*/false));
  const std::string seven =
      "store @x[%0] = 1.0\nstore @x[%0] = 1.0\nstore @x[%0] = 1.0\nstore @x[%0] = 1.0\n"
      "store @x[%0] = 1.0\nstore @x[%0] = 1.0\nstore @x[%0] = 1.0\n";
  EXPECT_FALSE(worth(seven));
}

}  // namespace
}  // namespace samite::passes
