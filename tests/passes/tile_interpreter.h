// Runs a tile kernel's structured IR directly, one block after another: the reference for blocks' results.
//
// Floating numbers are doubles, whatever their type, and each comes with its derivative along a direction of the arrays
// (A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed. 2008, ch. 3), so that one run gives values and tangents. If
// `noise` is set, each result that its type cannot represent is rounded randomly to a number near it: the spread of
// several such runs shows how far a rounding kernel may be off, element by element, and where a comparison of rounded
// numbers went another way (J. Vignes, A stochastic arithmetic for reliable scientific computation, 1993). Integers are
// exact. It does not optimise, and shares no code with the library's own lowering.
#pragma once

#include "samite/ir/kernel.h"
#include "tests/passes/tile_operations.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace samite::test::tiles {

// The arrays after a launch of `blocks` blocks. Throws std::runtime_error if the kernel does something that no kernel
// may do.
std::vector<TileArray> run_structured(const ir::Kernel &kernel, std::vector<std::int64_t> blocks,
                                      std::vector<TileArray> arguments, std::optional<unsigned> noise = {},
                                      double loudness = 1.5);

}  // namespace samite::test::tiles
