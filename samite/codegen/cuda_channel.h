// What a CUDA kernel tells the host: the host's side of samite/device/cuda/channel.h.
//
// A channel lies in memory that both can reach (pinned and mapped), or in the device's, from where it is copied. The
// launcher makes it with `clear`, passes it to a launch, and reads it when the launch has ended: the first failure, as
// codegen/failure.h says, and a record for each print, and for each check that failed, in no order. Records that have
// no room are counted.
#pragma once

#include "samite/codegen/failure.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace samite::codegen {

// The `dimension` of an out_of_memory: it is a block's tiles, not a thread's own array, for which there is no memory;
// `index` is then what each of its threads would have to have.
inline constexpr std::uint32_t memory_of_block = 1;

struct CudaFailure {
  std::uint32_t state = 0;  // as in Failure, but for the message
  FailureKind kind = FailureKind::none;
  std::uint32_t array = 0, dimension = 0;
  std::int64_t index = 0;
  std::int64_t extent = 0;  // of out_of_memory: the bytes of workspace that there are for each thread
  std::uint32_t file = 0, line = 0;
  FailedInstance instance;
};

struct CudaChannel {
  CudaFailure failure;
  std::uint32_t lost_prints = 0, lost_checks = 0;
  std::uint64_t used = 0, capacity = 0;  // 8-byte words of records: asked for, and there
  // The records follow.
};
static_assert(sizeof(CudaFailure) == 80 && offsetof(CudaFailure, index) == 16 && offsetof(CudaFailure, file) == 32 &&
              offsetof(CudaFailure, instance) == 40);
static_assert(sizeof(CudaChannel) == 104 && offsetof(CudaChannel, lost_prints) == 80 &&
              offsetof(CudaChannel, used) == 88 && offsetof(CudaChannel, capacity) == 96);

// What an instance said: `site` counts EmittedSource::messages, `instance` is the index of the instance, a number for
// each dimension of the launch (of a check; else empty), and `values` are the message's, each the bits of its own type
// in the low bytes.
struct CudaRecord {
  std::uint32_t site;
  std::span<const std::uint64_t> instance, values;
};

// A channel in `bytes` of memory, 8-byte aligned, with nothing in it.
void clear(CudaChannel *channel, std::size_t bytes);

// The records of a channel, which they point into. `messages` are the kernel's; `launch_rank` too.
struct MessageSite;
std::vector<CudaRecord> records(const CudaChannel &channel, std::span<const MessageSite> messages, int launch_rank);

}  // namespace samite::codegen
