#include "samite/passes/threads/interchange.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/threads/lower_threads.h"
#include "tests/codegen/random_integers.h"
#include "tests/passes/interpreter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using testing::HasSubstr;
using testing::Not;

// Arrays of unit stride.
Kernel interchanged(Kernel lowered) {
  FactsOfArrays arrays(lowered.parameters.size());
  for (ArrayFacts &facts : arrays) facts.unit_stride = true;
  Kernel kernel = interchange(std::move(lowered), arrays);
  verify(kernel, Form::lowered, "interchange");
  const std::string text = to_string(kernel);
  EXPECT_EQ(to_string(parse_kernel(text)), text);
  return kernel;
}

std::string interchanged(std::string_view text) {
  return to_string(interchanged(lower_threads(parse_kernel(text))), {.renumber = true});
}

TEST(Interchange, TheLoopGoesOutsideOfTheThreadLoop) {
  EXPECT_EQ(interchanged(R"(kernel @k(@sums: array<f32, 1>, @own: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
              %0: i32 = thread_index 0
              %1: f32 = load @x[%0]
              %2: i32 = extent @x, 0
              for %4: i32 in 0 .. %2 step 1 carry (%5 -> %6: f32 = 1.0 then %9) {
                %7: f32 = load @x[%4]
                %8: f32 = sub %1, %7
                %9: f32 = add %5, %8
                accumulate atomic @sums[%4] += %8
              }
              store @own[%0] = %6
            })"),
            R"(kernel @k(@sums: array<f32, 1>, @own: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
  %0: i32 = launch_begin 0
  %1: i32 = launch_end 0
  local strip $0: f32[512]
  local strip $1: f32[512]
  %2: i32 = sub %1, %0
  %3: i32 = rem %2, 512
  %4: bool = gt %3, 0
  %5: i32 = div %2, 512
  %6: i32 = cast %4
  %7: i32 = add %5, %6
  for %8: i32 in 0 .. %7 step 1 {
    %9: i32 = mul %8, 512
    %10: i32 = add %0, %9
    %11: i32 = sub %1, %10
    %12: i32 = min %11, 512
    %13: i32 = extent @x, 0
    for.thread %14: i32 in 0 .. %12 step 1 {
      %15: i32 = add %10, %14
      %16: f32 = load @x[%15]
      local_store $0[%14] = %16
      local_store $1[%14] = 1.0
    }
    for %17: i32 in 0 .. %13 step 1 {
      %18: f32 = load @x[%17]
      for.thread %19: i32 in 0 .. %12 step 1 jam 4 {
        %20: f32 = local_load $0[%19]
        %21: f32 = local_load $1[%19]
        %22: f32 = sub %20, %18
        %23: f32 = add %21, %22
        accumulate atomic @sums[%17] += %22
        local_store $1[%19] = %23
      }
    }
    for.thread %24: i32 in 0 .. %12 step 1 {
      %25: i32 = add %10, %24
      %26: f32 = local_load $1[%24]
      store @own[%25] = %26
    }
  }
}
)");
}

TEST(Interchange, ASideOfABranchRunsWhereSomeInstanceTakesIt) {
  const std::string text = interchanged(R"(kernel @k(@sums: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    %2: bool = gt %1, 0.0
    if %2 {
      for %3: i32 in 0 .. 9 step 1 {
        accumulate atomic @sums[%3] += %1
      }
    }
  })");
  EXPECT_THAT(text, HasSubstr("local strip $1: bool[512]"));
  EXPECT_THAT(text, HasSubstr("local_store $2[0] = true"));
  EXPECT_THAT(text, HasSubstr("local_load $2[0]"));
}

TEST(Interchange, ALinearIndexIsComputedAnewInEachRun) {
  const std::string text = interchanged(R"(kernel @k(@sums: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = add %0, 3
    for %3: i32 in 0 .. 9 step 1 {
      %4: f32 = load @x[%1]
      accumulate atomic @sums[%3] += %4
    }
  })");
  EXPECT_THAT(text, HasSubstr("jam 4"));
  EXPECT_THAT(text, Not(HasSubstr("strip")));
}

TEST(Interchange, NothingToGainIsNothingDone) {
  const Kernel lowered = lower_threads(parse_kernel(R"(kernel @k(@x: array<f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    for %1: i32 in 0 .. 9 step 1 {
      accumulate atomic @x[%0] += 1.0
    }
  })"));
  EXPECT_EQ(to_string(interchanged(lowered)), to_string(lowered));
}

TEST(Interchange, EachInstanceOfAStripTouchesItsOwnElement) {
  const auto error = [](const char *index, const char *memory = "local strip $0: i32[8]") {
    const Kernel kernel = parse_kernel(fmt::format(R"(kernel @k(@n: i32) threads 1 {{
      {}
      for.thread %0: i32 in 0 .. 8 step 1 {{
        %1: i32 = add %0, 0
        local_store $0[{}] = 1
      }}
    }})",
                                                   memory, index));
    try {
      verify(kernel, Form::lowered, "a test");
      return std::string();
    } catch (const std::exception &failure) {
      return std::string(failure.what());
    }
  };
  EXPECT_EQ(error("%0"), "");
  EXPECT_THAT(error("%1"), HasSubstr("accessed at %1, which is not the index of the thread loop"));
  EXPECT_THAT(error("0"), HasSubstr("accessed at 0, which is not the index of the thread loop"));
  EXPECT_THAT(error("%0", "local strip $0: i32[@n]"), HasSubstr("size that is not a constant"));
  EXPECT_EQ(error("0", "local $0: i32[8]"), "");
  EXPECT_THAT(error("%1", "local $0: i32[8]"), HasSubstr("accessed at %1, which may differ between them"));
}

TEST(Interchange, VectorsSideBySideGoOneWay) {
  const Kernel kernel = parse_kernel(R"(kernel @k() threads 1 {
    for.thread %0: i32 in 0 .. 8 step 1 jam 4 {
      for %1: i32 in 0 .. 8 step 1 {
      }
    }
  })");
  try {
    verify(kernel, Form::lowered, "a test");
    FAIL() << "a loop in a jammed one";
  } catch (const std::exception &failure) {
    EXPECT_THAT(failure.what(), HasSubstr("a jammed loop contains a loop"));
  }
}

// The launch of a lowered kernel, from another index on.
Kernel beginning_at(Kernel lowered, std::int64_t begin) {
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) -> Stmt {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::LaunchBegin) return stmt;
    const Type type = let->value.type;
    return {Let{let->local, {Op::Copy, type, {Value::constant(type, begin)}}}, stmt.where()};
  });
  return lowered;
}

TEST(Interchange, RandomProgramsComputeTheSame) {
  constexpr std::int64_t slots = test::random_integers::slots;
  int changed = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const std::int64_t n = seed % 4 == 1 ? 37 : seed % 4 == 2 ? 64 : seed % 4 == 3 ? 331 : 600;
    std::mt19937 random(seed + 1);
    std::vector<std::int32_t> table(test::random_integers::table_size), out(static_cast<std::size_t>(n * slots));
    for (std::int32_t &value : table) value = static_cast<std::int32_t>(random() % 41) - 20;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(i % 11);
    test::Arguments arguments;
    arguments.add_array(out, {n, slots}).add_array(table).add(static_cast<std::int32_t>(n));
    arguments.add_array(std::vector<std::int32_t>(test::random_integers::shared_size));

    const Kernel structured = test::random_integers::Generator(seed).make();
    const std::int64_t begin = seed % 3 == 0 ? 0 : 5 * (seed % 7);
    const Kernel lowered = beginning_at(lower_threads(structured), begin), after = interchanged(lowered);
    if (to_string(after) == to_string(lowered)) continue;
    ++changed;
    const auto expected = test::interpret(lowered, {n}, arguments, {.lowered = true}).arguments;
    const auto found = test::interpret(after, {n}, arguments, {.lowered = true}).arguments;
    for (std::size_t array : {0, 3})
      ASSERT_EQ(found.elements<std::int32_t>(array), expected.elements<std::int32_t>(array))
          << "seed " << seed << '\n'
          << to_string(lowered) << to_string(after);
  }
  EXPECT_GT(changed, 20);
}

}  // namespace
}  // namespace samite::passes
