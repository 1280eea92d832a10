// Runs a tile kernel's structured IR as it stands, one block after another: the reference for what blocks compute.
//
// Floating numbers are doubles, whatever their type, and each comes with its derivative along a direction of the arrays
// (A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed. 2008, ch. 3), so that one run gives values and tangents.
// Where `noise` is set, each result that its type cannot hold is rounded to a number near it, at random: how far
// several such runs lie apart says how far a kernel that rounds may be off, element by element, and where a comparison
// of rounded numbers went another way (J. Vignes, A stochastic arithmetic for reliable scientific computation, 1993).
// Integers are exact. Nothing is optimised, and no code is shared with the library's own lowering.
#pragma once

#include "samite/ir/kernel.h"
#include "tests/passes/tile_operations.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace samite::test::tiles {

// The arrays after a launch of `blocks` blocks. Throws std::runtime_error if the kernel does what no kernel may do.
std::vector<TileArray> run_structured(const ir::Kernel &kernel, std::vector<std::int64_t> blocks,
                                      std::vector<TileArray> arguments, std::optional<unsigned> noise = {},
                                      double loudness = 1.5);

}  // namespace samite::test::tiles
