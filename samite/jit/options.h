// Options of a launch.
#pragma once

#include "samite/ir/tile_plan.h"
#include "samite/runtime/stream.h"

#include <optional>
#include <string_view>

namespace samite {

enum class Direction : std::uint8_t {
  forward,  // the kernel itself
  adjoint,  // from the gradients of its outputs to the gradients of its inputs
  tangent,  // the kernel, and the tangents of its outputs; a buffer's gradient holds its tangent
};

std::string_view name(Direction direction);  // "forward"

// How CUDA runs a launch; the results are the same, and the CPU ignores it. UserError with the reason if a device
// cannot honour it.
struct CudaOptions {
  // Each thread's memory for local arrays that do not fit its own, such as the values that an adjoint stores for a
  // loop. An instance that needs more ends there, which is reported. In a tile kernel a block has this for each of its
  // threads, for the tiles that its adjoint stores for loops.
  std::int64_t workspace_bytes = std::int64_t{64} << 10;
  // The cluster size: neighbouring blocks in the launch's last dimension that run concurrently on neighbouring
  // multiprocessors, close to their shared data: 1 to 16, from compute capability 9.0 on. Some GPUs support at most 8.
  std::optional<int> cluster = {};
  // For a tile kernel that sums products in a loop: split-K, the number of parts of the sums that separate blocks
  // compute, 1 to 1024. The parts are reduced by the blocks of a cluster if possible and at most 8
  // (passes/sm90/share_steps.h), otherwise by another kernel (passes/tiles/split_sums.h). By default as many as fill
  // the device's multiprocessors; 1 disables it. UserError for more than one in any other kernel.
  std::optional<int> sum_parts = {};
  // For a forward launch of a tile kernel: fields that are set replace those of TileOptions::plan. Unlike `sum_parts`,
  // which gives a loop with fewer iterations as many parts as it has, a plan's `parts` is obeyed or refused.
  TilePlan plan = {};
  // Programmatic dependent launch, from compute capability 9.0 on: the device prepares this launch while the previous
  // one in the stream ends. The kernel waits for that one before it accesses memory. It shortens the gap between short
  // launches.
  bool programmatic = false;
  // Lower is more urgent, as for Stream; default: the stream's own.
  std::optional<int> priority = {};
};

struct LaunchOptions {
  Direction direction = Direction::forward;
  std::optional<Stream> stream = {};  // default: the standard stream of the buffers' device
  // Check every array index and every integer division, and look for races between instances
  // (passes/threads/check_races.h). Default: debug_mode().
  std::optional<bool> debug = {};
  // Adjoint: check that gradients are finite, and otherwise find the first instance, line and values.
  bool check_finite = false;
  // The same bits on every run of this program on this machine. Floating-point sums then have a fixed order: an adjoint
  // gathers if possible (passes/adjoint/gather.h), and a launch that still adds atomically runs on one thread.
  bool deterministic = false;
  // Adjoint: the bytes that an instance may store for each loop; default 64 KiB. A loop that would store more uses
  // checkpoints: memory for n iterations is then that for 2 √n, and the loop runs once more.
  std::optional<std::int64_t> memory_limit = {};
  CudaOptions cuda = {};
};

// The default of LaunchOptions::debug. Initially the environment variable SAMITE_DEBUG decides: any value but 0 means
// on. Thread-safe.
bool debug_mode();
void set_debug_mode(bool on);

}  // namespace samite
