// Loops of products whose factors are windows of arrays, as one call, where groups of warps multiply what bulk copies
// bring to shared memory (compute capability 9.0).
//
// A loop is such a one where an iteration does nothing but load two windows, which lie at one distance from those of
// the iteration before, and add their product to sums from before the loop. Each factor gets a buffer for each stage of
// the loop, in panels, and the call has the layout of its sums. All other products are left as they are.
//
// The windows may be masked before they are multiplied (passes/masked_copies.h), both of them by one limit along their
// terms that falls by the terms of a step: then the call has a number of terms.
//
// A loop that does more, such as to scale each product before it is added to the sums, stays a loop, with a call of one
// step in each iteration. That pays where warps of their own start the copies (assign_roles), which run ahead of the
// loop; elsewhere each step would wait for its own copies. A pipelined loop may have several such products: of windows
// of 16 bits with what the block has, a tile from outside of the loop, or one that it makes in each iteration, which
// place_tiles then leaves in registers where it can; or of one window of the first factor with several of the second,
// so that a thread has the products of one of them beside the sums of all.
// What else such an iteration loads, to read its elements, such as scales of rows, comes by copies as well
// (passes/stage_steps.h): a load of a thread would wait behind those of the windows.
//
// Bulk copies read arrays past the caches of threads: the kernel must not write to them. They need a tensor map of each
// array (`ArrayFacts::has_tensor_map`), which whoever launches the kernel makes. Where there is a copy of the array
// that lies as is needed (passes/factor_copies.h), the call reads that.
//
// Before place_tiles. A pure function of a lowered kernel.
#pragma once

#include "samite/passes/architecture.h"
#include "samite/passes/array_facts.h"

#include <string>
#include <vector>

namespace samite::passes {

// `stages_of_others`: for loops that are not said to be pipelined; 0 leaves them as they are. `steps`: also loops that
// do more.
ir::Kernel product_loops(ir::Kernel lowered, const Architecture &architecture, const FactsOfArrays &arrays,
                         int stages_of_others = 0, bool steps = true);

// Whether there are calls of one step in loops that do more.
bool has_product_steps(const ir::Kernel &kernel);

// Whether there are such calls.
bool has_product_loops(const ir::Kernel &kernel);

// How each product of a kernel is computed, in program order.
struct WayOfProduct {
  SourceLocation where;
  std::string why_not;                // by groups of warps from bulk copies; empty: it is
  std::vector<std::string> copied{};  // its factors that are read from copies, and why
  friend bool operator==(const WayOfProduct &, const WayOfProduct &) = default;
};
std::vector<WayOfProduct> ways_of_products(const ir::Kernel &lowered, const Architecture &architecture,
                                           const FactsOfArrays &arrays, bool steps = true);

// A map that a kernel's bulk copies need: of an array, in boxes of so many rows and columns of its last two dimensions.
struct TensorMapNeeded {
  std::uint32_t array;
  ScalarType type;
  int rank;  // of the array
  std::int64_t rows, columns;
  bool values = false;  // row by row, for loads of their elements; else in panels, for products
  friend bool operator==(const TensorMapNeeded &, const TensorMapNeeded &) = default;
};
// Each once, in program order.
std::vector<TensorMapNeeded> tensor_maps(const ir::Kernel &planned);
// That of one of the factors that copies bring.
TensorMapNeeded tensor_map_of(const ir::TileCall &product_loop, std::size_t brought);
TensorMapNeeded tensor_map_of(const ir::BringWindows::Window &window);

}  // namespace samite::passes
