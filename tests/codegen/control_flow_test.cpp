// Branches and loops in which lanes diverge.
#include "tests/codegen/compiled_kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace samite::test {
namespace {

// Runs a kernel over @out and @in, with `in` of 0 .. n - 1 in some order, and gives `out` by the input's value.
std::vector<int> outputs(const std::string &body, int n = 83) {
  const CompiledKernel kernel(
      "kernel @k(@out: array<i32, 1>, @in: array<const i32, 1>, @n: i32) threads 1 {\n"
      "%0: i32 = thread_index 0\n%1: i32 = load @in[%0]\n" +
      body + "\n}");
  std::vector<int> in(n), out(n, -1), sorted(n);
  for (int i = 0; i < n; ++i) in[i] = i * 31 % n;
  kernel.run({n}, {array(out), array(in), scalar(n)});
  for (int i = 0; i < n; ++i) sorted[in[i]] = out[i];
  return sorted;
}

TEST(ControlFlow, BothSidesOfADivergentBranch) {
  const std::vector<int> out = outputs(R"(%2: bool = lt %1, 40
    if %2 -> (%3: i32 = %5 | %7) {
      %4: i32 = mul %1, 2
      store @out[%0] = 5
      %5: i32 = rem %4, 7
    } else {
      %6: i32 = load @in[0]
      %7: i32 = sub %6, %1
    }
    store @out[%0] = %3)");
  for (int i = 0; i < 83; ++i) EXPECT_EQ(out[i], i < 40 ? 2 * i % 7 : -i);
}

TEST(ControlFlow, ABranchWithOneSideOrNone) {
  const std::vector<int> out = outputs(R"(%2: bool = lt %1, 40
    %3: bool = lt %1, 60
    if %2 -> (%4: i32 = 1 | 2, %5: bool = true | %3) {}
    if %2 -> (%6: i32 = %4 | %7) {} else { %7: i32 = load @in[3] }
    if %3 -> (%8: i32 = %9 | 0) { %9: i32 = add %6, 100 }
    %10: i32 = cast %5
    %11: i32 = mul %10, 1000
    %12: i32 = add %8, %11
    store @out[%0] = %12)");
  for (int i = 0; i < 83; ++i) {
    const int six = i < 40 ? 1 : 93 % 83;
    EXPECT_EQ(out[i], (i < 60 ? six + 100 : 0) + (i < 60 ? 1000 : 0)) << i;
  }
}

// Values that all lanes share may be read only if some lane takes the branch.
TEST(ControlFlow, ABranchThatNoLaneTakesReadsNothing) {
  const std::vector<int> out = outputs(R"(%2: bool = lt %1, 0
    if %2 -> (%3: i32 = %4 | 8) { %4: i32 = load @in[1000000000] }
    store @out[%0] = %3)");
  EXPECT_EQ(out, std::vector<int>(83, 8));
}

// A second side so large that full vectors have code without it.
TEST(ControlFlow, AFallbackThatSomeLanesNeed) {
  for (const int needed_from : {0, 1, 40, 80, 83}) {
    std::string fallback = "%10: i32 = add %1, 1\n";
    for (int k = 11; k <= 90; ++k)
      fallback += fmt::format("%{}: i32 = {} %{}, {}\n", k, k % 2 ? "mul" : "sub", k - 1, k);
    const std::vector<int> out = outputs(fmt::format(R"(%2: bool = lt %1, {}
      if %2 -> (%3: i32 = %5 | %90, %4: i32 = 7 | %89) {{ %5: i32 = mul %1, 2 }} else {{ {} }}
      %6: i32 = xor %3, %4
      store @out[%0] = %6)",
                                                     needed_from, fallback));
    for (unsigned i = 0; i < 83; ++i) {
      unsigned before = 0, last = i + 1;
      for (unsigned k = 11; k <= 90; ++k) {
        before = last;
        last = k % 2 ? last * k : last - k;
      }
      const unsigned expected = static_cast<int>(i) < needed_from ? (2 * i) ^ 7u : last ^ before;
      ASSERT_EQ(out[i], static_cast<int>(expected)) << needed_from << ": " << i;
    }
  }
}

TEST(ControlFlow, AUniformBranchIsTakenByAllLanes) {
  const std::vector<int> out = outputs(R"(%2: bool = lt @n, 100
    if %2 -> (%3: i32 = %0 | 8, %4: i32 = %1 | 9) { store @out[%0] = 3 } else { store @out[%0] = 4 }
    %5: i32 = sub %3, %0
    %6: i32 = add %4, %5
    store @out[%0] = %6)");
  for (int i = 0; i < 83; ++i) EXPECT_EQ(out[i], i);
}

TEST(ControlFlow, LoopsOfDifferentLengthsWithCarriedValues) {
  const std::vector<int> out = outputs(R"(%2: i32 = rem %1, 13
    for %3: i32 in 0 .. %2 step 1 carry (%4 -> %5: i32 = 0 then %8, %6 -> %7: i32 = 1 then %4, %9 -> %10: i32 = 7 then %11) {
      %8: i32 = add %6, %3
      %11: i32 = add %9, 1
    }
    %12: i32 = mul %5, 1000
    %13: i32 = mul %7, 100000
    %14: i32 = add %12, %13
    %15: i32 = add %14, %10
    store @out[%0] = %15)");
  for (int i = 0; i < 83; ++i) {
    int a = 0, b = 1, c = 7;
    for (int k = 0; k < i % 13; ++k) {
      const int next = b + k;
      b = a, a = next, ++c;
    }
    EXPECT_EQ(out[i], a * 1000 + b * 100000 + c) << i;
  }
}

TEST(ControlFlow, LoopsThatCountDownFromDifferentPlacesByDifferentSteps) {
  const std::vector<int> out = outputs(R"(%2: i32 = rem %1, 5
    %13: i32 = sub %2, 2
    %3: i32 = or %13, 1
    for %4: i32 in %1 .. 40 step %3 carry (%5 -> %6: i32 = 0 then %7) {
      %8: i32 = add %5, %4
      %7: i32 = and %8, 65535
    }
    for %9: i32 in %1 .. 3 step -4 carry (%10 -> %11: i32 = %6 then %12) { %12: i32 = add %10, 1 }
    store @out[%0] = %11)",
                                       79);
  for (int i = 0; i < 79; ++i) {
    const int step = (i % 5 - 2) | 1;
    int sum = 0;
    for (int k = i; step > 0 ? k < 40 : k > 40; k += step) sum = (sum + k) & 65535;
    for (int k = i; k > 3; k -= 4) ++sum;
    EXPECT_EQ(out[i], sum) << i;
  }
}

// Lanes that have not started yet, and those that never do, must not be touched.
TEST(ControlFlow, LoopsThatLanesEnterAtDifferentTimes) {
  const std::vector<int> out = outputs(R"(%2: bool = lt %1, 70
    if %2 -> (%3: i32 = %8 | -1) {
      local $0: i32[83]
      for %4: i32 in 0 .. 83 step 1 { local_store $0[%4] = %4 }
      for %5: i32 in %1 .. 4 step -1 carry (%6 -> %7: i32 = 5 then %10, %11 -> %12: i32 = 0 then %13) {
        %9: i32 = local_load $0[%5]
        local_store $0[%5] = 1000
        %10: i32 = add %6, %9
        %13: i32 = add %11, 1
      }
      for %14: i32 in %7 .. 150 step 1 carry (%15 -> %16: i32 = 0 then %17) {
        %18: i32 = mul %15, 3
        %19: i32 = add %18, %14
        %17: i32 = and %19, 1023
      }
      %20: i32 = local_load $0[7]
      %21: i32 = mul %12, 2048
      %22: i32 = add %20, %21
      %23: i32 = mul %22, 1024
      %8: i32 = add %23, %16
    }
    store @out[%0] = %3)");
  for (int i = 0; i < 83; ++i) {
    int sum = 5, trips = 0, hash = 0;
    for (int k = i; k > 4; --k) sum += k, ++trips;
    for (int k = sum; k < 150; ++k) hash = (3 * hash + k) & 1023;
    const int seventh = i >= 7 ? 1000 : 7;
    EXPECT_EQ(out[i], i < 70 ? (seventh + trips * 2048) * 1024 + hash : -1) << i;
  }
}

TEST(ControlFlow, WhileLoopsThatLanesLeaveAtDifferentTimes) {
  const std::vector<int> out = outputs(R"(%2: i32 = add %1, 1
    while carry (%3 -> %4: i32 = %2 then %9, %5 -> %6: i32 = 0 then %10) {
      %7: bool = ne %3, 1
    } test %7 {
      %11: i32 = and %3, 1
      %12: bool = eq %11, 0
      if %12 -> (%9: i32 = %13 | %14) {
        %13: i32 = div %3, 2
      } else {
        %15: i32 = mul %3, 3
        %14: i32 = add %15, 1
      }
      %10: i32 = add %5, 1
    }
    %16: i32 = mul %4, %6
    store @out[%0] = %16)");
  for (int i = 0; i < 83; ++i) {
    int steps = 0;
    for (int x = i + 1; x != 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    EXPECT_EQ(out[i], steps) << i;
  }
}

TEST(ControlFlow, AWhileLoopInsideADivergentBranchInsideALoop) {
  const std::vector<int> out = outputs(R"(for %2: i32 in 0 .. 6 step 1 carry (%3 -> %4: i32 = 0 then %5) {
      %6: i32 = add %1, %2
      %7: i32 = rem %6, 3
      %8: bool = eq %7, 0
      if %8 -> (%5: i32 = %9 | %3) {
        while carry (%10 -> %9: i32 = %3 then %11, %12 -> %13: i32 = 0 then %14) {
          %15: bool = lt %12, %2
        } test %15 {
          %11: i32 = add %10, %1
          %14: i32 = add %12, 1
          %16: bool = eq %14, 3
          if %16 { accumulate @out[%0] += %14 }
        }
      }
    }
    %17: i32 = load @out[%0]
    %18: i32 = mul %17, 100000
    %19: i32 = add %4, %18
    store @out[%0] = %19)");
  for (int i = 0; i < 83; ++i) {
    int sum = 0, marks = -1;
    for (int j = 0; j < 6; ++j) {
      if ((i + j) % 3 != 0) continue;
      for (int k = 0; k < j; ++k) {
        sum += i;
        if (k + 1 == 3) marks += 3;
      }
    }
    EXPECT_EQ(out[i], sum + 100000 * marks) << i;
  }
}

TEST(ControlFlow, AWindowReadsNeighboursAsVectors) {
  const std::vector<int> out = outputs(R"(%2: i32 = sub %0, 2
    %3: i32 = add %0, 3
    for %4: i32 in %2 .. %3 step 1 carry (%5 -> %6: i32 = 0 then %7) {
      %8: bool = ge %4, 0
      %9: bool = lt %4, @n
      %10: bool = and %8, %9
      if %10 -> (%11: i32 = %12 | 0) { %12: i32 = load @in[%4] }
      %7: i32 = add %5, %11
    }
    store @out[%0] = %6)");
  for (int i = 0; i < 83; ++i) {
    int sum = 0;
    for (int k = std::max(0, i - 2); k < std::min(83, i + 3); ++k) sum += k * 31 % 83;
    EXPECT_EQ(out[i * 31 % 83], sum) << i;
  }
}

TEST(ControlFlow, ForcesOfBodiesOnEachOther) {
  const CompiledKernel kernel(
      R"(kernel @nbody(@a: array<f32, 1>, @x: array<const f32, 1>, @m: array<const f32, 1>, @soft: f32) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    %2: i32 = extent @x, 0
    for %3: i32 in 0 .. %2 step 1 carry (%4 -> %5: f32 = 0.0 then %13) {
      %6: f32 = load @x[%3]
      %7: f32 = sub %6, %1
      %8: f32 = mul %7, %7
      %9: f32 = add %8, @soft
      %10: f32 = rsqrt %9
      %11: f32 = load @m[%3]
      %12: f32 = mul %10, %11
      %14: f32 = mul %12, %7
      %13: f32 = add %4, %14
    }
    store @a[%0] = %5
  })");
  const int n = 70;
  std::vector<float> x(n), m(n), a(n);
  for (int i = 0; i < n; ++i) x[i] = std::sin(static_cast<float>(i)), m[i] = 1.f + 0.1f * static_cast<float>(i % 7);
  kernel.run({n}, {array(a), array(x), array(m), scalar(0.01f)});
  for (int i = 0; i < n; ++i) {
    double force = 0;
    for (int j = 0; j < n; ++j) {
      const double apart = double(x[j]) - x[i];
      force += m[j] * apart / std::sqrt(apart * apart + 0.01f);
    }
    EXPECT_NEAR(a[i], force, 2e-5 * n);
  }
}

TEST(ControlFlow, ALargeBodyIsCompiledOnceAndMasked) {
  std::string body = "%2: i32 = add %1, 1\n";
  for (int i = 3; i < 600; ++i)
    body += "%" + std::to_string(i) + ": i32 = " + (i % 2 ? "mul %" : "xor %") + std::to_string(i - 1) + ", " +
            std::to_string(i) + "\n";
  const std::vector<int> out = outputs(body + "store @out[%0] = %599");
  for (int k = 0; k < 83; ++k) {
    unsigned value = static_cast<unsigned>(k) + 1;
    for (unsigned i = 3; i < 600; ++i) value = i % 2 ? value * i : value ^ i;
    EXPECT_EQ(out[k], static_cast<int>(value));
  }
}

// Such a kernel's loops test at their end whether to continue: upwards, downwards, without an iteration, and with
// carried values.
TEST(ControlFlow, ManyLoopsInAKernel) {
  std::string body = "%2: i32 = rem @n, 7\n";
  int next = 3, sum = 0;
  std::string total = "0";
  for (int k = 0; k < 70; ++k) {
    const int begin = k % 3 - 1, end = k % 5 - 2, step = k % 4 == 3 ? -1 : k % 4 == 2 ? 2 : 1;
    const int index = next, inner = next + 1, result = next + 2, add = next + 3;
    next += 4;
    // 83 % 7 is 6.
    body += "for %" + std::to_string(index) + ": i32 in " + std::to_string(begin) + " .. " +
            (k % 2 == 0 ? "%2" : std::to_string(end)) + " step " + std::to_string(step) + " carry (%" +
            std::to_string(inner) + " -> %" + std::to_string(result) + ": i32 = " + total + " then %" +
            std::to_string(add) + ") { %" + std::to_string(add) + ": i32 = add %" + std::to_string(inner) + ", %" +
            std::to_string(index) + " }\n";
    total = "%" + std::to_string(result);
    const int last = k % 2 == 0 ? 6 : end;
    for (int i = begin; step > 0 ? i < last : i > last; i += step) sum += i;
  }
  body += "%" + std::to_string(next) + ": i32 = add " + total + ", %1\nstore @out[%0] = %" + std::to_string(next);
  const std::vector<int> out = outputs(body);
  for (int i = 0; i < 83; ++i) EXPECT_EQ(out[i], sum + i);
}

}  // namespace
}  // namespace samite::test
