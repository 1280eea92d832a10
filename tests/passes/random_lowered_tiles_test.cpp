// Random tile kernels and their adjoints in lowered form, run as the threads of a block run them, against the
// structured form; and no two of their accesses to one memory are without a barrier between them.
#include "samite/ir/verify.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/analysis/unsynchronised.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/lower_tiles.h"
#include "tests/passes/lowered_interpreter.h"
#include "tests/passes/without_wait.h"
#include "tests/tiles/random_tile_check.h"

namespace samite::test::tiles {
namespace {

// Facts for as many arrays as any of these kernels has.
const passes::FactsOfArrays &facts(const Recipe &recipe) {
  static const passes::FactsOfArrays apart(64, {.unaliased = true}), may_overlap(64);
  return recipe.seed % 2 != 0 ? may_overlap : apart;
}

passes::SharesMemory shares_memory(const Recipe &recipe) { return passes::shares_memory(facts(recipe)); }

ir::Kernel planned_run(const Run &run) {
  ir::Kernel kernel =
      passes::lower_tiles(run.structured, passes::gpu_architecture(90), {.in_order = run.recipe.seed % 6 == 0});
  ir::Kernel plan =
      jit::plan(passes::lower_threads(std::move(kernel)), {passes::gpu_architecture(90), facts(run.recipe)});
  ir::verify(plan, ir::Form::lowered, "plan");
  return plan;
}

std::vector<TileArray> left_by(const ir::Kernel &plan, const Run &run, const std::vector<TileArray> &arrays) {
  constexpr ThreadOrder::Kind orders[] = {ThreadOrder::Kind::Alternating, ThreadOrder::Kind::FirstToLast,
                                          ThreadOrder::Kind::LastToFirst, ThreadOrder::Kind::Random};
  return run_lowered(plan, {run.recipe.blocks}, arrays, {orders[run.recipe.seed % 4], run.recipe.seed}).arguments;
}

void run_as_planned(const Run &run, std::vector<TileArray> &arrays) {
  const ir::Kernel plan = planned_run(run);
  for (const std::string &found : passes::unsynchronised(plan, shares_memory(run.recipe)).missing)
    throw std::runtime_error(found);
  arrays = left_by(plan, run, arrays);
}

// With the fewest barriers that `unsynchronised` accepts.
void run_with_few_barriers(const Run &run, std::vector<TileArray> &arrays) {
  ir::Kernel plan = planned_run(run);
  for (std::size_t number = 0; const auto fewer = without_wait(plan, number);)
    if (passes::unsynchronised(*fewer, shares_memory(run.recipe)).missing.empty())
      plan = *fewer;
    else
      ++number;
  arrays = left_by(plan, run, arrays);
}

// In parts, so that they run side by side.
class RandomLoweredTiles : public testing::TestWithParam<unsigned> {};

TEST_P(RandomLoweredTiles, DoWhatTheStructuredFormDoes) {
  expect_random_tiles(run_as_planned, 100, GetParam(), 4, /*derivatives=*/false);
}

TEST_P(RandomLoweredTiles, NeedNoBarriersThatNothingIsMissingWithout) {
  expect_random_tiles(run_with_few_barriers, 40, GetParam(), 4, /*derivatives=*/false);
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomLoweredTiles, testing::Range(0u, 4u));

}  // namespace
}  // namespace samite::test::tiles
