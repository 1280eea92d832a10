// Loops that differ in a few constants become equal; all other differences stay.
#include "samite/passes/pipelines/equal_loops.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace samite::test {
namespace {

// A kernel of blocks with these loops, given the first free local and the number of a local array of f32 (two
// consecutive ones for each), and enough others that it has many loops.
using LoopOf = std::function<std::string(int local, int array)>;

ir::Kernel kernel_of_loops(const std::vector<LoopOf> &loops) {
  std::string text =
      "kernel @k(@out: array<f32, 2>) blocks 1 of 1 scheduled {\n%0: i32 = launch_begin 0\n%1: i32 = launch_end 0\n"
      "for.block %2: i32 in %0 .. %1 step 1 {\n";
  for (std::size_t i = 0; i < 2 * loops.size(); ++i) text += fmt::format("local device ${}: f32[70000:i64]\n", i);
  for (std::size_t i = 0; i < loops.size(); ++i)
    text += loops[i](static_cast<int>(1000 + 100 * i), static_cast<int>(2 * i));
  for (int i = 0; i < 64; ++i)
    text += fmt::format("for %{0}: i32 in 0 .. 4 step 1 {{ store @out[%{0}, %{0}] = 1.0 }}\n", 10 + i);
  return ir::parse_kernel(text + "}\n}");
}

// Copies the elements of one array to the next one, with this number as the distance of rows.
LoopOf copying_loop(int size, const std::string &kind = "for", const std::string &step = "1") {
  return [=](int local, int array) {
    return fmt::format(
        "for %{0}: i32 in 0 .. {7} step 1 {{ {4} %{1}: i32 in 0 .. 9 step {5} {{\n%{2}: i32 = mul %{0}, {7}\n"
        "%{3}: i32 = add %{2}, %{1}\n%{6}: f32 = local_load ${8}[%{3}]\nlocal_store ${9}[%{3}] = %{6} }} }}\n",
        local, local + 1, local + 2, local + 3, kind, step, local + 4, size, array, array + 1);
  };
}

// The number of locals that replace constants, after the pass.
std::size_t locals_for_constants(const ir::Kernel &kernel) {
  const std::string text = to_string(kernel);
  std::size_t count = 0;
  for (std::size_t at = text.find("= copy"); at != std::string::npos; at = text.find("= copy", at + 1)) ++count;
  return count;
}

ir::Kernel with_equal_loops(const ir::Kernel &kernel) {
  ir::Kernel made = passes::equal_loops(kernel);
  ir::verify(made, ir::Form::lowered, "equal_loops");
  return made;
}

TEST(EqualLoops, AConstantThatDiffersIsALocal) {
  const ir::Kernel made =
      with_equal_loops(kernel_of_loops({copying_loop(604), copying_loop(602), copying_loop(600), copying_loop(598)}));
  EXPECT_EQ(locals_for_constants(made), 4u) << "two constants that are the same in each loop share a local";
  const std::string text = to_string(made);
  EXPECT_NE(text.find(": i32 = copy 604\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(", 604"), std::string::npos);
  EXPECT_NE(text.find("in 0 .. 9 step 1"), std::string::npos) << "equal constants remain";
}

TEST(EqualLoops, FewLoopsAndEqualOnesRemain) {
  for (const ir::Kernel &kernel :
       {kernel_of_loops({copying_loop(604), copying_loop(602), copying_loop(600)}),
        kernel_of_loops({copying_loop(600), copying_loop(600), copying_loop(600), copying_loop(600)})})
    EXPECT_EQ(to_string(with_equal_loops(kernel)), to_string(kernel));
}

// Three loops, and one with another difference.
void expect_loop_apart(const LoopOf &other) {
  const ir::Kernel kernel = kernel_of_loops({copying_loop(604), copying_loop(602), other, copying_loop(600)});
  EXPECT_EQ(to_string(with_equal_loops(kernel)), to_string(kernel));
}

LoopOf loop_storing(const std::string &value) {
  return [=](int local, int array) {
    std::string text = copying_loop(598)(local, array);
    const std::string old = fmt::format("= %{} }}", local + 4);
    return text.replace(text.find(old), old.size(), fmt::format(fmt::runtime(value), local + 4, local + 5));
  };
}

TEST(EqualLoops, WhatDiffersOtherwise) {
  expect_loop_apart(copying_loop(598, "for.thread"));
  expect_loop_apart(copying_loop(598, "for", "2"));
  expect_loop_apart(loop_storing("= 2.0 }}"));
  expect_loop_apart([](int local, int array) {
    return fmt::format("%{}: f32 = local_load ${}[7]\n", local + 50, array) +
           loop_storing(fmt::format("= %{} }}}}", local + 50))(local, array);
  });
  // It writes the array that it reads.
  expect_loop_apart([](int local, int array) {
    std::string text = copying_loop(598)(local, array);
    const std::string old = fmt::format("${}[", array + 1);
    return text.replace(text.find(old), old.size(), fmt::format("${}[", array));
  });
}

// The constant of a multiplication is the distance between the elements of lanes.
TEST(EqualLoops, StridesOfLanesRemain) {
  const auto strided = [](int stride) {
    return [=](int local, int array) {
      return fmt::format(
          "for %{0}: i32 in 0 .. 9 step 1 {{ for.thread %{1}: i32 in 0 .. 9 step 1 {{\n%{2}: i32 = mul %{1}, {5}\n"
          "%{3}: f32 = local_load ${4}[%{2}]\nlocal_store ${4}[%{1}] = %{3} }} }}\n",
          local, local + 1, local + 2, local + 3, array, stride);
    };
  };
  const ir::Kernel kernel = kernel_of_loops({strided(2), strided(3), strided(4), strided(5)});
  EXPECT_EQ(to_string(with_equal_loops(kernel)), to_string(kernel));
}

// A sum that is compared or widened keeps its constant, which says that no lane wraps around.
TEST(EqualLoops, SumsThatAreComparedRemain) {
  const auto compared = [](const std::string &use) {
    return [=](int offset) {
      return [=](int local, int array) {
        return fmt::format(
                   "for %{0}: i32 in 0 .. 9 step 1 {{ for.thread %{1}: i32 in 0 .. 9 step 1 {{\n"
                   "%{2}: i32 = add %{1}, {4}\n",
                   local, local + 1, local + 2, local + 3, offset) +
               fmt::format(fmt::runtime(use), local + 1, local + 2, local + 3, array) + "} }\n";
      };
    };
  };
  const auto copies_with = [&](const std::string &use) {
    const auto loop = compared(use);
    return locals_for_constants(with_equal_loops(kernel_of_loops({loop(2), loop(3), loop(4), loop(5)})));
  };
  EXPECT_EQ(copies_with("local_store ${3}[%{1}] = 1.0\n"), 4u);
  EXPECT_EQ(copies_with("%{2}: i64 = cast %{1}\nlocal_store ${3}[%{2}] = 1.0\n"), 0u);
  EXPECT_EQ(copies_with("%{2}: bool = lt %{1}, %{0}\nif %{2} {{ local_store ${3}[%{0}] = 1.0 }}\n"), 0u);
  EXPECT_EQ(copies_with("%{2}: i32 = add %{1}, %{1}\n%9{2}: i32 = mul %{2}, 2\nlocal_store ${3}[%9{2}] = 1.0\n"), 0u);
}

}  // namespace
}  // namespace samite::test
