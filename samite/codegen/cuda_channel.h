// Reports of a CUDA kernel to the host: the host's side of samite/device/cuda/channel.h.
//
// A channel is in memory that host and device can access (pinned and mapped), or in device memory, from which it is
// copied. The launcher initialises it with `clear`, passes it to a launch, and reads it when the launch has ended. It
// holds the first failure (codegen/failure.h) and, unordered, a record for each print and for each failed check. It
// counts records that did not fit.
#pragma once

#include "samite/codegen/failure.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace samite::codegen {

// The `dimension` of an out_of_memory for a block's tiles rather than for a thread's own array. `index` is then the
// size that each thread of the block would need.
inline constexpr std::uint32_t memory_of_block = 1;

struct CudaFailure {
  std::uint32_t state = 0;  // as in Failure, except for the message
  FailureKind kind = FailureKind::none;
  std::uint32_t array = 0, dimension = 0;
  std::int64_t index = 0;
  std::int64_t extent = 0;  // of out_of_memory: the bytes of workspace of each thread
  std::uint32_t file = 0, line = 0;
  FailedInstance instance;
};

struct CudaChannel {
  CudaFailure failure;
  std::uint32_t lost_prints = 0, lost_checks = 0;
  std::uint64_t used = 0, capacity = 0;  // 8-byte words of records: requested, and available
  // The records follow.
};
static_assert(sizeof(CudaFailure) == 80 && offsetof(CudaFailure, index) == 16 && offsetof(CudaFailure, file) == 32 &&
              offsetof(CudaFailure, instance) == 40);
static_assert(sizeof(CudaChannel) == 104 && offsetof(CudaChannel, lost_prints) == 80 &&
              offsetof(CudaChannel, used) == 88 && offsetof(CudaChannel, capacity) == 96);

// The report of an instance. `site` is an index into EmittedSource::messages. `instance` is the index of the instance,
// a number for each dimension of the launch (for a check; else empty). `values` are the message's, each with the bits
// of its own type in the low bytes.
struct CudaRecord {
  std::uint32_t site;
  std::span<const std::uint64_t> instance, values;
};

// Initialises an empty channel in `bytes` of memory, 8-byte aligned.
void clear(CudaChannel *channel, std::size_t bytes);

// The records of a channel; they point into its memory. `messages` and `launch_rank` are the kernel's.
struct MessageSite;
std::vector<CudaRecord> records(const CudaChannel &channel, std::span<const MessageSite> messages, int launch_rank);

}  // namespace samite::codegen
