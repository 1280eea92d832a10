// The record of a kernel's first failure, and the function that it calls for prints and checks: the host's side of
// samite/device/cpu/failure.h, which the kernel is compiled with. Only code compiled for debugging detects failures
// other than `out_of_memory`.
//
// `DebugSteps` are functions of the host that debug mode's checks call.
//
// The launcher zeroes a Failure, passes it to every box of a launch, and reads it when all boxes have ended. The first
// failure is kept. The failing access has no effect (a load returns 0), and the launch continues. An instance that gets
// no memory for a local array ends there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace samite::codegen {

enum class FailureKind : std::uint32_t {
  none = 0,
  index_out_of_bounds = 1,
  integer_division_by_zero = 2,
  local_index_out_of_bounds = 3,  // `index` into a local array of `extent` elements
  out_of_memory = 4,              // a local array of `index` bytes, of all lanes
};

// The index of the failing instance; in a tile kernel the block's. Unknown if `rank` is 0; then the rest is not cleared
// either: every CPU launch has one of these, and clears as little as possible.
struct FailedInstance {
  std::array<std::int64_t, 4> index;
  std::uint32_t rank = 0, reserved = 0;
};

struct DebugSteps;  // samite/codegen/debug_steps.h

struct Failure {
  std::uint32_t state = 0;  // 0: nothing failed; 1: being written; 2: complete
  FailureKind kind = FailureKind::none;
  std::uint32_t array = 0;  // the parameter's index; of out_of_memory: into EmittedSource::sites
  std::uint32_t dimension = 0;
  std::int64_t index = 0, extent = 0;
  std::uint32_t file = 0;  // into EmittedSource::files
  std::uint32_t line = 0;
  // Called by each instance that prints or whose check fails, from any thread. `site` is an index into
  // EmittedSource::messages. `instance` is the index of the instance, for a check. `values` are the message's, each
  // with the bits of its own type in the low bytes. Must not throw. May be null if the kernel has no messages.
  void (*message)(Failure *failure, std::uint32_t site, const std::int64_t *instance,
                  const std::uint64_t *values) = nullptr;
  const DebugSteps *debug = nullptr;  // required by kernels that are compiled for debugging
  FailedInstance instance;
};
static_assert(sizeof(Failure) == 96 && offsetof(Failure, index) == 16 && offsetof(Failure, file) == 32 &&
              offsetof(Failure, message) == 40 && offsetof(Failure, debug) == 48 && offsetof(Failure, instance) == 56);

}  // namespace samite::codegen
