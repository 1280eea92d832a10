// Verifies the order of a block's threads that have roles or take turns, which `unsynchronised` cannot see, because the
// barriers are inside of statements (compute capability 9.0).
//
// Each stage of a ring has two transaction barriers. A phase of the first one ends when a window's bytes have arrived,
// a phase of the second one when all consumer warps have released the stage. The stages are used cyclically, so the
// n-th wait of the consumers is for the n-th copy of the producers, and the copy after that into the same stage waits
// for the n-th release. The check follows each path through the code of both roles:
//
//   - Producers start the same copies as consumers wait for, in the same order, under the same conditions. Otherwise a
//     role waits for a phase that never ends, or reads the window of another phase.
//   - Consumers read a stage only between its wait and its release, and release it once.
//   - The sums of a product that runs into the next one are not used before both have ended.
//   - No other memory shares the bytes of a ring, which copies may write at any time.
//   - Producers read only memory that no thread writes, and wait at no barrier of the consumers.
//   - A barrier counts all threads that run it: the block's, or the consumers of one team.
//   - A warp group that takes turns has its turn when it gives it, and not when it takes it, and no barrier of all
//     groups is between. It enters each loop with its turn and leaves with it.
//   - Teams have separate memory, except for the rings. A team hands over once for each index of the launch.
//
// A pure function of a kernel whose tiles have offsets. It does not depend on the verifier of the IR.
#pragma once

#include "samite/passes/analysis/block_hazards.h"

#include <string>
#include <vector>

namespace samite::passes {

// The violations of this order, as text: "$3 is read after its stage was released (gemm.cpp:12)".
std::vector<std::string> unordered_roles(const ir::Kernel &planned, const SharesMemory &shares_memory);

}  // namespace samite::passes
