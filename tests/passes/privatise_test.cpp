// An instance's own elements as locals: the arrays that become local, with unchanged results.
#include "samite/passes/threads/privatise.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "tests/passes/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using testing::HasSubstr;
using testing::Not;

ir::Kernel privatised_kernel(const std::string &body) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@a: array<f64, 1>, @m: array<f64, 2>, @n: i32) threads 1 { "
      "%0: i32 = thread_index 0 " +
      body + "}");
  ir::verify(kernel, ir::Form::structured, "the test");
  return kernel;
}

// After the pass on `parameter`; fails if the pass skips it, or changes the results of three instances.
std::string privatised(const std::string &body, std::size_t parameter) {
  const ir::Kernel before = privatised_kernel(body);
  std::vector<bool> wanted(3);
  wanted[parameter] = true;
  Privatised after = privatise(before, wanted);
  EXPECT_TRUE(after.done[parameter]);
  ir::verify(after.kernel, ir::Form::structured, "privatise");

  test::Arguments arguments;
  arguments.add_array<double>({2, 3, 5})
      .add_array<double>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {3, 4})
      .add(std::int32_t{2});
  EXPECT_EQ(test::interpret(after.kernel, {3}, arguments).arguments.arrays(),
            test::interpret(before, {3}, arguments).arguments.arrays());
  return to_string(after.kernel);
}

bool left_alone(const std::string &body, std::size_t parameter) {
  std::vector<bool> wanted(3);
  wanted[parameter] = true;
  return !privatise(privatised_kernel(body), wanted).done[parameter];
}

TEST(Privatise, AnElementIsLoadedOnceAndStoredOnce) {
  EXPECT_EQ(privatised(R"(
      %1: f64 = load @a[%0]
      %2: f64 = mul %1, %1
      store @a[%0] = %2
      %3: f64 = load @a[%0]
      accumulate @a[%0] += %3)",
                       0),
            "kernel @k(@a: array<f64, 1>, @m: array<f64, 2>, @n: i32) threads 1 {\n"
            "  %0: i32 = thread_index 0\n"
            "  %1: f64 = load @a[%0]\n"
            "  %2: f64 = mul %1, %1\n"
            "  %3: f64 = add %2, %2\n"
            "  store @a[%0] = %3\n"
            "}\n");
}

TEST(Privatise, AnElementChangedInALoopIsCarried) {
  EXPECT_THAT(privatised(R"(
      for %1: i32 in 0 .. @n step 1 {
        %2: f64 = load @a[%0]
        %3: f64 = mul %2, 0.5:f64
        store @a[%0] = %3
      })",
                         0),
              HasSubstr("carry ("));
}

TEST(Privatise, ElementsWithDifferentConstantsAreALocalEach) {
  EXPECT_THAT(privatised(R"(
      %1: f64 = load @m[%0, 1]
      store @m[%0, 2] = %1
      %2: f64 = load @m[%0, 2]
      store @m[%0, 1] = %2)",
                         1),
              Not(HasSubstr("local")));
}

TEST(Privatise, ARowWithAnIndexThatMovesIsALocalArray) {
  EXPECT_THAT(privatised(R"(
      for %1: i32 in 1 .. 4 step 1 {
        %2: i32 = sub %1, 1
        %3: f64 = load @m[%0, %2]
        %4: f64 = load @m[%0, %1]
        %5: f64 = add %3, %4
        store @m[%0, %1] = %5
      })",
                         1),
              HasSubstr("local $0: f64["));
}

TEST(Privatise, InsideOfABranchTheElementIsLocalThere) {
  privatised(R"(
      %1: bool = lt %0, @n
      if %1 {
        for %2: i32 in 0 .. 2 step 1 {
          %3: f64 = load @a[%0]
          %4: f64 = mul %3, %3
          store @a[%0] = %4
        }
      })",
             0);
}

TEST(Privatise, WhatOtherInstancesTouchIsLeftAlone) {
  EXPECT_TRUE(left_alone(R"(
      %1: i32 = add %0, 1
      %2: f64 = load @a[%1]
      store @a[%0] = %2)",
                         0));
  EXPECT_TRUE(left_alone("%1: f64 = load @a[@n] store @a[@n] = %1", 0));
}

TEST(Privatise, WhatAtomicsReturnIsLeftAlone) {
  EXPECT_TRUE(left_alone(R"(
      %1: f64 = atomic_add @a[%0], 1.0:f64
      store @a[%0] = %1)",
                         0));
}

}  // namespace
}  // namespace samite::passes
