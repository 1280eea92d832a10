// An NCCL without GPUs, for ranks that are threads, rank r on device r: on the fake CUDA driver, whose device memory is
// host memory. It checks that programs follow NCCL's rules: all ranks make the same calls, a stream belongs to the
// communicator's device, groups are ended, and every communicator is destroyed or aborted.
#pragma once

#include "samite/distributed/nccl_library.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace samite::test {

class FakeNccl {
 public:
  explicit FakeNccl(int version = 22704, std::chrono::milliseconds patience = std::chrono::seconds(20));
  FakeNccl(const FakeNccl &) = delete;
  FakeNccl &operator=(const FakeNccl &) = delete;
  // Fails the test for each communicator that still lives, and for each broken rule.
  ~FakeNccl();

  // The call of this number, counted from 0 over all ranks, fails with a system error.
  void fail_call(int number);
  int calls() const;
  // The streams of messages since the last time.
  std::set<driver::CUstream> take_message_streams();
  // From now on CommGetAsyncError reports this of every communicator.
  void report(distributed::NcclResult error);
  std::vector<std::string> take_mistakes();
};

}  // namespace samite::test
