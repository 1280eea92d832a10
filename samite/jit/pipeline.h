// A kernel's path from capture to its lowered form, and how adjoints are made to fit a GPU. The steps from there to the
// text are a table (jit/steps.h). Pure functions of the IR. Each step can be dumped (base/dump.h), and is verified
// where the library is built to verify its IR.
#pragma once

#include "samite/autodiff/adjoint.h"
#include "samite/autodiff/tangent.h"
#include "samite/jit/steps.h"
#include "samite/passes/cast_copies.h"
#include "samite/passes/check_races.h"
#include "samite/passes/gather.h"
#include "samite/passes/split_sums.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace samite::jit {

// capture → verify → structure jumps → expand calls of adjoints → promote → simplify
ir::Kernel structure(ir::Kernel captured);

// A kernel that a schedule has made, which is in structured form, or, if it is `scheduled`, in lowered form but for
// `thread_index`: verified where the IR is.
ir::Kernel verified(ir::Kernel kernel);

// Without the adjoints that the user gives.
ir::Kernel inline_primals(const ir::Kernel &structured);

// differentiate
autodiff::Adjoint derive_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias,
                                 std::optional<std::int64_t> memory_limit = {});
// As passes/gather.h says, or passes/gather_tiles.h of a tile kernel. Wide windows are of tile kernels alone.
std::optional<passes::GatheredAdjoint> gather(const ir::Kernel &adjoint, passes::Gathering how);
// As passes/split_sums.h says.
std::optional<passes::SplitSums> split_sums(const ir::Kernel &structured, std::int64_t parts);
autodiff::Tangent derive_tangent(const ir::Kernel &structured, const std::vector<bool> &active);

// A gathered adjoint as it is run: with copies of what it casts again and again, where there is room for them, and with
// each product of wide windows in a kernel of its own. Nothing where the shared memory of a block has no room for its
// tiles. `capability` 0: the CPU.
struct RunGathered {
  ir::Kernel kernel;
  std::optional<passes::CastCopies> copies;
  std::vector<ir::Kernel> further;  // to run after `kernel`, on its arguments
};
std::optional<RunGathered> gathered_to_run(const passes::GatheredAdjoint &gathered, int capability);

// An adjoint of a tile kernel for a GPU, gathered or not. It holds other tiles than the forward kernel: its loops load
// ahead by as many stages as the shared memory of a block has room for. Nothing where there is none for one.
std::optional<ir::Kernel> fitted(const ir::Kernel &adjoint, int capability);

// From structured to lowered form: exchanges that are put back (of adjoints) → widths of indices → tiles → checks for
// races (in debug mode) → threads. A schedule's kernel is there already, but for the loops over its blocks.
struct LowerChoices {
  bool adjoint = false;
  int cuda = 0;                                     // the device's compute capability; 0: the CPU
  std::vector<bool> wide_arrays = {};               // by parameter: ArrayFacts::wide_index
  bool in_order = false;                            // as passes/lower_tiles.h has it
  passes::FactsOfArrays arrays = {};                // of a launch on a GPU; empty: nothing is known of them
  std::optional<std::vector<bool>> may_share = {};  // check for races; as passes/check_races.h has it
};
struct Lowered {
  ir::Kernel kernel;
  passes::RaceChecks races;
  bool unchecked_for_races = false;  // on CUDA the shadows found no room among the parameters
};
Lowered lower(const ir::Kernel &structured, const LowerChoices &choices);

// The arrays that bulk copies read in a lowered tile kernel, when it is planned, each once.
std::vector<std::uint32_t> arrays_of_bulk_copies(ir::Kernel lowered, const passes::Architecture &architecture,
                                                 const passes::FactsOfArrays &arrays);

}  // namespace samite::jit
