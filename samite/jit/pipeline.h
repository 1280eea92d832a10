// A kernel's path from capture to its lowered form, and the fitting of adjoints to a GPU. The later steps are a table
// (jit/steps.h). Pure functions of the IR. Each step can be dumped (base/dump.h), and is verified if the library is
// built to verify its IR.
#pragma once

#include "samite/autodiff/adjoint.h"
#include "samite/autodiff/tangent.h"
#include "samite/jit/steps.h"
#include "samite/passes/adjoint/cast_copies.h"
#include "samite/passes/adjoint/gather.h"
#include "samite/passes/threads/check_races.h"
#include "samite/passes/tiles/split_sums.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace samite::jit {

// capture → verify → structure jumps → expand calls of adjoints → promote → simplify
ir::Kernel structure(ir::Kernel captured);

// A schedule's kernel, which is in structured form, or, if it is `scheduled`, in lowered form except for
// `thread_index`: verified if the IR is.
ir::Kernel verified(ir::Kernel kernel);

// Without the user's adjoints.
ir::Kernel inline_primals(const ir::Kernel &structured);

// differentiate
autodiff::Adjoint derive_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias,
                                 std::optional<std::int64_t> memory_limit = {});
// As in passes/adjoint/gather.h, or passes/adjoint/gather_tiles.h for a tile kernel. Only tile kernels have wide
// windows.
std::optional<passes::GatheredAdjoint> gather(const ir::Kernel &adjoint, passes::Gathering how);
// As in passes/tiles/split_sums.h.
std::optional<passes::SplitSums> split_sums(const ir::Kernel &structured, std::int64_t parts);
autodiff::Tangent derive_tangent(const ir::Kernel &structured, const std::vector<bool> &active);

// The final form of a gathered adjoint: with copies of repeatedly cast values, if memory allows, and with a separate
// kernel for each product of wide windows. Empty if its tiles exceed a block's shared memory. `capability` 0: the CPU.
struct RunGathered {
  ir::Kernel kernel;
  std::optional<passes::CastCopies> copies;
  std::vector<ir::Kernel> further;  // run after `kernel`, with its arguments
};
std::optional<RunGathered> gathered_to_run(const passes::GatheredAdjoint &gathered, int capability);

// A tile kernel's adjoint for a GPU, gathered or not. Its tiles differ from the forward kernel's: its loops prefetch
// with as many stages as fit a block's shared memory. Empty if not even one fits.
std::optional<ir::Kernel> fitted(const ir::Kernel &adjoint, int capability);

// From structured to lowered form: exchanges to loads (in adjoints) → widths of indices → tiles → race checks (in debug
// mode) → threads. A schedule's kernel is already lowered, except for the loops over its blocks.
struct LowerChoices {
  bool adjoint = false;
  int cuda = 0;                                     // the device's compute capability; 0: the CPU
  std::vector<bool> wide_arrays = {};               // by parameter: ArrayFacts::wide_index
  bool in_order = false;                            // as in passes/tiles/lower_tiles.h
  passes::FactsOfArrays arrays = {};                // for a launch on a GPU; empty: unknown
  std::optional<std::vector<bool>> may_share = {};  // check for races; as in passes/threads/check_races.h
  int *trials = nullptr;                            // as in PlanContext
};
struct Lowered {
  ir::Kernel kernel;
  passes::RaceChecks races;
  bool unchecked_for_races = false;  // on CUDA the shadows did not fit the parameters
};
Lowered lower(const ir::Kernel &structured, const LowerChoices &choices);

// The arrays that bulk copies of a planned tile kernel read, each once.
std::vector<std::uint32_t> arrays_of_bulk_copies(ir::Kernel lowered, const passes::Architecture &architecture,
                                                 const passes::FactsOfArrays &arrays, int *trials = nullptr);

}  // namespace samite::jit
