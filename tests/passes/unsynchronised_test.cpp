// Facts about loops that `unsynchronised` relies on: their barriers order nothing if they have no iterations, and the
// first copies of a prefetching loop start before it waits for anything.
#include "samite/passes/analysis/unsynchronised.h"

#include "samite/jit/pipeline.h"
#include "tests/passes/lowered_block.h"
#include "tests/passes/without_wait.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using test::apart;
using test::shares_nothing;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// For a planned kernel without waiting point number `number` of its threads.
std::vector<std::string> missing(const std::string &body, std::size_t number) {
  const ir::Kernel kernel = jit::plan(test::lowered_block(body), {gpu_architecture(90), apart});
  EXPECT_THAT(unsynchronised(kernel, shares_nothing).missing, IsEmpty()) << to_string(kernel);
  return unsynchronised(test::without_wait(kernel, number).value(), shares_nothing).missing;
}

// The third place is after the loop over elements that transposes a tile: a wait and a barrier for its copies come
// before.
const std::string transposed = "%8: tile<f32, 8, 8> = load @x[0, 0] %9: tile<f32, 8, 8> = transpose(1, 0) %8 ";
constexpr std::size_t after_transpose = 2;

TEST(Unsynchronised, LoopsMayHaveNoTurns) {
  const auto found = [](const std::string &end) {
    return missing(transposed + "for %1: i32 in 0 .. " + end + " step 1 { store @y[0, 0] = 1.0 } " +
                       "%10: tile<f32, 8, 8> = transpose(1, 0) %9 store @x[0, 0] = %10",
                   after_transpose);
  };
  EXPECT_THAT(found("@n"), Contains(HasSubstr("is written, and $")));
  EXPECT_THAT(found("0"), Contains(HasSubstr("is written, and $")));
  EXPECT_THAT(found("2"), IsEmpty());
}

// The first turn of a loop that loads ahead waits for nothing, and there may be no other.
TEST(Unsynchronised, LoopsMayEndAfterTheFirstTurn) {
  EXPECT_THAT(missing(transposed + "for %1: i32 in 0 .. @n step 1 { %2: bool = ge %1, 1 " +
                          "if %2 { store @y[0, 0] = 1.0 } else {} } " +
                          "%10: tile<f32, 8, 8> = transpose(1, 0) %9 store @x[0, 0] = %10",
                      after_transpose),
              Contains(HasSubstr("is written, and $")));
}

TEST(Unsynchronised, ConditionsOfLoopsMayHoldNever) {
  EXPECT_THAT(missing(transposed + "while carry (%1 -> %2: i32 = 0 then %3) { %4: bool = lt %1, @n } test %4 { " +
                          "store @y[0, 0] = 1.0 %3: i32 = add %1, 1 } " +
                          "%10: tile<f32, 8, 8> = transpose(1, 0) %9 store @x[0, 0] = %10",
                      after_transpose),
              Contains(HasSubstr("is written, and $")));
}

TEST(Unsynchronised, CopiesAheadOfALoopAreSeen) {
  EXPECT_THAT(
      missing("%8: tile<f32, 16, 64> = load @x[0, 0] %9: tile<f32, 64, 16> = transpose(1, 0) %8 store @y[0, 0] = %9 "
              "for %1: i32 in 0 .. @n step 1 stages 2 "
              "carry (%2 -> %6: tile<f32, 64, 64> = 0.0:tile<f32, 64, 64> then %5) { %7: i32 = mul %1, 16 "
              "%3: tile<f16, 64, 16> = load @h[0, %7] %4: tile<f16, 16, 64> = load @h[%7, 0] "
              "%5: tile<f32, 64, 64> = matmul %3, %4, %2 } store @x[0, 0] = %6",
              after_transpose),
      Contains(HasSubstr("is read, and $")));
}

// A barrier without a wait orders the threads' accesses, but not the reads of a copy in flight.
TEST(Unsynchronised, CopiesReadTheirArrayUntilTheyAreWaitedFor) {
  const auto found = [](const std::string &wait) {
    const ir::Kernel kernel = ir::parse_kernel(
        "kernel @k(@x: array<f32, 2>) blocks 1 of 64 { %0: i32 = launch_begin 0 %1: i32 = launch_end 0 "
        "for.block %2: i32 in %0 .. %1 step 1 { local shared $0: f32[64] offset 0 "
        "tile_load $0: tile<f32, 8, 8> = @x[0, 0] commit_copies " +
        wait + " barrier for.thread %3: i32 in 0 .. 8 step 1 { store @x[0, %3] = 1.0 } } }");
    return unsynchronised(kernel, shares_nothing).missing;
  };
  EXPECT_THAT(found(""), Contains(HasSubstr("@x is read, and @x is written")));
  EXPECT_THAT(found("wait_for_copies 0"), IsEmpty());
}

// The missing barriers in serial loops, which every thread runs, over two tiles in the same bytes.
std::vector<std::string> in_serial_loops(const std::string &loops) {
  const ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@x: array<f32, 1>, @n: i32) blocks 1 of 64 { %0: i32 = launch_begin 0 %1: i32 = launch_end 0 "
      "for.block %2: i32 in %0 .. %1 step 1 { local shared $0: f32[8] offset 0 local shared $1: f32[8] offset 0 " +
      loops + " } }");
  return unsynchronised(kernel, shares_nothing).missing;
}

TEST(Unsynchronised, EveryThreadStoresWhatOthersMayStillHaveToRead) {
  const auto found = [](const std::string &between) {
    return in_serial_loops(
        "for.thread %3: i32 in 0 .. 8 step 1 { local_store $0[%3] = 1.0 } barrier "
        "for %4: i32 in 0 .. 8 step 1 { %5: f32 = local_load $0[%4] " +
        between + " } for %6: i32 in 0 .. 8 step 1 { local_store $1[%6] = 2.0 }");
  };
  EXPECT_THAT(found(""), Contains(HasSubstr("$0 is read, and $1 is written")));
  EXPECT_THAT(found("barrier"), IsEmpty());
}

TEST(Unsynchronised, EveryThreadReadsWhatItHasStored) {
  const std::string stored = "for %4: i32 in 0 .. @n step 1 { local_store $0[%4] = 1.0 } ";
  EXPECT_THAT(in_serial_loops(stored + "for %5: i32 in 0 .. 8 step 1 { %6: f32 = local_load $0[%5] } "
                                       "for.thread %7: i32 in 0 .. 8 step 1 { %8: f32 = local_load $0[%7] }"),
              IsEmpty());
  EXPECT_THAT(in_serial_loops(stored + stored), Contains(HasSubstr("$0 is written, and $0 is written")));
  EXPECT_THAT(in_serial_loops(stored + "for.thread %7: i32 in 0 .. 8 step 1 { local_store $0[%7] = 2.0 }"),
              Contains(HasSubstr("$0 is written, and $0 is written")));
  EXPECT_THAT(in_serial_loops("for %4: i32 in 0 .. @n step 1 { local_store $0[0] = 1.0 }"),
              Contains(HasSubstr("$0 is written, and $0 is written")));
}

// Conditions that do not hold in the first iterations.
TEST(Unsynchronised, LaterIterationsMayDoOtherwise) {
  const auto found = [](const std::string &before, const std::string &end) {
    return in_serial_loops("for.thread %3: i32 in 0 .. 8 step 1 { local_store $0[%3] = 1.0 } " + before +
                           " for %4: i32 in 0 .. " + end + " step 1 { %5: bool = ge %4, 6 " +
                           "if %5 { %6: f32 = local_load $0[%4] } else {} }");
  };
  EXPECT_THAT(found("", "8"), Contains(HasSubstr("$0 is written, and $0 is read")));
  EXPECT_THAT(found("", "@n"), Contains(HasSubstr("$0 is written, and $0 is read")));
  EXPECT_THAT(found("", "2"), IsEmpty());
  EXPECT_THAT(found("barrier", "8"), IsEmpty());
}

// A condition on the index of an inner loop is known in its iterations, whichever iteration the outer one is in.
TEST(Unsynchronised, LoopsInLaterIterationsBeginAnew) {
  EXPECT_THAT(in_serial_loops("for %3: i32 in 0 .. @n step 1 { for %4: i32 in 0 .. 2 step 1 { %5: bool = ge %4, 1 "
                              "if %5 { barrier } else {} %6: bool = lt %4, 1 "
                              "if %6 { for.thread %7: i32 in 0 .. 8 step 1 { local_store $0[%7] = 1.0 } } else {} "
                              "if %5 { %8: f32 = local_load $0[%4] barrier } else {} } }"),
              IsEmpty());
}

// The missing barriers between two stores to device memory: in a loop over 136 elements, and in another loop.
std::vector<std::string> between_stores(const std::string &first_index, const std::string &end,
                                        const std::string &second_index) {
  const ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@n: i32) blocks 1 of 64 { %0: i32 = launch_begin 0 %1: i32 = launch_end 0 "
      "for.block %2: i32 in %0 .. %1 step 1 { local device $0: f32[@n] %3: i32 = mul @n, 136 "
      "for.thread %4: i32 in 0 .. 136 step 1 { %5: i32 = add " +
      first_index + " local_store $0[%5] = 1.0 } for.thread %6: i32 in 0 .. " + end + " step 1 { %7: i32 = add " +
      second_index + " local_store $0[%7] = 1.0 } } }");
  return unsynchronised(kernel, shares_nothing).missing;
}

TEST(Unsynchronised, RowsOfTheSameLengthBelongToTheSameThreads) {
  EXPECT_THAT(between_stores("%3, %4", "136", "%3, %6"), IsEmpty());
  EXPECT_THAT(between_stores("%3, %4", "136", "272, %6"), IsEmpty());
  EXPECT_THAT(between_stores("%4, 0", "136", "%6, %3"), IsEmpty());
}

// The number of the row depends on the element.
TEST(Unsynchronised, ElementsOfManyRowsBelongToOtherThreads) {
  EXPECT_THAT(between_stores("%3, %4", "136",
                             "0, %6 local_store $0[%7] = 2.0 %8: i32 = mul %6, 136 %9: i32 = add %8, %6 "
                             "local_store $0[%9] = 3.0 %10: i32 = add %3, %6"),
              Contains(HasSubstr("is written, and $")));
}

TEST(Unsynchronised, RowsOfAnotherLengthBelongToOtherThreads) {
  EXPECT_THAT(between_stores("%3, %4", "8", "16, %6"), Contains(HasSubstr("is written, and $")));
  EXPECT_THAT(between_stores("%3, %4", "136", "1, %6"), Contains(HasSubstr("is written, and $")));
  EXPECT_THAT(between_stores("%3, %4", "136", "@n, %6"), Contains(HasSubstr("is written, and $")));
}

}  // namespace
}  // namespace samite::passes
