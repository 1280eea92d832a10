// Ranks that are processes of an MPI program, on the CPU.
//
// Types that MPI has use MPI's own collectives, with MPI's order of sums, which may depend on the number of ranks and
// elements. Other types, and all types if `deterministic`, are reduced in the order of the ranks: an all-to-all of
// parts, sums, and an all-gather.
#pragma once

#include "samite/distributed/mpi_library.h"
#include "samite/distributed/transport.h"

namespace samite::distributed {

struct MpiOptions {
  // 0 waits forever. Otherwise each call begins with small messages between all ranks, which reveal missing ranks, and
  // MPI works on copies of the arrays, because a failed call may still write to them.
  Timeout timeout{0};
  bool verified = false;  // sends the same messages, to detect ranks that make different calls
  bool deterministic = false;
};

// All ranks of the communicator call this. The communicator is duplicated, so that the program's messages do not mix
// with Samite's. DeviceError.
std::shared_ptr<Transport> mpi_transport(MpiKind kind, SamiteMpiHandle communicator, const MpiOptions &options);
std::shared_ptr<Transport> mpi_world(MpiKind kind, const MpiOptions &options);

}  // namespace samite::distributed
