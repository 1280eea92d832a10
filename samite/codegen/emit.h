// A lowered kernel as C++ text.
//
// The text is compiled after the target's prelude (`codegen/prelude.h`) and defines one function:
//
//   extern "C" void <entry>(const void *arguments, const long long *begin, const long long *end, Failure *failure,
//                           Workspace *workspace)
//
// which runs the instances of the box [begin, end) of the launch, one begin and end for each dimension; a launch may be
// cut into boxes, run in any order and at once. `arguments` is laid out by `codegen/argument_layout.h`; `failure`
// (`codegen/failure.h`) is touched where something fails; `workspace` (`codegen/workspace.h`) may be null where
// `EmittedSource::uses_workspace` is false, and no two calls at a time may share one.
//
// A local array is on the stack where its size is a constant, 16 lanes of it take at most 16 KiB, and all such arrays
// of the kernel at most 64 KiB; any other is in the workspace. That holds fewer than 2^31 elements of all lanes.
//
// `emit_cuda` writes for CUDA, see there.
//
// What the text means, where C++ leaves it open: integers wrap around; x / 0 is 0 and x % 0 is x; a shift
// counts modulo the width; min and max of a number and a NaN are the number; of several instances of one vector that
// store to one element the last one wins. An accumulation of more than one lane into one element is summed by lanes
// first, so its rounding differs from a serial loop's; where all instances add to one element after the other in a
// loop, many of them go through the loop together (`passes/interchange.h`).
//
// Operations on whole tiles that are much to compile are functions of their own (`EmittedSource::objects`), which the
// text declares.
//
// A pure function of its arguments: any thread, no state.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/array_facts.h"
#include "samite/passes/plan_tile_memory.h"
#include "samite/passes/product_loops.h"

#include <string>
#include <vector>

namespace samite::codegen {

using passes::ArrayFacts;

// How the instances of a launch are spread over CUDA's threads; `codegen/cuda_launch_shape.h` chooses.
struct CudaForm {
  // Each thread goes on to further instances until the box is done, so that any grid runs any box. Otherwise a thread
  // runs one instance, and the grid must have a thread for each: fewer than 2^31 in each dimension.
  bool grid_stride = false;
  int threads_per_block = 256;  // at most so many are launched
  // A thread runs so many neighbours in the last dimension at a time, as the kernel was planned
  // (`passes/side_by_side.h`). A power of two up to 8; the box then begins at a multiple of it in the last dimension.
  int instances_per_thread = 1;
  // A thread of the exact form runs so many instances one after another along the first of three dimensions, as the
  // kernel was planned (`passes/march.h`).
  int march = 1;
  // The launch may begin before the one ahead of it has ended, and the kernel waits for that itself. From compute
  // capability 9.0 on.
  bool waits_for_earlier_launch = false;
  // Where each instance is a block, else 0: of exactly so many threads, as the kernel says.
  int tile_threads = 0;
  // Of those, which have roles: so many rows of threads along y run the body, and one more produces
  // (ir::Kernel::teams). 0: they have one dimension.
  int teams = 0;
  // Of a tile kernel in the grid-stride form: a multiprocessor has one block at a time, which takes one index of the
  // launch after another.
  bool stays = false;
  // Of one that stays: so many blocks, one after another along x, are a cluster. 0: each is alone.
  int cluster_blocks = 0;
  // Of a tile kernel in the exact form: so many blocks, one after another along x, are a cluster that runs one index
  // (ir::Kernel::step_parts). 0: one block does.
  int step_parts = 0;
  // Of a tile kernel in the exact form: the grid has an axis for each of the launch's two or three dimensions, the last
  // one along x. A block then has its indices without a division.
  bool grid_axes = false;
  // Of a tile kernel: threads have so few registers that a multiprocessor has room for so many blocks, and no fewer
  // than leave room for that. 0: as many registers as one block leaves them.
  int blocks_at_once = 0;
  // Of a tile kernel: a launch may have 2^31 instances or more.
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
  std::vector<ScalarType> types = {};  // of the values between them
  bool is_race = false;                // a check of debug mode's own: ir::Check::race
};

// A tile that is loaded as a whole, on CUDA. `in_units`: where it lies inside its array it is copied in units of 16
// bytes, since its rows and the array's have whole ones; any other is loaded element by element, which is slower.
struct TileLoadSite {
  std::uint32_t array;
  bool in_units;
  SourceLocation where;
  friend bool operator==(const TileLoadSite &, const TileLoadSite &) = default;
};

// CPU: the function of a tile operation that is compiled on its own, once for all kernels that call it. Its name tells
// what it computes, on what types and extents: equal names are equal functions.
struct EmittedObject {
  std::string name;
  std::string operation;  // for people: "matmul f32 8x8 of f32 8x4, f32 4x8"
  std::string text;
};

struct EmittedSource {
  std::string text;
  std::vector<SourceLocation> lines;  // for each line of the text the user's that it was made of, if any
  std::string entry;
  std::vector<EmittedObject> objects;  // CPU: that the text calls, in the order of the first calls
  int lanes = 1;                       // instances that run in step
  std::vector<std::string> files;      // what Failure::file counts
  std::vector<SourceLocation> sites;   // what Failure::array counts where a failure has no file
  std::vector<MessageSite> messages;   // what Failure::message counts
  bool uses_workspace = false;
  // CUDA: the channel is touched, and may not be null.
  bool uses_channel = false;
  // CUDA: what all instances add to one element is summed by each thread, then by each block. Few threads with many
  // instances each, which the grid-stride form has, are then many times faster than a thread for each instance.
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
// `maps` is there where the kernel has bulk copies: the tensor maps that `EmittedSource::tensor_maps` lists, 128 bytes
// each, 64-byte aligned. The other parameters lie one after another, each 8-byte aligned: `arguments` as
// codegen/argument_layout.h says, passed by value; `box` and `workspace` as codegen/cuda_launch.h, `channel` a pointer
// that the device can use to what codegen/cuda_channel.h says, null where `uses_channel` is false. A workspace is
// needed where `uses_workspace` is true.
//
// The last dimension of the launch is x of the grid, the one before y, and both others z, the third from last running
// faster. Blocks have at most `threads_per_block` threads, of any shape. Whoever launches a kernel that uses a
// workspace takes the grid-stride form with a limited grid, since each thread has its share of the memory.
//
// A tile kernel has `CudaForm::tile_threads` threads in each block and a grid of any size along x alone; its blocks
// have `EmittedSource::tile_memory.bytes` of dynamic shared memory. Tiles that a loop keeps, and that take more than 16
// KiB in all or are of a number known only when the kernel runs, are in the workspace.
//
// A local array is in the thread's own memory where its size is a constant, it takes at most 1 KiB, and all such arrays
// of the kernel at most 4 KiB. An instance that gets no memory for another one ends there, and is reported.
//
// The meaning is as above, but for two things: of several instances that store to one element any one wins, and indices
// that are computed for nothing else do not wrap round (one that would is outside of its array).
//
// Throws UserError where the parameters take more than the 4 KiB that CUDA has for them.
EmittedSource emit_cuda(const ir::Kernel &planned, const EmitOptions &options);

// Sets what a form has of a kernel's plan: the threads of a block, its teams, and the blocks of a cluster. `emit_cuda`
// does so for itself.
void set_blocks(CudaForm &form, const ir::Kernel &planned);

}  // namespace samite::codegen
