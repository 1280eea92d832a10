// A lowered kernel as C++ text.
//
// The text is compiled after the target's prelude (`codegen/prelude.h`) and defines one function:
//
//   extern "C" void <entry>(const void *arguments, const long long *begin, const long long *end, Failure *failure,
//                           Workspace *workspace)
//
// which runs the instances of the box [begin, end) of the launch, one begin and end for each dimension. A launch may be
// cut into boxes that run in any order and concurrently. `codegen/argument_layout.h` describes `arguments`; `failure`
// (`codegen/failure.h`) is accessed only on failures; `workspace` (`codegen/workspace.h`) may be null if
// `EmittedSource::uses_workspace` is false, and concurrent calls may not share one.
//
// A local array is on the stack if its size is a constant, 16 lanes of it take at most 16 KiB, and all such arrays of
// the kernel at most 64 KiB; others are in the workspace. An array there has fewer than 2^31 elements over all lanes.
//
// `emit_cuda` emits text for CUDA, see below.
//
// Semantics that C++ leaves undefined: integers wrap around; x / 0 is 0 and x % 0 is x; a shift distance counts modulo
// the width; min and max ignore a NaN; if several instances of a vector store to one element, the last one wins. Lanes
// that add to one element are summed first, so the rounding differs from a serial loop's; if all instances add to one
// element after another in a loop, many of them run the loop together (`passes/threads/interchange.h`).
//
// Operations on whole tiles that take long to compile are separate functions (`EmittedSource::objects`), which the text
// declares.
//
// A pure function of its arguments: any thread, no state.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"
#include "samite/passes/sm90/product_loops.h"
#include "samite/passes/threads/instances_per_thread.h"
#include "samite/passes/tiles/plan_tile_memory.h"

#include <string>
#include <vector>

namespace samite::codegen {

using passes::ArrayFacts;

// The distribution of a launch's instances over CUDA's threads; `codegen/cuda_launch_shape.h` chooses it.
struct CudaForm {
  // Each thread iterates over further instances until the box is done, so that any grid runs any box. Otherwise a
  // thread runs one instance, and the grid must have a thread for each: fewer than 2^31 in each dimension.
  bool grid_stride = false;
  int threads_per_block = passes::most_threads_of_block;  // the maximum
  // A thread runs this many neighbours in the last dimension together, as the kernel was planned
  // (`passes/threads/side_by_side.h`). A power of two up to 8; the box then begins at a multiple of it in the last
  // dimension.
  int instances_per_thread = 1;
  // A thread of the exact form runs this many instances one after another along the first of three dimensions, as the
  // kernel was planned (`passes/threads/march.h`).
  int march = 1;
  // Programmatic dependent launch: the launch may begin before the previous one has ended, and the kernel waits for
  // that one itself. From compute capability 9.0 on.
  bool waits_for_earlier_launch = false;
  // If each instance is a block: its exact number of threads, from the kernel; else 0.
  int tile_threads = 0;
  // For such kernels with roles: this many rows of threads along y are consumer teams, and one more row produces
  // (ir::Roles::teams). 0: a block has one dimension.
  int teams = 0;
  // For a tile kernel in the grid-stride form: a persistent kernel, with one block on each multiprocessor, which runs
  // one index of the launch after another.
  bool stays = false;
  // For a persistent kernel: this many consecutive blocks along x are a cluster. 0: no clusters.
  int cluster_blocks = 0;
  // For a tile kernel in the exact form: this many consecutive blocks along x are a cluster that runs one index
  // (ir::Grid::step_parts). 0: one block runs it.
  int step_parts = 0;
  // For a tile kernel in the exact form: the grid has an axis for each of the launch's two or three dimensions, the
  // last one along x. A block then computes its indices without a division.
  bool grid_axes = false;
  // For a tile kernel: a launch may have 2^31 instances or more.
  bool wide_launch = false;

  friend bool operator==(const CudaForm &, const CudaForm &) = default;
};

struct EmitOptions {
  int vector_bytes = 16;  // of the machine's registers: 16, 32 or 64
  CudaForm cuda = {};
  bool debug = false;    // check every index, and every integer divisor
  bool comments = true;  // the user's lines; without them the text does not change when lines move
  passes::FactsOfArrays arrays;
};

// A print or check of the kernel.
struct MessageSite {
  SourceLocation where;
  bool is_check;
  std::vector<std::string> texts = {};
  std::vector<ScalarType> types = {};  // of the values between the texts
  bool is_race = false;                // a check of debug mode: ir::Check::race
};

// A load of a whole tile on CUDA. `in_units`: if it is inside its array, it is copied in units of 16 bytes, since its
// rows and the array's have whole units; other loads copy element by element, which is slower.
struct TileLoadSite {
  std::uint32_t array;
  bool in_units;
  SourceLocation where;
  friend bool operator==(const TileLoadSite &, const TileLoadSite &) = default;
};

// CPU: the separately compiled function of a tile operation, shared by all kernels that call it. Its name encodes what
// it computes, on what types and extents: equal names are equal functions.
struct EmittedObject {
  std::string name;
  std::string operation;  // for people: "matmul f32 8x8 of f32 8x4, f32 4x8"
  std::string text;
};

struct EmittedSource {
  std::string text;
  std::vector<SourceLocation> lines;  // for each line of the text, the user's line that it stems from, if any
  std::string entry;
  std::vector<EmittedObject> objects;  // CPU: called by the text, in the order of the first calls
  int lanes = 1;                       // instances that run in step
  int vector_lanes = 1;                // CPU: lanes of the text's vectors, for which the prelude is made
  std::vector<std::string> files;      // indexed by Failure::file
  std::vector<SourceLocation> sites;   // indexed by Failure::array for a failure without a file
  std::vector<MessageSite> messages;   // indexed by Failure::message
  bool uses_workspace = false;
  // CUDA: the channel is accessed, and may not be null.
  bool uses_channel = false;
  // CUDA: each thread, then each block, sums what all instances add to one element. Few threads with many instances
  // each, as in the grid-stride form, are then many times faster than a thread for each instance.
  bool sums_over_launch = false;
  // CUDA: the tiles of a block in its dynamic shared memory.
  passes::TileMemoryPlan tile_memory;
  std::vector<TileLoadSite> tile_loads;              // in program order
  std::vector<passes::TensorMapNeeded> tensor_maps;  // CUDA: in the order of the parameter `maps`
};

EmittedSource emit_cpu(const ir::Kernel &lowered, const EmitOptions &options);

// The same for CUDA, after `cuda_prelude(text)`. The text defines one kernel:
//
//   extern "C" __global__ void <entry>(const __grid_constant__ Arguments arguments, const __grid_constant__ Box box,
//                                      Channel *channel, const __grid_constant__ Workspace workspace
//                                      [, const __grid_constant__ TensorMaps maps])
//
// `maps` exists if the kernel has bulk copies: the tensor maps of `EmittedSource::tensor_maps`, 128 bytes each, 64-byte
// aligned. The other parameters are consecutive, each 8-byte aligned: `arguments` as in codegen/argument_layout.h, by
// value; `box` and `workspace` as in codegen/cuda_launch.h; `channel` a device pointer to a channel
// (codegen/cuda_channel.h), null if `uses_channel` is false. A workspace is needed if `uses_workspace` is true.
//
// The last dimension of the launch is x of the grid, the one before it y, and both others z, the third from last
// varying faster. Blocks have at most `threads_per_block` threads, of any shape. Kernels that use a workspace are
// launched in the grid-stride form with a limited grid, since each thread has its share of the memory.
//
// A tile kernel has `CudaForm::tile_threads` threads in each block and a grid of any size along x only; its blocks have
// `EmittedSource::tile_memory.bytes` of dynamic shared memory. Tiles that a loop stores for its adjoint are in the
// workspace if they take more than 16 KiB in all or if their number is known only at run time.
//
// A local array is in the thread's own memory if its size is a constant, it takes at most 1 KiB, and all such arrays of
// the kernel at most 4 KiB. An instance that gets no memory for another array ends there, and is reported.
//
// The semantics are as above, with two exceptions: if several instances store to one element, any one wins, and
// integers that serve only as indices do not wrap around (one that would is outside of its array).
//
// Throws UserError if the parameters exceed CUDA's 4 KiB.
EmittedSource emit_cuda(const ir::Kernel &planned, const EmitOptions &options);

// Sets the fields of a form that follow from the kernel's plan: the threads of a block, its teams, the blocks of a
// cluster, and the shape of the launch; a form may take further indices even if the kernel need not. `emit_cuda` does
// this itself.
void set_blocks(CudaForm &form, const ir::Kernel &planned);

}  // namespace samite::codegen
