// A transport carries bytes between ranks: threads of one process, MPI, or NCCL.
//
// A transport belongs to one rank. All ranks must make the same collective calls in the same order. Addresses are on
// the transport's device; elements are contiguous. On the CPU a call has completed when it returns; on CUDA it is
// queued in `stream`. Errors are DeviceErrors.
#pragma once

#include "samite/distributed/reduction.h"
#include "samite/runtime/stream.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace samite::distributed {

// A collective call. Its text is built only for errors and announcements.
struct CallName {
  const char *operation = "";
  SourceLocation where = {};
  std::int64_t count = -1;  // number of elements; -1: not known
  ScalarType type = ScalarType::Float32;
  std::optional<ReduceOp> reduction = {};
  int root = -1;

  std::string arguments() const;  // "(sum) of 1024 f32, root 1"
  std::string to_string() const;  // "reduce (sum) of 1024 f32, root 1 (solver.cpp:41)"
};

// Bytes to or from another rank. Two ranks' messages arrive in the order in which they are sent.
struct Message {
  void *data;
  std::size_t bytes;
  int rank;
};

// Messages that a transport has started. Those that are destroyed before they have finished abort the communicator.
class MessagesUnderWay {
 public:
  MessagesUnderWay() = default;
  MessagesUnderWay(const MessagesUnderWay &) = delete;
  MessagesUnderWay &operator=(const MessagesUnderWay &) = delete;
  virtual ~MessagesUnderWay() = default;

  // Returns when all of them have been sent and received; on CUDA at once. Called once.
  virtual void finish(const CallName &call) = 0;
};

class Transport {
 public:
  Transport(int rank, int size, Device device) : rank_(rank), size_(size), device_(device) {}
  Transport(const Transport &) = delete;
  Transport &operator=(const Transport &) = delete;
  virtual ~Transport() = default;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  Device device() const noexcept { return device_; }
  virtual std::string name() const = 0;  // "threads"

  // `to` and `from` may be the same.
  virtual void all_reduce(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                          const Stream &stream, const CallName &call) = 0;
  // Only the root's `to` is written; on other ranks it may be null.
  virtual void reduce(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction, int root,
                      const Stream &stream, const CallName &call) = 0;
  // Rank r gets part r of the sums; `count` elements for each rank.
  virtual void reduce_scatter(void *to, const void *from, std::size_t count, ScalarType type, ReduceOp reduction,
                              const Stream &stream, const CallName &call) = 0;
  virtual void broadcast(void *data, std::size_t bytes, int root, const Stream &stream, const CallName &call) = 0;
  // `bytes` of each rank, in the order of ranks.
  virtual void all_gather(void *to, const void *from, std::size_t bytes, const Stream &stream,
                          const CallName &call) = 0;
  // All messages concurrently, so that no order of ranks can deadlock.
  virtual void exchange(std::span<const Message> sends, std::span<const Message> receives, const Stream &stream,
                        const CallName &call) = 0;
  // The same, which returns at once: `memory`, which owns the messages' data, must not change until
  // they have finished. Messages of other calls may be sent and received meanwhile.
  virtual std::unique_ptr<MessagesUnderWay> start(std::vector<Message> sends, std::vector<Message> receives,
                                                  std::shared_ptr<const void> memory, const Stream &stream,
                                                  const CallName &call) = 0;
  // Returns when all ranks have called it; on CUDA it waits for the stream, too.
  virtual void barrier(const Stream &stream, const CallName &call) = 0;
  // Waits for the stream's work. On CUDA it ends with an error if another rank fails or is missing.
  virtual void synchronize(const Stream &stream, const CallName &call) = 0;
  // Ranks of one colour form a transport, ordered by `key`, then by rank.
  virtual std::shared_ptr<Transport> split(int colour, int key, const CallName &call) = 0;
  // Ends calls of other ranks that wait, and refuses later ones, with this reason. Any thread may call it.
  virtual void abort(const std::string &reason) noexcept = 0;

 private:
  int rank_, size_;
  Device device_;
};

// "waited 5 s", for messages; a timeout of 0 waits forever.
using Timeout = std::chrono::milliseconds;
std::string waited(Timeout timeout);

}  // namespace samite::distributed
