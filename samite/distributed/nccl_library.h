// NCCL, opened at run time: libnccl.so.2 or the file that SAMITE_NCCL names. The library does not link NCCL.
//
// The table has NCCL's C interface, as of version 2.18 and later. A program that already has the entry points, or a
// test with a fake, provides a table. Thread-safe.
#pragma once

#include "samite/base/scalar_type.h"
#include "samite/distributed/reduction.h"
#include "samite/driver/abi.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace samite::distributed {

// ncclUniqueId: made by one rank and given to all others.
struct NcclId {
  char bytes[128];
};

enum class NcclResult : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7
};

struct NcclComm;  // ncclComm
using driver::CUstream;

// clang-format off
//  name without "nccl", parameters
#define SAMITE_NCCL_ENTRY_POINTS(X)                                                                                    \
  X(GetVersion, (int *version))                                                                                        \
  X(GetUniqueId, (NcclId *id))                                                                                         \
  X(CommInitRank, (NcclComm **comm, int ranks, NcclId id, int rank))                                                   \
  X(CommSplit, (NcclComm *comm, int colour, int key, NcclComm **part, void *configuration))                            \
  X(CommDestroy, (NcclComm *comm))                                                                                     \
  X(CommAbort, (NcclComm *comm))                                                                                       \
  X(CommGetAsyncError, (NcclComm *comm, NcclResult *error))                                                            \
  X(CommCuDevice, (const NcclComm *comm, int *device))                                                                \
  X(CommCount, (const NcclComm *comm, int *ranks))                                                                     \
  X(CommUserRank, (const NcclComm *comm, int *rank))                                                                   \
  X(AllReduce, (const void *from, void *to, std::size_t count, int type, int operation, NcclComm *comm, CUstream stream)) \
  X(Reduce, (const void *from, void *to, std::size_t count, int type, int operation, int root, NcclComm *comm, CUstream stream)) \
  X(ReduceScatter, (const void *from, void *to, std::size_t count, int type, int operation, NcclComm *comm, CUstream stream)) \
  X(Broadcast, (const void *from, void *to, std::size_t count, int type, int root, NcclComm *comm, CUstream stream))   \
  X(AllGather, (const void *from, void *to, std::size_t count, int type, NcclComm *comm, CUstream stream))             \
  X(Send, (const void *from, std::size_t count, int type, int rank, NcclComm *comm, CUstream stream))                  \
  X(Recv, (void *to, std::size_t count, int type, int rank, NcclComm *comm, CUstream stream))                          \
  X(GroupStart, ())                                                                                                    \
  X(GroupEnd, ())
// clang-format on

struct NcclTable {
#define SAMITE_POINTER(name, parameters) NcclResult(*name) parameters = nullptr;
  SAMITE_NCCL_ENTRY_POINTS(SAMITE_POINTER)
#undef SAMITE_POINTER
  const char *(*GetErrorString)(NcclResult result) = nullptr;
  const char *(*GetLastError)(NcclComm *comm) = nullptr;
};

class Nccl {
 public:
  // The process's table: the provided one, or else the library's, opened at the first call. DeviceError if there is
  // none, or if it is older than 2.18.
  static std::shared_ptr<const Nccl> system();
  // From now on system() returns this; null restores the library. Communicators keep theirs.
  static void provide(std::shared_ptr<const Nccl> nccl) noexcept;

  explicit Nccl(const NcclTable &table);

  const NcclTable &table() const noexcept { return table_; }
  int version() const noexcept { return version_; }  // 22304 for 2.23.4

  // Throws DeviceError with NCCL's own message unless the call succeeded.
  void check(NcclResult result, const std::string &call, NcclComm *comm = nullptr) const;

 private:
  NcclTable table_;
  int version_ = 0;
};

// NCCL's number of a type; empty for types that NCCL, or this version, lacks.
std::optional<int> nccl_type(ScalarType type, int version);
int nccl_operation(ReduceOp reduction);
constexpr int nccl_bytes = 1;  // ncclUint8

}  // namespace samite::distributed
