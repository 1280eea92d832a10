// Local arrays: on the stack and in the workspace, at indices that lanes share and at others, under masks.
#include "tests/codegen/compiled_kernel.h"

#include <gmock/gmock.h>

#include <numeric>

namespace samite::test {
namespace {

using codegen::Failure;
using codegen::FailureKind;
using testing::HasSubstr;
using testing::Not;

// More than one vector, and lanes that are off in the last one.
constexpr int n = 37;

TEST(LocalArray, ASmallOneIsOnTheStack) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<f32, 1>, @in: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    local $0: f32[3]
    %1: f32 = load @in[%0]
    local_store $0[2] = %1
    local_store $0[0] = 10.0
    %2: f32 = local_load $0[2]
    %3: f32 = local_load $0[0]
    %4: f32 = add %2, %3
    store @out[%0] = %4
  })");
  EXPECT_THAT(kernel.source().text, HasSubstr("F32 a0[3];"));
  EXPECT_FALSE(kernel.source().uses_workspace);
  std::vector<float> in(n), out(n);
  std::iota(in.begin(), in.end(), 0.f);
  kernel.run({n}, {array(out), array(in)});
  for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], 10.f + i);
}

// 16 lanes of 256 floats take 16 KiB, of 257 more.
TEST(LocalArray, ALargeOneIsInTheWorkspace) {
  auto kernel_of = [](const std::string &size) {
    return CompiledKernel("kernel @k(@out: array<f32, 1>) threads 1 { %0: i32 = thread_index 0 local $0: f32[" + size +
                          "] local_store $0[%0] = 1.0 %1: f32 = local_load $0[%0] store @out[%0] = %1 }");
  };
  EXPECT_FALSE(kernel_of("256").source().uses_workspace);
  const CompiledKernel large = kernel_of("257");
  EXPECT_TRUE(large.source().uses_workspace);
  std::vector<float> out(n);
  EXPECT_EQ(large.run({n}, {array(out)}).state, 0u);
  EXPECT_EQ(out, std::vector<float>(n, 1.f));
}

TEST(LocalArray, FourOfThemFillTheStacksShare) {
  std::string body;
  for (int array = 0; array < 5; ++array) {
    const std::string name = "$" + std::to_string(array);
    body += "local " + name + ": i64[128] local_store " + name + "[5] = 1:i64 %" + std::to_string(array + 1) +
            ": i64 = local_load " + name + "[5] accumulate @out[%0] += %" + std::to_string(array + 1) + "\n";
  }
  const CompiledKernel kernel("kernel @k(@out: array<i64, 1>) threads 1 { %0: i32 = thread_index 0 " + body + "}");
  EXPECT_THAT(kernel.source().text, HasSubstr(" a3[128];"));
  EXPECT_THAT(kernel.source().text, Not(HasSubstr(" a4[128];")));
  std::vector<std::int64_t> out(n);
  kernel.run({n}, {array(out)});
  EXPECT_EQ(out, std::vector<std::int64_t>(n, 5));
}

// Each lane has its own array: no other lane sees its stores.
TEST(LocalArray, EachLaneHasItsOwnElementAtItsOwnIndex) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 2>, @where: array<const i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    local $0: i32[4]
    for %1: i32 in 0 .. 4 step 1 { local_store $0[%1] = 0 }
    %2: i32 = load @where[%0]
    local_store $0[%2] = %0
    for %3: i32 in 0 .. 4 step 1 {
      %4: i32 = local_load $0[%3]
      store @out[%0, %3] = %4
    }
    %5: i32 = local_load $0[%2]
    accumulate @out[%0, 0] += %5
  })");
  std::vector<int> out(4 * n), where(n), expected(4 * n);
  for (int i = 0; i < n; ++i) {
    where[i] = i * i % 4;
    expected[4 * i + where[i]] = i;
    expected[4 * i] += i;
  }
  kernel.run({n}, {array(out, {n, 4}), array(where)});
  EXPECT_EQ(out, expected);
}

TEST(LocalArray, TheThreadIndexIsAnIndexLikeAnyOther) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    local $0: i32[64]
    local_store $0[%0] = %0
    %1: i32 = local_load $0[%0]
    store @out[%0] = %1
  })");
  std::vector<int> out(n), expected(n);
  std::iota(expected.begin(), expected.end(), 0);
  kernel.run({n}, {array(out)});
  EXPECT_EQ(out, expected);
}

TEST(LocalArray, ALaneThatIsOffKeepsItsElement) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    local $0: i32[2]
    local_store $0[1] = 7
    %1: i32 = and %0, 1
    %2: bool = eq %1, 0
    if %2 { local_store $0[1] = %0 } else { local_store $0[%1] = 9 }
    for %3: i32 in 0 .. %1 step 1 {
      %4: i32 = local_load $0[1]
      %5: i32 = add %4, 100
      local_store $0[1] = %5
    }
    %6: i32 = local_load $0[1]
    store @out[%0] = %6
  })");
  std::vector<int> out(n);
  kernel.run({n}, {array(out)});
  for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], i % 2 == 0 ? i : 109);
}

// Lanes that are off in the last vector have no array, so that their elements need not be kept.
TEST(LocalArray, LanesThatAllocateItTogetherStoreWithoutAMask) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    local $0: i32[2]
    local_store $0[1] = 7
    %1: bool = gt %0, 20
    if %1 { local_store $0[1] = 9 }
    %2: i32 = local_load $0[1]
    store @out[%0] = %2
  })");
  EXPECT_THAT(kernel.source().text, HasSubstr("store_local(a0, "));
  EXPECT_THAT(kernel.source().text, HasSubstr("store_local(m"));
  std::vector<int> out(n);
  kernel.run({n}, {array(out)});
  for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], i > 20 ? 9 : 7);
}

TEST(LocalArray, HoldsEveryType) {
  for (const char *type : {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"}) {
    const std::string t = type;
    const CompiledKernel kernel("kernel @k(@out: array<i32, 1>) threads 1 { %0: i32 = thread_index 0 local $0: " + t +
                                "[40] %1: " + t + " = cast %0 local_store $0[3] = %1 local_store $0[%0] = %1 %2: " + t +
                                " = local_load $0[3] %3: " + t + " = local_load $0[%0] %4: " + t +
                                " = add %2, %3 %5: i32 = cast %4 store @out[%0] = %5 }");
    std::vector<int> out(n), expected(n);
    for (int i = 0; i < n; ++i) expected[i] = 2 * i;
    kernel.run({n}, {array(out)});
    EXPECT_EQ(out, expected) << type;
  }
}

TEST(LocalArray, HoldsBools) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    local $0: bool[3]
    %1: i32 = rem %0, 3
    for %2: i32 in 0 .. 3 step 1 { local_store $0[%2] = false }
    local_store $0[%1] = true
    %3: bool = local_load $0[1]
    %4: bool = local_load $0[%1]
    %5: bool = gt %0, 20
    if %5 { local_store $0[2] = %5 }
    %6: bool = local_load $0[2]
    %7: i32 = cast %3
    %8: i32 = cast %4
    %9: i32 = cast %6
    %10: i32 = mul %8, 10
    %11: i32 = mul %9, 100
    %12: i32 = add %7, %10
    %13: i32 = add %12, %11
    store @out[%0] = %13
  })");
  std::vector<int> out(n);
  kernel.run({n}, {array(out)});
  for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], (i % 3 == 1) + 10 + 100 * (i % 3 == 2 || i > 20)) << i;
}

// Sizes that differ from lane to lane; 64-bit indices.
TEST(LocalArray, HasASizeThatTheKernelComputes) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i64, 1>) threads 1 {
    %0: i64 = thread_index 0
    %1: i64 = mul %0, %0
    local $0: i64[%1]
    for %2: i64 in 0:i64 .. %1 step 1:i64 { local_store $0[%2] = %2 }
    for %3: i64 in 0:i64 .. %1 step 1:i64 carry (%4 -> %5: i64 = 0:i64 then %7) {
      %8: i64 = sub %1, %3
      %9: i64 = sub %8, 1:i64
      %6: i64 = local_load $0[%9]
      %7: i64 = add %4, %6
    }
    store @out[%0] = %5
  })");
  std::vector<std::int64_t> out(n);
  EXPECT_EQ(kernel.run({n}, {array(out)}).state, 0u);
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(out[i], i * i * (i * i - 1) / 2);
}

// The workspace is released after each iteration, so that 4096 iterations of 1 MiB a lane need no more than a few; and
// allocations of the inner loop do not affect the outer array.
TEST(LocalArray, NestedLoopsAllocateAndRelease) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>, @size: i32) threads 1 {
    %0: i32 = thread_index 0
    for %1: i32 in 0 .. 64 step 1 {
      local $0: i32[@size]
      local_store $0[%1] = %1
      for %2: i32 in 0 .. 64 step 1 {
        local $1: i32[@size]
        local_store $1[%2] = %2
        %3: i32 = local_load $0[%1]
        %4: i32 = local_load $1[%2]
        %5: i32 = add %3, %4
        accumulate @out[%0] += %5
      }
    }
  })");
  std::vector<int> out(n);
  EXPECT_EQ(kernel.run({n}, {array(out), scalar(1 << 18)}).state, 0u);
  EXPECT_EQ(out, std::vector<int>(n, 2 * 64 * 63 / 2 * 64));
}

TEST(LocalArray, InAWhileIsReleasedHoweverTheLoopIsLeft) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>, @size: i32) threads 1 {
    %0: i32 = thread_index 0
    while carry (%1 -> %2: i32 = 0 then %6) {
      local $0: i32[@size]
      local_store $0[3] = %1
      %3: i32 = local_load $0[3]
      %4: bool = lt %3, %0
    } test %4 {
      %5: i32 = local_load $0[3]
      %6: i32 = add %5, 1
    }
    store @out[%0] = %2
  })");
  std::vector<int> out(n), expected(n);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(kernel.run({n}, {array(out), scalar(1 << 16)}).state, 0u);
  EXPECT_EQ(out, expected);
}

TEST(LocalArray, WithoutElementsIsAllowed) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>, @size: i32) threads 1 {
    %0: i32 = thread_index 0
    local $0: i32[@size]
    for %1: i32 in 0 .. @size step 1 { local_store $0[%1] = 1 }
    for %2: i32 in 0 .. @size step 1 {
      %3: i32 = local_load $0[%2]
      accumulate @out[%0] += %3
    }
  })");
  for (int size : {0, -3}) {
    std::vector<int> out(n);
    EXPECT_EQ(kernel.run({n}, {array(out), scalar(size)}).state, 0u);
    EXPECT_EQ(out, std::vector<int>(n, 0));
  }
}

TEST(LocalArray, WithoutMemoryTheKernelSaysSoAndStops) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>, @size: i64) threads 1 {
    %0: i32 = thread_index 0 at "a.cpp":1
    store @out[%0] = 1 at "a.cpp":2
    local $0: i32[@size] at "a.cpp":3
    local_store $0[%0] = 1 at "a.cpp":4
    %1: i32 = local_load $0[%0] at "a.cpp":5
    %2: i32 = add %1, 1 at "a.cpp":6
    store @out[%0] = %2 at "a.cpp":7
  })");
  const std::int64_t lanes = kernel.lanes(), most = ((std::int64_t{1} << 31) - 1) / lanes;
  for (std::int64_t size : {most + 1, std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    std::vector<int> out(n);
    const Failure failure = kernel.run({n}, {array(out), scalar(size)});
    EXPECT_EQ(failure.kind, FailureKind::out_of_memory);
    EXPECT_EQ(kernel.source().sites.at(failure.array).to_string(), "a.cpp:3");
    if (size < std::int64_t{1} << 50) {
      EXPECT_EQ(failure.index, 4 * lanes * size);
    }
    EXPECT_EQ(out, std::vector<int>(n, 1)) << "what was before it has run, what is after it has not";
  }
}

TEST(LocalArray, DebugModeChecksTheIndex) {
  const char *accesses[] = {
      "local_store $0[%3] = 1.0 at \"a.cpp\":9",  // one index for all lanes
      "%4: f32 = local_load $0[%3] at \"a.cpp\":9 store @out[%0] = %4",
      "local_store $0[%0] = 1.0 at \"a.cpp\":9",  // an index for each
      "%4: f32 = local_load $0[%0] at \"a.cpp\":9 store @out[%0] = %4",
  };
  for (const char *size : {"20", "@size"})
    for (const std::string access : accesses) {
      const CompiledKernel kernel(std::string("kernel @k(@out: array<f32, 1>, @size: i32, @at: i32) threads 1 {"
                                              "%0: i32 = thread_index 0 local $0: f32[") +
                                      size + "] %3: i32 = add @at, 0 " + access + " }",
                                  options(true, false, true));
      std::vector<float> out(n);
      const std::vector<Argument> inside{array(out), scalar(20), scalar(19)},
          outside{array(out), scalar(20), scalar(-1)};
      EXPECT_EQ(kernel.run({20}, inside).state, 0u) << access;
      const Failure failure = kernel.run({n}, outside);
      EXPECT_EQ(failure.kind, FailureKind::local_index_out_of_bounds) << access;
      EXPECT_EQ(failure.index, access.find("%3]") == std::string::npos ? 20 : -1) << access;
      EXPECT_EQ(failure.extent, 20);
      EXPECT_EQ(failure.line, 9u);
      EXPECT_EQ(kernel.source().files.at(failure.file), "a.cpp");
    }
}

TEST(LocalArray, DebugModeChecksEachLanesOwnSize) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = add %0, 1
    local $0: i32[%1]
    local_store $0[0] = 5
    local_store $0[3] = 6
    %2: i32 = local_load $0[0]
    store @out[%0] = %2
  })",
                              options(true, false, true));
  std::vector<int> out(n);
  const Failure failure = kernel.run({n}, {array(out)});
  EXPECT_EQ(failure.kind, FailureKind::local_index_out_of_bounds);
  EXPECT_EQ(failure.index, 3);
  EXPECT_EQ(failure.extent, 1);
  EXPECT_EQ(out, std::vector<int>(n, 5));
}

}  // namespace
}  // namespace samite::test
