// Debug mode: failures are recorded, once, and harm nothing.
#include "tests/codegen/compiled_kernel.h"

#include <gmock/gmock.h>

#include <thread>

namespace samite::test {
namespace {

using codegen::Failure;
using codegen::FailureKind;

const codegen::EmitOptions debug = options(true, false, true);

TEST(Bounds, AnIndexOutsideIsReportedWithEverythingThatIsKnown) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<f32, 1>, @in: array<const f32, 2>) threads 1 {
    %0: i32 = thread_index 0 at "a.cpp":1
    %1: i32 = add %0, 5 at "a.cpp":2
    %2: f32 = load @in[1, %1] at "b.cpp":3
    store @out[%0] = %2 at "a.cpp":4
  })",
                              debug);
  std::vector<float> in(100, 3.f), out(50, -1.f);
  const Failure failure = kernel.run({50}, {array(out), array(in, {2, 50})});
  EXPECT_EQ(failure.state, 2u);
  EXPECT_EQ(failure.kind, FailureKind::index_out_of_bounds);
  EXPECT_EQ(failure.array, 1u);
  EXPECT_EQ(failure.dimension, 1u);
  EXPECT_EQ(failure.index, 50);
  EXPECT_EQ(failure.extent, 50);
  EXPECT_EQ(kernel.source().files.at(failure.file), "b.cpp");
  EXPECT_EQ(failure.line, 3u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(out[i], i < 45 ? 3.f : 0.f) << "the loads that failed gave zero";
}

TEST(Bounds, ACorrectKernelReportsNothing) {
  const CompiledKernel kernel(R"(kernel @k(@out: array<f32, 2>) threads 2 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    %2: bool = lt %1, 40
    if %2 { store @out[%0, %1] = 1.0 }
    accumulate atomic @out[0, 0] += 1.0
  })",
                              debug);
  std::vector<float> out(120);
  EXPECT_EQ(kernel.run({3, 50}, {array(out, {3, 40})}).state, 0u);
  EXPECT_EQ(out[119], 1);
}

// Each of these would crash or corrupt if the access were made.
TEST(Bounds, EveryKindOfAccessIsChecked) {
  const char *accesses[] = {
      "store @a[%3] = 1.0",  // one element for all lanes
      "%4: f32 = load @a[%3] store @a[%0] = %4",
      "store @a[%2] = 1.0",  // neighbours
      "%4: f32 = load @a[%2] store @a[%0] = %4",
      "store @a[%1] = 1.0",  // anywhere
      "%4: f32 = load @a[%1] store @a[%0] = %4",
      "accumulate atomic @a[%3] += 1.0",
      "accumulate atomic @a[%2] += 1.0",
      "accumulate atomic @a[%1] += 1.0",
      "accumulate @a[%2] += 1.0",
      "accumulate @a[%1] += 1.0",
      "%4: f32 = exchange @a[%3] store @a[%0] = %4",
      "%4: f32 = exchange @a[%2] store @a[%0] = %4",
      "%4: f32 = exchange @a[%1] store @a[%0] = %4",
  };
  for (const char *access : accesses) {
    const CompiledKernel kernel(std::string(R"(kernel @k(@a: array<f32, 1>, @far: array<const i32, 1>) threads 1 {
      %0: i32 = thread_index 0
      %1: i32 = load @far[%0]
      %2: i32 = add %0, 1000000000
      %3: i32 = load @far[0]
    )") + access + "}",
                                debug);
    std::vector<float> a(30, 1.f);
    const Failure failure = kernel.run({30}, {array(a), array(std::vector<int>(30, -1000000000))});
    EXPECT_EQ(failure.kind, FailureKind::index_out_of_bounds) << access;
    EXPECT_EQ(failure.array, 0u) << access;
    EXPECT_EQ(failure.extent, 30) << access;
    EXPECT_TRUE(failure.index == 1000000000 || failure.index == -1000000000) << access;
  }
}

TEST(Bounds, OnlyActiveInstancesAreAsked) {
  const CompiledKernel kernel(R"(kernel @k(@a: array<f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: bool = lt %0, 30
    if %1 { store @a[%0] = 2.0 }
    %2: bool = gt %0, 100
    if %2 {
      store @a[77] = 2.0
      %3: i32 = div 1, 0
      store @a[0] = 5.0
    }
  })",
                              debug);
  std::vector<float> a(30);
  EXPECT_EQ(kernel.run({64}, {array(a)}).state, 0u);
  EXPECT_EQ(a, std::vector<float>(30, 2.f));
}

TEST(Bounds, IntegerDivisionByZero) {
  for (const char *divisor : {"%1", "@zero", "0"}) {
    const CompiledKernel kernel(R"(kernel @k(@a: array<i32, 1>, @zero: i32) threads 1 {
      %0: i32 = thread_index 0
      %1: i32 = load @a[%0]
      %2: i32 = rem 7, )" + std::string(divisor) +
                                    R"( at "division.cpp":12
      store @a[%0] = %2
    })",
                                debug);
    std::vector<int> a(40, 2);
    a[33] = 0;
    const Failure failure = kernel.run({40}, {array(a), scalar(0)});
    EXPECT_EQ(failure.kind, FailureKind::integer_division_by_zero);
    EXPECT_EQ(failure.line, 12u);
    EXPECT_EQ(kernel.source().files.at(failure.file), "division.cpp");
    EXPECT_EQ(a[33], 7) << "x % 0 is x";
  }
}

TEST(Bounds, OfManyFailuresOneIsKeptWhole) {
  const CompiledKernel kernel(R"(kernel @k(@a: array<f32, 1>, @b: array<f32, 1>) threads 1 {
    %0: i64 = thread_index 0
    store @a[%0] = 1.0
    store @b[%0] = 1.0
  })",
                              debug);
  std::vector<float> a(10), b(20);
  const Failure failure = kernel.run({1000}, {array(a), array(b)});
  EXPECT_EQ(failure.array == 0 ? 10 : 20, failure.extent);
  EXPECT_GE(failure.index, failure.extent);
}

TEST(Bounds, WithoutDebugModeTheFailureIsNotTouched) {
  const CompiledKernel kernel(R"(kernel @k(@a: array<i32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = div 5, %0
    store @a[%0] = %1
  })");
  std::vector<int> a(3);
  EXPECT_EQ(kernel.run({3}, {array(a)}).state, 0u);
  EXPECT_EQ(a, (std::vector{0, 5, 2}));
}

}  // namespace
}  // namespace samite::test
