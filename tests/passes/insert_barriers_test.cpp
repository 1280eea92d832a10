// The barriers of a block's threads are sufficient: removing one is noticed, unless others replace it.
#include "samite/passes/tiles/insert_barriers.h"

#include "samite/jit/pipeline.h"
#include "samite/passes/analysis/unsynchronised.h"
#include "tests/passes/lowered_block.h"
#include "tests/passes/without_wait.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using test::apart;
using test::shares_nothing;

const FactsOfArrays may_overlap(4);

// With arrays that share no memory, unless others are given.
Kernel placed_kernel(const std::string &body, const FactsOfArrays &arrays = apart) {
  Kernel plan = jit::plan(test::lowered_block(body), {gpu_architecture(90), arrays});
  verify(plan, Form::lowered, "plan");
  EXPECT_THAT(unsynchronised(plan, shares_memory(arrays)).missing, IsEmpty()) << to_string(plan);
  return plan;
}

// The sequence of events as letters: B a barrier, C a wait for copies, L a load of a tile, T another call on tiles, E a
// loop over elements, 1 code of one thread, { } loops and branches.
std::string outline(const Block &block) {
  std::string text;
  for (const Stmt &stmt : block) {
    const For *loop = stmt.as<For>();
    if (stmt.as<Barrier>()) text += 'B';
    if (stmt.as<WaitForCopies>()) text += 'C';
    if (stmt.as<TileLoad>()) text += 'L';
    if (stmt.as<TileCall>()) text += 'T';
    if (loop && loop->kind == LoopKind::Thread)
      text += loop->end.is_constant() && loop->end.as_int() == 1 ? '1' : 'E';
    else if (loop && loop->kind == LoopKind::Block)
      text += outline(loop->body);
    else if (loop)
      text += "{" + outline(loop->body) + "}";
    if (const If *branch = stmt.as<If>())
      text += "{" + outline(branch->then_block) + "}{" + outline(branch->else_block) + "}";
  }
  return text;
}
std::string outline(const std::string &body, const FactsOfArrays &arrays = apart) {
  return outline(placed_kernel(body, arrays).body);
}

const std::string number_of_y = "%1: f32 = load @y[7, 7] %2: tile<f32, 8, 64> = broadcast %1 ";
const std::string factors = "%3: tile<f32, 8, 64> = load @x[0, 0] %4: tile<f32, 64, 8> = load @y[0, 0] ";
const std::string product_of_factors = "%5: tile<f32, 8, 8> = matmul %3, %4, 0.0:tile<f32, 8, 8> ";

TEST(InsertBarriers, AfterLoopsThatOthersSee) {
  EXPECT_EQ(outline(number_of_y + "store @x[0, 0] = %2"), "EB");
  EXPECT_EQ(outline(number_of_y + "store @y[0, 0] = %2"), "BEB") << "what every thread has read is overwritten";
  EXPECT_EQ(outline(number_of_y + "store @x[0, 0] = %2", may_overlap), "BEB");
}

TEST(InsertBarriers, CopiesAreWaitedForWhereTheyAreNeeded) {
  EXPECT_EQ(outline(factors + product_of_factors + "store @x[0, 0] = %5"), "LLCBETBEB")
      << "two loads, and one wait for both";
  EXPECT_THAT(outline("if true { " + factors + product_of_factors + "store @x[0, 0] = %5 } else {}"),
              HasSubstr("{LLCB"));
}

TEST(InsertBarriers, OneThreadDoesForAll) {
  EXPECT_EQ(outline("store @x[0, 0] = 1.0"), "B1B");
  EXPECT_EQ(outline("%1: f32 = load @y[7, 7] accumulate atomic @x[0, 0] += %1 print \"x \", %1"), "B1B1B");
  EXPECT_EQ(outline("%1: bool = lt @n, 3 check %1, \"few\""), "B1B");
}

TEST(InsertBarriers, ReductionsAreReadByEveryThread) {
  const std::string rows = "%2: tile<f32, 1, 64> = load @x[0, 0] %3: f32 = reduce_add %2 store @y[0, 0] = %3";
  EXPECT_EQ(outline(rows), "LCBTBB1B") << "after the call, after its result is read";
}

// With spread tiles: a call has a barrier inside, and the memory for its parts is not reused before the next barrier.
TEST(InsertBarriers, ReductionsThatEachThreadHasNeedNoOthers) {
  const std::string reduced =
      "%2: tile<f32, 8, 64> = load @x[0, 0] %3: f32 = reduce_add %2 "
      "%4: tile<f32, 8, 64> = broadcast %3 %5: tile<f32, 8, 64> = sub %2, %4 "
      "%6: f32 = reduce_max %5 %7: tile<f32, 8, 64> = broadcast %6 "
      "%8: tile<f32, 8, 64> = mul %5, %7 store @y[0, 0] = %8 ";
  EXPECT_EQ(outline(reduced), "LTETEB");
  const std::string in_loop =
      "for %1: i32 in 0 .. @n step 1 carry (%9 -> %10: f32 = 0.0 then %11) { "
      "%2: tile<f32, 8, 64> = load @x[%1, 0] %3: f32 = reduce_add %2 %11: f32 = add %9, %3 } ";
  EXPECT_EQ(outline(in_loop + "store @y[0, 0] = %10"), "{LTB}B1B") << "one turn's parts are read before the next's";
}

// A turn waits for its buffer, starts copies, from streams or at the arrays' edges, and computes.
TEST(InsertBarriers, LoopsThatLoadAheadHaveTheirOwn) {
  const std::string loop = outline(
      "for %1: i32 in 0 .. @n step 1 stages 2 carry (%2 -> %6: tile<f32, 64, 64> = 0.0:tile<f32, 64, 64> then %5) { "
      "%7: i32 = mul %1, 16 %3: tile<f16, 64, 16> = load @h[0, %7] %4: tile<f16, 16, 64> = load @h[%7, 0] "
      "%5: tile<f32, 64, 64> = matmul %3, %4, %2 } store @x[0, 0] = %6");
  EXPECT_THAT(loop, HasSubstr("{{CB}{}{LL}{{LL}{}}{T}{}}CB")) << loop;
}

// In a kernel that needs each barrier.
TEST(Unsynchronised, ABarrierThatIsMissingIsFound) {
  for (const std::string &body :
       {factors + product_of_factors +
            "store @x[0, 0] = %5 %6: tile<f32, 8, 64> = load @x[0, 0] %7: tile<f32, 64, 8> = transpose"
            "(1, 0) %6 store @y[0, 0] = %7",
        number_of_y + "store @y[0, 0] = %2",
        std::string("%1: f32 = load @y[7, 7] for %2: i32 in 0 .. @n step 1 { store @y[0, 0] = %1 "
                    "%3: f32 = load @y[0, 0] store @x[%2, 0] = %3 }"),
        std::string("for %1: i32 in 0 .. @n step 1 carry (%9 -> %10: f32 = 0.0 then %11) { "
                    "%2: tile<f32, 8, 64> = load @x[%1, 0] %3: f32 = reduce_add %2 %11: f32 = add %9, %3 } "
                    "store @x[0, 0] = %10")}) {
    const Kernel plan = placed_kernel(body);
    std::size_t found = 0, all = 0;
    while (const auto broken = test::without_wait(plan, all)) {
      ++all;
      found += !unsynchronised(*broken, shares_nothing).missing.empty();
    }
    EXPECT_GE(all, 2u);
    // The last one orders code after the kernel, and is not needed within it.
    EXPECT_GE(found + 2, all) << to_string(plan);
    EXPECT_GE(found, 1u) << to_string(plan);
  }
}

TEST(Unsynchronised, NamesWhatItFinds) {
  const Kernel broken = test::without_wait(placed_kernel(number_of_y + "store @y[0, 0] = %2"), 0).value();
  EXPECT_THAT(unsynchronised(broken, shares_nothing).missing,
              testing::ElementsAre(HasSubstr("@y is read, and @y is written with no barrier between them")));
}

}  // namespace
}  // namespace samite::passes
