// How a kernel is launched.
#pragma once

#include "samite/runtime/stream.h"

#include <optional>
#include <string_view>

namespace samite {

enum class Direction : std::uint8_t {
  forward,  // what the kernel says
  adjoint,  // from the gradients of what it wrote to the gradients of what it read
  tangent,  // what the kernel says, and from the tangents of what it reads to the tangents of what it writes; a
            // buffer's gradient holds its tangent
};

std::string_view name(Direction direction);  // "forward"

struct LaunchOptions {
  Direction direction = Direction::forward;
  std::optional<Stream> stream = {};  // else the standard stream of the buffers' device
  // Check every array index and every integer division, and look for instances that race for an element
  // (passes/check_races.h); where it is not set, debug_mode() decides.
  std::optional<bool> debug = {};
  // Adjoint: check that gradients are finite, and find the first instance, line and values where they are not.
  bool check_finite = false;
  // The same bits on every run of this program on this machine. Sums of floating numbers then have one order: an
  // adjoint that can be gathered is (passes/gather.h), and a launch that still adds atomically runs on one thread.
  bool deterministic = false;
  // Adjoint: the bytes that an instance may keep for each loop, 64 KiB where this is not set. A loop that would keep
  // more has checkpoints: memory for n iterations is then that for 2 √n, and the loop runs once more.
  std::optional<std::int64_t> memory_limit = {};
  // CUDA: the memory that each thread has for local arrays that do not fit its own, such as what an adjoint keeps of a
  // loop. An instance that needs more ends there, which is reported. Of a tile kernel a block has that for each of its
  // threads, for the tiles that its adjoint keeps of loops.
  std::int64_t workspace_bytes = std::int64_t{64} << 10;
  // What follows is for CUDA; the CPU has nothing of it. A device that cannot do it is a UserError with the reason.
  //
  // Blocks that lie beside each other in the launch's last dimension and run at the same time on neighbouring
  // multiprocessors, so that what they share stays close to them: 1 to 16, from compute capability 9.0 on. More than 8
  // not every GPU can.
  std::optional<int> cluster = {};
  // Of a tile kernel that adds up products in a loop: in how many parts blocks of their own compute the sums, which are
  // then added up, 1 to 1024: by the blocks of a cluster where they can and the parts are 8 at most
  // (passes/share_steps.h), or by a further kernel (passes/split_sums.h). Where it is not set, in as many as make use
  // of the device's multiprocessors, and in one where there are blocks enough; 1: in one. More than one of a kernel
  // that is no such one is a UserError.
  std::optional<int> sum_parts = {};
  // Programmatic dependent launch, from compute capability 9.0 on: the device prepares this launch while the one before
  // it in the stream comes to its end. The kernel waits for that before it touches memory, so that the results are the
  // same; between short launches some of the gap is saved.
  bool programmatic = false;
  // Lower is more urgent, as for Stream; else the stream's own.
  std::optional<int> priority = {};
};

// Whether kernels are launched in debug mode where their options do not say. At first the environment variable
// SAMITE_DEBUG decides: set to anything but 0, it is on. Thread-safe.
bool debug_mode();
void set_debug_mode(bool on);

}  // namespace samite
