// Realises main loops with bulk copies and warp groups (compute capability 9.0): copies load the windows of factors
// into shared memory, and warp groups multiply them. A loop declares whether it is a main loop, what it multiplies and
// what is a window (`ir::LoopProducts`, which lower_tiles notes); this pass decides whether the hardware can do it, and
// how.
//
// A loop whose declaration has one product and nothing more becomes one statement, if the windows of successive
// iterations are a constant distance apart. Each factor gets a buffer in panels for each stage of the loop, and the
// node has the layout of its sums. All other products stay, with the reason. If both windows are masked, the masks'
// limits must decrease by an iteration's terms: then the node has a number of terms.
//
// A loop that does more, for example scales each product before it is added to the sums, stays a loop, with one product
// in each iteration: a main loop without a count, `WindowProduct`s or `StageProduct`s. That pays if producer warps
// (assign_roles) start the copies ahead of the loop; otherwise each step would wait for its own copies. A pipelined
// loop may declare several such products: of 16-bit windows with a factor that the block has, a tile from outside of
// the loop, or one computed in the iteration, which place_tiles then leaves in registers if possible; or of windows of
// both factors. If these share the window of the first factor, a thread holds one product at a time in addition to all
// sums; otherwise it must have room for the sums of each. Other loads of such an iteration, such as scales of rows,
// also become bulk copies (passes/sm90/stage_steps.h): a thread's own load would wait behind those of the windows.
//
// Bulk copies bypass the caches of threads, so the kernel must not write to the arrays. They need a tensor map of each
// array (`ArrayFacts::has_tensor_map`), which the launcher makes. If there is a copy of the array with a suitable
// layout (passes/tiles/factor_copies.h), the call reads that.
//
// A pure function of a lowered kernel.
#pragma once

#include "samite/passes/analysis/architecture.h"
#include "samite/passes/analysis/array_facts.h"
#include "samite/passes/sm90/planned_products.h"

#include <string>

namespace samite::passes {

struct MainLoopChoices {
  int stages_of_others = 0;  // for loops that are not declared pipelined; 0 leaves them unchanged
  bool steps = true;         // includes loops that do more
  std::string refused = {};  // if not empty: makes none, for this reason
};

// Each product that stays outside of main loops has the reason (`TileCall::why_no_loop`).
ir::Kernel product_loops(ir::Kernel lowered, const Architecture &architecture, const FactsOfArrays &arrays,
                         const MainLoopChoices &choices = {});

}  // namespace samite::passes
