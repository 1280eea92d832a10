// Runs the lowered form of a tile kernel, as it is planned (jit/pipeline.h), as the threads of its blocks do.
//
// Each thread interprets the statements by itself, with locals of its own, from where it waits for others to the next
// such place (tests/passes/block_threads.h). Tiles lie in the bytes that the plan gives them, in which there is nothing
// at first; reading what is not there throws. Loops over elements are dealt to the threads one after another, or as
// tiles in registers lie. What calls do is in tests/passes/lowered_calls.h. Numbers are as in
// tests/passes/tile_interpreter.h, without noise: only the order of sums differs.
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
  std::vector<tiles::TileArray> arguments;  // with what the kernel left in the arrays
  std::vector<std::string> said;            // by prints, and by checks that failed
};

// A launch of this many blocks. Throws std::runtime_error where threads do what none may.
LoweredRun run_lowered(const ir::Kernel &planned, std::vector<std::int64_t> blocks,
                       std::vector<tiles::TileArray> arguments, ThreadOrder order = {});

}  // namespace samite::test
