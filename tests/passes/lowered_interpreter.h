// Runs the lowered form of a planned tile kernel (jit/pipeline.h) like the threads of its blocks.
//
// Each thread interprets the statements on its own, with its own locals, from one waiting point to the next
// (tests/passes/block_threads.h). Tiles are in the bytes that the plan gives them, which are unwritten at first;
// reading unwritten bytes throws. Loops over elements are dealt to the threads cyclically, or by the layout of tiles in
// registers. Calls are in tests/passes/lowered_calls.h. Numbers are as in tests/passes/tile_interpreter.h, without
// noise: only the order of sums differs.
//
// Blocks run one after another.
#pragma once

#include "samite/ir/kernel.h"
#include "tests/codegen/block_schedule.h"
#include "tests/passes/tile_operations.h"

#include <string>
#include <vector>

namespace samite::test {

struct LoweredRun {
  std::vector<tiles::TileArray> arguments;  // with the arrays after the launch
  std::vector<std::string> said;            // by prints, and by checks that failed
};

// A launch of this many blocks. Throws std::runtime_error if threads do something that no thread may do.
LoweredRun run_lowered(const ir::Kernel &planned, std::vector<std::int64_t> blocks,
                       std::vector<tiles::TileArray> arguments, ThreadOrder order = {});

}  // namespace samite::test
