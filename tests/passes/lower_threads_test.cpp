#include "samite/passes/threads/lower_threads.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

std::string lowered(std::string_view text) {
  ir::Kernel kernel = lower_threads(ir::parse_kernel(text));
  ir::verify(kernel, ir::Form::lowered, "lower_threads");
  return ir::to_string(kernel, {.renumber = true});
}

TEST(LowerThreads, TheLastDimensionIsTheThreadLoop) {
  EXPECT_EQ(lowered(R"(kernel @fill(@out: array<i32, 2>) threads 2 {
              %0: i32 = thread_index 0
              %1: i32 = thread_index 1
              store @out[%0, %1] = %1
            })"),
            R"(kernel @fill(@out: array<i32, 2>) threads 2 {
  %0: i32 = launch_begin 0
  %1: i32 = launch_end 0
  %2: i32 = launch_begin 1
  %3: i32 = launch_end 1
  for.block %4: i32 in %0 .. %1 step 1 {
    for.thread %5: i32 in %2 .. %3 step 1 {
      store @out[%4, %5] = %5
    }
  }
}
)");
}

TEST(LowerThreads, AnIndexInABranchIsReplacedToo) {
  EXPECT_EQ(lowered(R"(kernel @fill(@out: array<i64, 1>, @some: bool) threads 1 {
              if @some {
                %0: i64 = thread_index 0
                store @out[%0] = %0
              }
            })"),
            R"(kernel @fill(@out: array<i64, 1>, @some: bool) threads 1 {
  %0: i64 = launch_begin 0
  %1: i64 = launch_end 0
  for.thread %2: i64 in %0 .. %1 step 1:i64 {
    if @some {
      store @out[%2] = %2
    }
  }
}
)");
}

TEST(LowerThreads, OneWideIndexMakesTheLoopWide) {
  const char *text = R"(kernel @fill(@out: array<i64, 1>) threads 1 {
    %0: i64 = thread_index 0
    %1: i32 = thread_index 0
    %2: i64 = cast %1
    store @out[%0] = %2
  })";
  EXPECT_EQ(lowered(text), R"(kernel @fill(@out: array<i64, 1>) threads 1 {
  %0: i64 = launch_begin 0
  %1: i64 = launch_end 0
  for.thread %2: i64 in %0 .. %1 step 1:i64 {
    %3: i32 = cast %2
    %4: i64 = cast %3
    store @out[%2] = %4
  }
}
)");
  EXPECT_TRUE(counts_in_i32(ir::parse_kernel(text), 0));
}

TEST(LowerThreads, ADimensionThatNobodyAsksForIsWide) {
  const char *text = "kernel @nothing() threads 1 {\n}\n";
  EXPECT_NE(lowered(text).find("launch_end 0"), std::string::npos);
  EXPECT_NE(lowered(text).find("i64"), std::string::npos);
  EXPECT_FALSE(counts_in_i32(ir::parse_kernel(text), 0));
}

TEST(LowerThreads, ChecksAreToldTheirInstance) {
  ir::Kernel result = lower_threads(ir::parse_kernel("kernel @k(@x: bool) threads 2 { check @x, \"x\" }"));
  std::vector<ir::Value> indices;
  const ir::Check *check = nullptr;
  ir::for_each_statement(result.body, [&](const ir::Stmt &stmt) {
    if (auto *loop = stmt.as<ir::For>()) indices.push_back(ir::Value::local(loop->type, loop->index));
    if (!check) check = stmt.as<ir::Check>();
  });
  ASSERT_TRUE(check);
  EXPECT_EQ(check->instance, indices);
}

}  // namespace
}  // namespace samite::passes
