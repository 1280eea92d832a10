// Decides how a GPU runs the threads and blocks of a planned kernel (`ir::Grid`, `ir::Roles`): whether they take
// further indices of the launch, how many blocks are to fit a multiprocessor, which limits a thread's registers, and
// how roles divide the registers.
//
//   - Kernels that use a workspace, or sum over the launch, take further indices: fewer threads need less memory, and
//     sum more before they add to an element.
//   - A block whose threads have roles is persistent: its copies run ahead into the next index.
//   - A multiprocessor has one block of more than 512 threads if these use all registers, and idles while they wait for
//     each other. The code allows two blocks if their tiles fit, and then needs the fewest registers, so that the grid
//     has an axis for each dimension if the launch allows it. `two_blocks` false: that spilled too many registers.
//   - For other tile kernels, registers are limited so that as many blocks fit as shared memory has room for, if their
//     threads may use all registers. The assembler does not know this number: it would rather spill some registers than
//     leave room for one more block.
//   - Kernels of threads: passes/threads/instances_per_thread.h.
//
// A pure function of a planned kernel. Running it again with other choices replaces its decisions.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

namespace samite::passes {

struct LaunchWishes {
  bool strides = false;  // the launch may have any extents
  bool axes = false;     // its extents fit the axes of a grid
  bool debug = false;    // checks need registers
  bool two_blocks = true;
};

ir::Kernel shape_launch(ir::Kernel planned, const Architecture &architecture, const LaunchWishes &wishes);

// Whether a planned kernel should take further indices in any launch: it uses a workspace, or sums over the launch.
bool wants_strides(const ir::Kernel &planned);

}  // namespace samite::passes
