// What code costs, roughly: how long it takes compilers, and whether it may as well run as be asked about.
#pragma once

#include "samite/ir/kernel.h"

#include <cstddef>

namespace samite::passes {

// Whether an operation is done by an instruction or two.
bool cheap(ir::Op op);

// About how many instructions a block becomes; and what one of the neighbours has of a loop that they go through
// together. NVIDIA's compiler unrolls loops of any size, which takes its time.
std::size_t instructions(const ir::Block &block);
std::size_t instructions_of_one(const ir::For &loop);
inline constexpr std::size_t largest_unrolled = 64;

}  // namespace samite::passes
