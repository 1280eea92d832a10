// Loops in which all instances add to one element, another one in each iteration: a strip of instances goes through
// them together.
#include "tests/codegen/compiled_kernel.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::test {
namespace {

// Values that instances keep while others run.
constexpr const char *kept = "load_strip";

using testing::HasSubstr;
using testing::Not;

// Each instance adds to all elements of @sums, and its own total to @own: whole numbers, so that order does not matter.
constexpr const char *all_pairs =
    R"(kernel @k(@sums: array<f32, 1>, @own: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @x[%0]
  %2: i32 = extent @x, 0
  %3: i32 = sub %2, 1
  for %4: i32 in %3 .. -1 step -1 carry (%5 -> %6: f32 = 1.0 then %9) {
    %7: f32 = load @x[%4]
    %8: f32 = sub %1, %7
    %9: f32 = add %5, %8
    accumulate atomic @sums[%4] += %8
  }
  store @own[%0] = %6
})";

// The same, by a part of the instances, which is known when the kernel runs.
constexpr const char *guarded =
    R"(kernel @k(@sums: array<f32, 1>, @own: array<f32, 1>, @x: array<const f32, 1>, @part: i32) threads 1 {
  %0: i32 = thread_index 0
  %1: bool = lt %0, @part
  if %1 -> (%2: f32 = %9 | -1.0) {
    %3: f32 = load @x[%0]
    %4: i32 = extent @x, 0
    for %5: i32 in 0 .. %4 step 1 carry (%6 -> %9: f32 = 1.0 then %10) {
      %7: f32 = load @x[%5]
      %8: f32 = sub %3, %7
      %10: f32 = add %6, %8
      accumulate atomic @sums[%5] += %8
    }
  }
  store @own[%0] = %2
})";

struct Sums {
  std::vector<float> x, sums, own, expected_sums, expected_own;

  Sums(int n, int elements, int part) : x(elements), sums(elements), own(n), expected_sums(elements), expected_own(n) {
    for (int i = 0; i < elements; ++i) x[i] = static_cast<float>(i * 7 % 5);
    for (int i = 0; i < n; ++i) {
      expected_own[i] = i < part ? 1.0f : -1.0f;
      for (int j = 0; j < elements && i < part; ++j) {
        expected_sums[j] += x[i] - x[j];
        expected_own[i] += x[i] - x[j];
      }
    }
  }
};

TEST(InterchangedLoop, AreSummedOverTheLanesOnce) {
  const std::string text = CompiledKernel(all_pairs).source().text;
  EXPECT_THAT(text, HasSubstr("atomic_add<f32>(&p0.data[v4], sum_lanes<f32>(all_lanes(), sum0"));
  EXPECT_THAT(text, HasSubstr(kept));
  EXPECT_THAT(text, Not(HasSubstr("SumRows")));
}

TEST(InterchangedLoop, WhateverIsLeftOver) {
  for (bool worker_private : {false, true}) {
    codegen::EmitOptions chosen = options();
    chosen.arrays[0].worker_private = worker_private;
    const CompiledKernel kernel(all_pairs, chosen);
    for (int n : {0, 1, 15, 16, 63, 64, 65, 511, 512, 700, 1601}) {
      Sums given(n, n, n);
      kernel.run({n}, {array(given.sums), array(given.own), array(given.x)});
      EXPECT_EQ(given.sums, given.expected_sums) << n;
      EXPECT_EQ(given.own, given.expected_own) << n;
    }
  }
}

TEST(InterchangedLoop, OfALaunchThatIsCutAnywhere) {
  const CompiledKernel kernel(all_pairs);
  Sums given(1000, 1000, 1000);
  for (auto [begin, end] : {std::pair{0, 3}, {3, 130}, {130, 131}, {131, 1000}})
    kernel.run_box({begin}, {end}, {array(given.sums), array(given.own), array(given.x)});
  EXPECT_EQ(given.sums, given.expected_sums);
  EXPECT_EQ(given.own, given.expected_own);
}

TEST(InterchangedLoop, WhereAPartOfTheInstancesTakesPart) {
  const CompiledKernel kernel(guarded);
  EXPECT_THAT(kernel.source().text, HasSubstr(kept));
  for (int part : {0, 1, 16, 100, 599, 600}) {
    Sums given(600, 600, part);
    kernel.run({600}, {array(given.sums), array(given.own), array(given.x), scalar(part)});
    EXPECT_EQ(given.sums, given.expected_sums) << part;
    EXPECT_EQ(given.own, given.expected_own) << part;
  }
}

TEST(InterchangedLoop, NothingIsTouchedWhereNobodyTakesPart) {
  const CompiledKernel kernel(guarded);
  std::vector<float> own(100), x(100);
  const Argument nowhere = strided(nullptr, {1}, {1});
  kernel.run({100}, {nowhere, array(own), array(x), scalar(0)});
  EXPECT_EQ(own, std::vector<float>(100, -1));
}

TEST(InterchangedLoop, OfDoublesAndWithGapsBetweenElements) {
  const CompiledKernel kernel(
      R"(kernel @k(@sums: array<f64, 2>, @x: array<const f64, 1>, @n: i64) threads 2 {
    %0: i64 = thread_index 0
    %1: i64 = thread_index 1
    %2: f64 = load @x[%1]
    for %3: i64 in 0:i64 .. @n step 1:i64 {
      for %4: i64 in 0:i64 .. %3 step 2:i64 {
        accumulate atomic @sums[%3, %4] += %2
      }
    }
  })",
      options(false, true));
  const long long rows = 3, n = 300, size = 6;
  std::vector<double> sums(2 * size * size), x(2 * n);
  double sum = 0;
  for (long long i = 0; i < n; ++i) sum += x[2 * i] = static_cast<double>(i % 9);
  kernel.run({rows, n}, {strided(sums.data(), {size, size}, {2 * size, 2}), strided(x.data(), {n}, {2}), scalar(size)});
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) {
      EXPECT_EQ(sums[2 * (size * i + j)], j < i && j % 2 == 0 ? rows * sum : 0) << i << ' ' << j;
      EXPECT_EQ(sums[2 * (size * i + j) + 1], 0);
    }
}

TEST(InterchangedLoop, NotWhereALocalArrayLivesOnAfterTheLoop) {
  const auto text = [](const char *last) {
    return CompiledKernel(fmt::format(R"(kernel @k(@sums: array<f32, 1>, @out: array<f32, 1>) threads 1 {{
      %0: i32 = thread_index 0
      %1: f32 = cast %0
      local $0: f32[4]
      for %2: i32 in 0 .. 4 step 1 {{
        local_store $0[%2] = %1
      }}
      %3: f32 = local_load $0[1]
      for %4: i32 in 0 .. 4 step 1 {{
        accumulate atomic @sums[%4] += %3
      }}
      {}
    }})",
                                      last))
        .source()
        .text;
  };
  EXPECT_THAT(text("store @out[%0] = %3"), HasSubstr(kept));
  EXPECT_THAT(text("%5: f32 = local_load $0[2] store @out[%0] = %5"), Not(HasSubstr(kept)));
}

TEST(InterchangedLoop, NotWhereEachAccessIsChecked) {
  EXPECT_THAT(CompiledKernel(all_pairs, options(true, false, true)).source().text, Not(HasSubstr(kept)));
}

}  // namespace
}  // namespace samite::test
