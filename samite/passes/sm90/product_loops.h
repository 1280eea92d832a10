// Turns loops of products whose factors are windows of arrays into main loops (`MainLoop`): one statement each, where
// bulk copies load the windows into shared memory and warp groups multiply them (compute capability 9.0).
//
// A loop becomes a main loop if an iteration only loads two windows, a constant distance from those of the previous
// iteration, and adds their product to sums from before the loop. Each factor gets a buffer in panels for each stage of
// the loop, and the node has the layout of its sums. All other products stay, with the reason.
//
// The windows may be masked before they are multiplied (passes/tiles/masked_copies.h), both by one limit along their
// terms, which decreases by the terms of an iteration: then the node has a number of terms.
//
// A loop that does more, for example scales each product before it is added to the sums, stays a loop, with one product
// in each iteration: a `MainLoop` without a count, `WindowProduct`s or `StageProduct`s. That pays if producer warps
// (assign_roles) start the copies ahead of the loop; otherwise each step would wait for its own copies. A pipelined
// loop may have several such products: of 16-bit windows with a factor that the block has, a tile from outside of the
// loop, or one computed in the iteration, which place_tiles then leaves in registers if possible; or of one window of
// the first factor with several of the second, so that a thread has the products of one of them beside all sums. Other
// loads of such an iteration, such as scales of rows, also become bulk copies (passes/sm90/stage_steps.h): a thread's
// own load would wait behind those of the windows.
//
// Bulk copies bypass the caches of threads, so the kernel must not write to the arrays. They need a tensor map of each
// array (`ArrayFacts::has_tensor_map`), which the launcher makes. If there is a copy of the array with a suitable
// layout (passes/tiles/factor_copies.h), the call reads that.
//
// Runs before place_tiles. A pure function of a lowered kernel.
#pragma once

#include "samite/passes/analysis/architecture.h"
#include "samite/passes/analysis/array_facts.h"

#include <string>
#include <vector>

namespace samite::passes {

struct MainLoopChoices {
  int stages_of_others = 0;  // for loops that are not declared pipelined; 0 leaves them unchanged
  bool steps = true;         // includes loops that do more
  std::string refused = {};  // if not empty: makes none, for this reason
};

// Each product that stays outside of main loops has the reason (`TileCall::why_no_loop`).
ir::Kernel product_loops(ir::Kernel lowered, const Architecture &architecture, const FactsOfArrays &arrays,
                         MainLoopChoices choices = {});

// Whether there are single products of main loops, in loops that do more.
bool has_product_steps(const ir::Kernel &kernel);

// Whether there are main loops.
bool has_product_loops(const ir::Kernel &kernel);

// The method of each product of a planned kernel, in program order, as the nodes have it; empty if no pass has looked
// for main loops.
struct WayOfProduct {
  SourceLocation where;
  std::string why_not;                // the reason that it is not a main loop; empty: it is
  std::vector<std::string> copied{};  // its factors that are read from copies, with the reasons
  friend bool operator==(const WayOfProduct &, const WayOfProduct &) = default;
};
std::vector<WayOfProduct> ways_of_products(const ir::Kernel &planned);

// A tensor map that a kernel's bulk copies need: of an array, in boxes of so many rows and columns of its last two
// dimensions.
struct TensorMapNeeded {
  std::uint32_t array;
  ScalarType type;
  int rank;  // of the array
  std::int64_t rows, columns;
  bool values = false;  // row by row, for loads of elements; else in panels, for products
  friend bool operator==(const TensorMapNeeded &, const TensorMapNeeded &) = default;
};
// Each once, in program order.
std::vector<TensorMapNeeded> tensor_maps(const ir::Kernel &planned);
// The map for one of the copied factors.
TensorMapNeeded tensor_map_of(const ir::Transfer &factor);
TensorMapNeeded tensor_map_of(const ir::BringWindows::Window &window);

}  // namespace samite::passes
