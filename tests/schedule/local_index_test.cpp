// The place of an element in a kernel's own memory: counted from the beginning of the region, also if that has a name.
#include "samite/ir/print.h"
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/schedule/program_interpreter.h"

#include <gmock/gmock.h>

namespace samite::test::local_index {
namespace {

const Var x{"x"}, block{"block"}, of_block{"of_block"}, chunk{"chunk"}, of_chunk{"of_chunk"}, tile{"tile"},
    of_tile{"of_tile"};

// Regions begin at 40 block + 10 chunk + 5 tile.
ir::CapturedPipeline pipeline(Tail tail) {
  return captured_pipeline([&](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, second{"second", out};
    first(x) = x * 3;
    second(x) = first(x) + first(x + 1);
    const auto directives = [&] {
      second.split(x, block, of_block, 40, tail).split(of_block, chunk, of_chunk, 10, tail);
      second.split(of_chunk, tile, of_tile, 5, tail);
      first.compute_at(second, tile);
    };
    schedule_cpu([&] {
      directives();
      second.parallel(block);
    });
    schedule_cuda([&] {
      directives();
      second.gpu_blocks(block);
    });
  });
}

TEST(LocalIndex, IsThatInsideOfTheRegion) {
  EXPECT_THAT(to_string(schedules::lower(pipeline(Tail::round_up), {})),
              testing::ContainsRegex("for (%[0-9]+): i32 in 0 .. 5 step 1 \\{\n +%[0-9]+: i32 = local_load .0\\[%"));
}

TEST(LocalIndex, WhereTheLastPiecesAreShorter) {
  for (const bool gpu : {false, true})
    for (const std::int64_t extent : {1, 5, 13, 40, 97}) {
      std::vector<InterpretedArray> arguments{{{extent}, {}, {}}};
      arguments[0].values.resize(static_cast<std::size_t>(extent));
      arguments[0].known.resize(static_cast<std::size_t>(extent));
      run_program(schedules::lower(pipeline(Tail::guard), {.gpu = gpu}), arguments, gpu);
      for (std::int64_t i = 0; i < extent; ++i)
        EXPECT_EQ(arguments[0].values[static_cast<std::size_t>(i)], 6 * i + 3) << extent << ' ' << i << gpu;
    }
}

}  // namespace
}  // namespace samite::test::local_index
