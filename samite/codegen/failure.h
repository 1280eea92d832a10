// What a kernel writes down when an instance does something wrong, and whom it tells what the kernel's own prints and
// checks say: the host's side of samite/device/cpu/failure.h,
// which the kernel is compiled with. All but `out_of_memory` is noticed by code compiled for debugging only.
//
// The launcher zeroes one of these, passes it to every box of a launch, and reads it when all have ended. The first
// failure is kept; the access that failed did nothing (a load gave 0), and the launch went on. Instances that got no
// memory for a local array have ended there.
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

// The index of the instance that failed; of a tile kernel the block's. Nothing is known of it where `rank` is 0: each
// launch on the CPU has one of these, and clears no more of it than that takes.
struct FailedInstance {
  std::array<std::int64_t, 4> index;
  std::uint32_t rank = 0, reserved = 0;
};

struct Failure {
  std::uint32_t state = 0;  // 0: nothing failed; 1: being written; 2: complete
  FailureKind kind = FailureKind::none;
  std::uint32_t array = 0;  // the parameter's index; of out_of_memory: into EmittedSource::sites
  std::uint32_t dimension = 0;
  std::int64_t index = 0, extent = 0;
  std::uint32_t file = 0;  // into EmittedSource::files
  std::uint32_t line = 0;
  // Called by each instance that prints, and where a check fails, from any thread: `site` counts
  // EmittedSource::messages, `instance` is the index of the instance, of a check, and `values` the message's, each the
  // bits of its own type in the low bytes. Must not throw. May be null where the kernel has no messages.
  void (*message)(Failure *failure, std::uint32_t site, const std::int64_t *instance,
                  const std::uint64_t *values) = nullptr;
  FailedInstance instance;
};
static_assert(sizeof(Failure) == 88 && offsetof(Failure, index) == 16 && offsetof(Failure, file) == 32 &&
              offsetof(Failure, message) == 40 && offsetof(Failure, instance) == 48);

}  // namespace samite::codegen
