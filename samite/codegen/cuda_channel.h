// What a CUDA kernel tells the host: the host's side of samite/device/cuda/channel.h.
//
// A channel lies in memory that host and device can reach (pinned and mapped), or in device memory, from where it is
// copied. The launcher makes it with `clear`, passes it to a launch, and reads it when the launch has ended. It holds
// the first failure (codegen/failure.h) and, in no order, a record for each print and for each check that failed.
// Records for which there was no room are counted.
#pragma once

#include "samite/codegen/failure.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace samite::codegen {

// The `dimension` of an out_of_memory where there is no memory for a block's tiles, and not for a thread's own array.
// `index` is then the size that each thread of the block would need.
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

// What an instance reported. `site` is an index into EmittedSource::messages. `instance` is the index of the instance,
// a number for each dimension of the launch (of a check; else empty). `values` are the message's, each the bits of its
// own type in the low bytes.
struct CudaRecord {
  std::uint32_t site;
  std::span<const std::uint64_t> instance, values;
};

// A channel in `bytes` of memory, 8-byte aligned, with nothing in it.
void clear(CudaChannel *channel, std::size_t bytes);

// The records of a channel; they point into its memory. `messages` and `launch_rank` are the kernel's.
struct MessageSite;
std::vector<CudaRecord> records(const CudaChannel &channel, std::span<const MessageSite> messages, int launch_rank);

}  // namespace samite::codegen
