// Folded, shared and pruned.

#include "samite/passes/simplify/simplify.h"

#include "samite/ir/print.h"
#include "samite/ir/visit.h"
#include "tests/passes/transformed.h"

namespace samite::passes {
namespace {

using namespace ir;

std::string difference(const char *before, const char *after) {
  return test::difference_after(simplify, before, after);
}

std::string difference_from_itself(const char *kernel) { return difference(kernel, kernel); }

TEST(Simplify, FoldsConstantsIntoWhatReadsThem) {
  EXPECT_EQ(difference(R"(
      %0: i32 = add 2, 3
      %1: i32 = mul %0, %0
      %2: f32 = cast %1
      %3: f32 = mul @x, 1.0
      %4: f32 = add %3, %2
      store @a[%1] = %4)",
                       R"(
      %0: f32 = add @x, 25.0
      store @a[25] = %0)"),
            "");
}

TEST(Simplify, ADivisionByZeroStaysForTheTargetToReport) {
  EXPECT_EQ(difference_from_itself(R"(
      %0: i32 = div 1, 0
      %1: i32 = rem @n, 0
      store @out[%1] = %0)"),
            "");
}

TEST(Simplify, TheSameOperationOnTheSameOperandsIsComputedOnce) {
  EXPECT_EQ(difference(R"(
      %0: i32 = add @i, 1
      %1: i32 = add @i, 1
      %2: i32 = mul %0, 2
      %3: i32 = mul %1, 2
      %4: i32 = add @i, %3
      store @out[%2] = %4)",
                       R"(
      %0: i32 = add @i, 1
      %1: i32 = mul %0, 2
      %2: i32 = add @i, %1
      store @out[%1] = %2)"),
            "");
}

TEST(Simplify, ACastToAWiderTypeAndBackIsNothing) {
  const auto there_and_back = [](const std::string &from, const std::string &by, const std::string &to) {
    const Kernel kernel = simplify(parse_kernel(
        "kernel @k(@x: array<" + from + ", 1>, @y: array<" + to + ", 1>) threads 1 {\n%0: i32 = thread_index 0\n" +
        "%1: " + from + " = load @x[%0]\n%2: " + by + " = cast %1\n%3: " + to + " = cast %2\nstore @y[%0] = %3\n}"));
    std::size_t casts = 0;
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      casts += let && let->value.op == Op::Cast;
    });
    return casts == 0;
  };
  for (const auto &[narrow, wide] : {std::pair{"f16", "f32"},
                                     {"bf16", "f32"},
                                     {"f16", "f64"},
                                     {"f32", "f64"},
                                     {"i8", "i32"},
                                     {"i32", "i64"},
                                     {"u8", "u16"},
                                     {"u32", "u64"},
                                     {"u32", "i64"}}) {
    EXPECT_TRUE(there_and_back(narrow, wide, narrow)) << narrow << ' ' << wide;
    EXPECT_FALSE(there_and_back(wide, narrow, wide)) << wide << ' ' << narrow << ": it loses what does not fit";
  }
  EXPECT_FALSE(there_and_back("f16", "bf16", "f16"));
  EXPECT_FALSE(there_and_back("bf16", "f32", "f16")) << "another type";
  EXPECT_FALSE(there_and_back("i32", "f32", "i32"));
  EXPECT_FALSE(there_and_back("i32", "u64", "i32"));
  EXPECT_FALSE(there_and_back("f8e5m2", "f32", "f8e5m2")) << "infinity becomes the largest number";
  EXPECT_FALSE(there_and_back("bool", "i32", "bool"));
}

TEST(Simplify, ATileThatIsCastAndCastBackIsItself) {
  const Kernel kernel = simplify(parse_kernel(R"(
    kernel @k(@x: array<bf16, 1>, @y: array<bf16, 1>) blocks 1 of 32 {
      %0: i32 = thread_index 0
      %1: tile<bf16, 64> = load @x[%0]
      %2: tile<f32, 64> = cast %1
      %3: tile<bf16, 64> = cast %2
      store @y[%0] = %3
    })"));
  EXPECT_EQ(kernel.body.size(), 3u) << to_string(kernel);
}

TEST(Simplify, TheOrderOfOperandsMattersOnlyWhereItDoes) {
  EXPECT_EQ(difference(R"(
      %9: f32 = load @b[0]
      %0: f32 = mul @x, %9
      %1: f32 = mul %9, @x
      %2: f32 = add %0, %1
      %3: f32 = sub @x, %9
      %4: f32 = sub %9, @x
      %5: f32 = min %3, %4
      %6: f32 = min %4, %3
      %7: f32 = mul %5, %6
      %8: f32 = mul %2, %7
      store @a[0] = %8)",
                       R"(
      %7: f32 = load @b[0]
      %0: f32 = mul @x, %7
      %1: f32 = add %0, %0
      %2: f32 = sub @x, %7
      %3: f32 = sub %7, @x
      %4: f32 = min %2, %3
      %5: f32 = min %3, %2
      %6: f32 = mul %4, %5
      %8: f32 = mul %1, %6
      store @a[0] = %8)"),
            "");
}

TEST(Simplify, OperationsThatDifferInTypeDimensionOrArrayAreNotTheSame) {
  EXPECT_EQ(difference_from_itself(R"(
      %0: i32 = extent @a, 0
      %1: i32 = extent @b, 0
      %2: i64 = extent @a, 0
      %3: i64 = cast @i
      %4: f64 = cast @i
      %5: i64 = cast %4
      %6: f32 = load @a[%0]
      %7: f32 = load @b[%0]
      store @a[%1] = %6
      store @a[%2] = %7
      store @a[%3] = %7
      store @a[%5] = %7)"),
            "");
}

TEST(Simplify, WhatABlockComputedIsThereInsideButNotAfterIt) {
  EXPECT_EQ(difference(R"(
      %0: i32 = add @i, 1
      if @p {
        %1: i32 = add @i, 1
        %2: i32 = mul @i, 7
        store @out[%1] = %2
      } else {
        %3: i32 = mul @i, 7
        store @out[%0] = %3
      }
      for %4: i32 in 0 .. @n step 1 {
        %5: i32 = mul @i, 7
        store @out[%4] = %5
      }
      %6: i32 = mul @i, 7
      store @out[2] = %6)",
                       R"(
      %0: i32 = add @i, 1
      if @p {
        %1: i32 = mul @i, 7
        store @out[%0] = %1
      } else {
        %2: i32 = mul @i, 7
        store @out[%0] = %2
      }
      for %3: i32 in 0 .. @n step 1 {
        %4: i32 = mul @i, 7
        store @out[%3] = %4
      }
      %5: i32 = mul @i, 7
      store @out[2] = %5)"),
            "");
}

TEST(Simplify, TheBodyOfAWhileSharesWithItsCondition) {
  EXPECT_EQ(difference(R"(
      while {
        %0: f32 = load @a[0]
        %1: bool = lt %0, @x
      } test %1 {
        %2: f32 = load @a[0]
        %3: f32 = add %2, 1.0
        store @a[0] = %3
      }
      %4: f32 = load @a[0]
      store @b[0] = %4)",
                       R"(
      while {
        %0: f32 = load @a[0]
        %1: bool = lt %0, @x
      } test %1 {
        %2: f32 = add %0, 1.0
        store @a[0] = %2
      }
      %3: f32 = load @a[0]
      store @b[0] = %3)"),
            "");
}

TEST(Simplify, LoadsAreShared) {
  EXPECT_EQ(difference(R"(
      %0: f32 = load @a[@i]
      %1: f32 = neg %0
      if @p {
        %2: f32 = load @a[@i]
        %3: f32 = mul %1, %2
        store @b[0] = %3
      })",
                       R"(
      %0: f32 = load @a[@i]
      %1: f32 = neg %0
      if @p {
        %2: f32 = mul %1, %0
        store @b[0] = %2
      })"),
            "");
}

// Two arrays may be one buffer, so that a write to any of them may be a write to this one.
class SimplifyLoads : public testing::TestWithParam<const char *> {};

TEST_P(SimplifyLoads, AreNotSharedAcross) {
  std::string kernel = "%0: f32 = load @a[@i] \n" + std::string(GetParam()) +
                       "\n %9: f32 = load @a[@i] %10: f32 = sub %9, %0 store @b[1] = %10";
  EXPECT_EQ(difference_from_itself(kernel.c_str()), "");
}

INSTANTIATE_TEST_SUITE_P(
    AWrite, SimplifyLoads,
    testing::Values("store @b[0] = 1.0", "accumulate @b[0] += 1.0", "accumulate atomic @b[0] += 1.0",
                    "%1: f32 = exchange @b[0]", "if @p { store @out[0] = 1 }", "if @p {} else { store @b[0] = 1.0 }",
                    "if @p { %1: f32 = exchange @b[0] }", "for %1: i32 in 0 .. @n step 1 { store @b[%1] = 1.0 }",
                    "for %1: i32 in 0 .. @n step 1 { if @p { accumulate @b[%1] += 1.0 } }",
                    "while {} test @p { store @b[0] = 1.0 }", "while { store @b[0] = 1.0 } test @p {}"));

TEST(Simplify, LoadsAreSharedAcrossBlocksThatWriteNothing) {
  EXPECT_EQ(difference(R"(
      %0: f32 = load @a[@i]
      for %1: i32 in 0 .. @n step 1 carry (%2 -> %5: f32 = %0 then %4) {
        %3: f32 = load @a[@i]
        %4: f32 = add %2, %3
      }
      %6: f32 = load @a[@i]
      %7: f32 = add %5, %6
      store @b[0] = %7)",
                       R"(
      %0: f32 = load @a[@i]
      for %1: i32 in 0 .. @n step 1 carry (%2 -> %4: f32 = %0 then %3) {
        %3: f32 = add %2, %0
      }
      %5: f32 = add %4, %0
      store @b[0] = %5)"),
            "");
}

// The second iteration reads the first one's store.
TEST(Simplify, ALoadInALoopThatWritesIsNotTheOneBeforeIt) {
  EXPECT_EQ(difference_from_itself(R"(
      %0: f32 = load @a[0]
      for %1: i32 in 0 .. @n step 1 {
        %2: f32 = load @a[0]
        %3: f32 = add %2, %0
        store @a[0] = %3
      })"),
            "");
  EXPECT_EQ(difference_from_itself(R"(
      %0: f32 = load @a[0]
      while {
        %1: f32 = load @a[0]
        %2: bool = lt %1, @x
        accumulate @a[0] += %0
      } test %2 {
      })"),
            "");
  EXPECT_EQ(difference_from_itself(R"(
      %0: f32 = load @a[0]
      for %1: i32 in 0 .. @n step 1 {
        %2: f32 = load @a[0]
        %3: f32 = exchange atomic @a[0]
        accumulate @b[0] += %2
        accumulate @b[1] += %0
      })"),
            "");
}

TEST(Simplify, TheSecondSideOfABranchSharesNothingWithTheFirst) {
  EXPECT_EQ(difference_from_itself(R"(
      if @p -> (%1: f32 = %0 | %2) {
        store @a[0] = 1.0
        %0: f32 = load @a[0]
      } else {
        %2: f32 = load @a[0]
      }
      store @b[0] = %1)"),
            "");
}

TEST(Simplify, AnExchangeIsAnEffectAndNeverShared) {
  EXPECT_EQ(difference_from_itself(R"(
      %0: f32 = exchange atomic @a[0]
      %1: f32 = exchange atomic @a[0]
      %2: f32 = add %0, %1
      store @b[0] = %2)"),
            "");
}

TEST(Simplify, ABranchOnAConstantIsTheSideTaken) {
  EXPECT_EQ(difference(R"(
      %0: bool = lt 1, 2
      if %0 -> (%2: f32 = %1 | 0.0) {
        %1: f32 = load @a[0]
      } else {
        store @a[9] = 9.0
      }
      if false -> (%3: f32 = 7.0 | %2) {
        store @a[8] = 8.0
      }
      store @b[0] = %3)",
                       R"(
      %0: f32 = load @a[0]
      store @b[0] = %0)"),
            "");
}

TEST(Simplify, AResultThatIsTheSameOnBothSidesIsThatValue) {
  EXPECT_EQ(difference(R"(
      if @p -> (%2: i32 = %0 | %1, %3: i32 = @i | @n) {
        %0: i32 = mul @n, 1
      } else {
        %1: i32 = add @n, 0
      }
      store @out[%2] = %3)",
                       R"(
      if @p -> (%0: i32 = @i | @n) {
      } else {
      }
      store @out[@n] = %0)"),
            "");
}

TEST(Simplify, AValueThatALoopCarriesUnchangedIsTheOneItStartedWith) {
  EXPECT_EQ(difference(R"(
      for %0: i32 in 0 .. @n step 1 carry (%1 -> %2: f32 = @x then %1) {
        store @a[%0] = %1
      }
      while carry (%3 -> %4: f32 = %2 then %3) {
      } test @p {
        store @b[0] = %3
      }
      store @b[1] = %4)",
                       R"(
      for %0: i32 in 0 .. @n step 1 {
        store @a[%0] = @x
      }
      while {
      } test @p {
        store @b[0] = @x
      }
      store @b[1] = @x)"),
            "");
}

TEST(Simplify, WhatOneWalkUncoversTheNextOneTakes) {
  // That %1 never changes shows once %2 is folded; then the branch has one side; then %6 never changes either.
  EXPECT_EQ(difference(R"(
      for %0: i32 in 0 .. @n step 1 carry (%1 -> %3: i32 = 1 then %2, %6 -> %8: f32 = @x then %7) {
        %2: i32 = add %1, 0
        %4: bool = eq %1, 1
        if %4 -> (%7: f32 = %6 | %5) {
        } else {
          %5: f32 = load @a[%0]
        }
        store @a[%0] = %7
      }
      store @b[%3] = %8)",
                       R"(
      for %0: i32 in 0 .. @n step 1 {
        store @a[%0] = @x
      }
      store @b[1] = @x)"),
            "");
}

TEST(Simplify, DeadCodeGoes) {
  EXPECT_EQ(difference(R"(
      %0: f32 = load @a[0]
      if @p -> (%1: f32 = %0 | @x) {}
      store @b[0] = @x)",
                       "store @b[0] = @x"),
            "");
}

TEST(Simplify, LocalsAreNumberedDenselyAndStatementsKeepTheirLines) {
  ir::Kernel kernel = simplify(test::kernel_of(R"(
      %90: f32 = load @a[0] at "a.cpp":1
      %50: f32 = add %90, 0.0 at "a.cpp":2
      %20: f32 = load @a[0] at "a.cpp":3
      %10: f32 = add %50, %20 at "a.cpp":4
      for %60: i32 in 0 .. @n step 1 at "a.cpp":5 { store @b[%60] = %10 at "a.cpp":6 })"));
  EXPECT_EQ(kernel.local_count, 3u);
  EXPECT_EQ(to_string(kernel.body, kernel.parameters, {.locations = true}),
            "%0: f32 = load @a[0] at \"a.cpp\":1\n"
            "%1: f32 = add %0, %0 at \"a.cpp\":4\n"
            "for %2: i32 in 0 .. @n step 1 at \"a.cpp\":5 {\n"
            "  store @b[%2] = %1 at \"a.cpp\":6\n"
            "}\n");
}

TEST(Simplify, LoadsFromLocalArraysAreSharedUntilOneIsWritten) {
  EXPECT_EQ(difference(R"(
      local $0: f32[@n]
      local_store $0[0] = @x
      %0: f32 = local_load $0[0]
      store @a[0] = %0
      %1: f32 = local_load $0[0]
      store @a[1] = %1
      local_store $0[@i] = 1.0
      %2: f32 = local_load $0[0]
      store @a[2] = %2)",
                       R"(
      local $0: f32[@n]
      local_store $0[0] = @x
      %0: f32 = local_load $0[0]
      store @a[0] = %0
      store @a[1] = %0
      local_store $0[@i] = 1.0
      %1: f32 = local_load $0[0]
      store @a[2] = %1)"),
            "");
}

TEST(Simplify, AStoreToALocalArrayLeavesArraysAlone) {
  EXPECT_EQ(difference(R"(
      local $0: f32[@n]
      %0: f32 = load @a[0]
      local_store $0[@i] = %0
      %1: f32 = load @a[0]
      %2: f32 = local_load $0[0]
      %3: f32 = add %1, %2
      store @b[0] = %3)",
                       R"(
      local $0: f32[@n]
      %0: f32 = load @a[0]
      local_store $0[@i] = %0
      %1: f32 = local_load $0[0]
      %2: f32 = add %0, %1
      store @b[0] = %2)"),
            "");
}

TEST(Simplify, ALoopThatWritesALocalArrayMakesItsLoadsNew) {
  EXPECT_EQ(difference_from_itself(R"(
      local $0: f32[4]
      local_store $0[0] = @x
      %0: f32 = local_load $0[0]
      store @a[0] = %0
      for %1: i32 in 0 .. @n step 1 {
        %2: f32 = local_load $0[0]
        %3: f32 = add %2, 1.0
        local_store $0[0] = %3
      }
      %4: f32 = local_load $0[0]
      store @a[1] = %4)"),
            "");
}

TEST(Simplify, LocalArraysAreNumberedDensely) {
  ir::Kernel kernel = simplify(test::kernel_of(R"(
      local $7: f32[4]
      local $3: f32[@n]
      local_store $7[0] = 1.0
      local_store $3[0] = @x
      %0: f32 = local_load $3[@i]
      store @a[0] = %0)"));
  EXPECT_EQ(kernel.local_array_count, 1u);
  EXPECT_EQ(to_string(kernel.body, kernel.parameters),
            "local $0: f32[@n]\nlocal_store $0[0] = @x\n%0: f32 = local_load $0[@i]\nstore @a[0] = %0\n");
}

}  // namespace
}  // namespace samite::passes
