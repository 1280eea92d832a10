// Which loops of a kernel of many loops become functions of their own.
#include "samite/passes/pipelines/loop_functions.h"
#include "samite/ir/parse.h"
#include "samite/ir/visit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace samite::test {
namespace {

using passes::LoopFunctions;

// A kernel of blocks with this memory and this loop, whose first index is %900, and of `others` more loops.
ir::Kernel kernel_of_nest(const std::string &memory_of_nests, const std::string &loop, int others = 64) {
  std::string text =
      "kernel @k(@out: array<f32, 2>) blocks 1 of 1 scheduled {\n%0: i32 = launch_begin 0\n%1: i32 = launch_end 0\n"
      "for.block %2: i32 in %0 .. %1 step 1 {\n" +
      memory_of_nests + loop;
  for (int i = 0; i < others; ++i)
    text += fmt::format("for %{0}: i32 in 0 .. 4 step 1 {{ store @out[%{0}, %{0}] = 1.0 }}\n", 10 + i);
  return ir::parse_kernel(text + "}\n}");
}

// The arrays that the loop with the index %900 writes as a function; empty if it is not one.
std::optional<std::set<ir::LocalArrayId>> written_by_function(const ir::Kernel &kernel) {
  const LoopFunctions functions(kernel);
  std::optional<std::set<ir::LocalArrayId>> found;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    const ir::For *loop = stmt.as<ir::For>();
    if (!loop) return;
    if (const auto *of = functions.written_by(*loop)) {
      EXPECT_EQ(loop->index, 900u) << "another loop is a function";
      found = *of;
    }
  });
  return found;
}

constexpr const char *memory_of_nests = "local device $0: f32[70000:i64]\nlocal device $1: f32[70000:i64]\n";

std::string nest_with(const std::string &inside) {
  return "for %900: i32 in 0 .. 9 step 1 { for %901: i32 in 0 .. 9 step 1 { " + inside + " } }\n";
}

TEST(LoopFunctions, ANestIsOne) {
  const std::string copies = nest_with("%902: f32 = local_load $0[%901]\nlocal_store $1[%900] = %902");
  EXPECT_EQ(written_by_function(kernel_of_nest(memory_of_nests, copies)), std::set<ir::LocalArrayId>{1});
  EXPECT_EQ(written_by_function(kernel_of_nest(memory_of_nests, nest_with("store @out[%900, %901] = 1.0"))),
            std::set<ir::LocalArrayId>{});
}

TEST(LoopFunctions, AKernelOfFewLoopsHasNone) {
  EXPECT_EQ(written_by_function(kernel_of_nest(memory_of_nests, nest_with("local_store $1[%900] = 1.0"), 10)),
            std::nullopt);
}

TEST(LoopFunctions, WhatAFunctionCannotDo) {
  const std::string stack = "local shared $0: f32[8]\nlocal device $1: f32[70000:i64]\n";
  EXPECT_EQ(written_by_function(kernel_of_nest(stack, nest_with("local_store $0[%901] = 1.0"))), std::nullopt);
  EXPECT_EQ(written_by_function(kernel_of_nest(
                memory_of_nests, nest_with("local device $2: f32[70000:i64]\nlocal_store $2[%901] = 1.0"))),
            std::nullopt);
  EXPECT_EQ(written_by_function(
                kernel_of_nest(memory_of_nests,
                               "for %900: i32 in 0 .. 9 step 1 carry (%903 -> %904: f32 = 0.0 then %905) { %905: f32 = "
                               "add %903, 1.0\nfor %901: i32 in 0 .. 9 step 1 { local_store $0[%901] = 1.0 } }\n")),
            std::nullopt);
}

}  // namespace
}  // namespace samite::test
