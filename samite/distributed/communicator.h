// A communicator: the ranks of a program that compute together, and this process's or thread's place among them.
//
//   Communicator world = Communicator::from_mpi();            // mpirun -n 4 ./program
//   Buffer<float> x{world.device(), {n}}, total{world.device(), {n}};
//   all_reduce(world, total, x);                              // distributed/collectives.h
//
// Ranks are processes of an MPI program (CPU), processes or threads with a GPU each (NCCL), or threads (CPU). All ranks
// make the same collective calls in the same order. On the CPU a call has completed when it returns; on CUDA it is
// queued in the communicator's stream. MPI and NCCL are opened when they are used, and never linked.
//
// A Communicator is a handle: copies are the same rank of the same communicator. One thread uses it at a time; abort()
// may be called by any.
#pragma once

#include "samite/distributed/transport.h"

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace samite {

struct CommunicatorOptions {
  // The longest time that a call waits for other ranks; after it, the call is a DeviceError that names the call, its
  // line and the missing ranks, and the communicator is aborted. 0 waits forever. With MPI it costs small messages
  // between all ranks and a copy of the arrays.
  std::chrono::milliseconds timeout{0};
  // Whether calls that differ between ranks are detected: a UserError on all of them. Default: debug_mode(). Ranks that
  // are threads always check.
  std::optional<bool> verified = {};
  // Sums in the order of the ranks, with the same bits for any number of elements. Ranks that are threads always have
  // this order.
  bool deterministic = false;
};

// Names a communicator over NCCL that is about to be made: one rank makes an id and gives its bytes to all others.
struct CommunicatorId {
  std::array<char, 128> bytes{};
};

class Communicator {
 public:
  // All ranks of the program that mpirun or mpiexec started. MPI is initialised if the program has not done so, and
  // then finalised at exit. On the CPU, messages go over MPI; on CUDA, MPI only distributes the id, and each rank names
  // its own device. DeviceError if there is no MPI, or no NCCL.
  static Communicator from_mpi(const CommunicatorOptions &options = {});
  static Communicator from_mpi(Device device, const CommunicatorOptions &options = {});
  // The ranks of the program's own MPI_Comm, which is duplicated; a collective call.
  template <class Comm>
  static Communicator from_mpi(Comm communicator, const CommunicatorOptions &options = {});
  // `ranks` ranks that are threads of this process, in order; each is used by one thread. UserError if there are none.
  static std::vector<Communicator> of_threads(int ranks, const CommunicatorOptions &options = {},
                                              SourceLocation where = std::source_location::current());
  // A rank for each of these CUDA devices of this process, in order, over NCCL; each is used by one thread.
  static std::vector<Communicator> of_devices(const std::vector<Device> &devices,
                                              const CommunicatorOptions &options = {},
                                              SourceLocation where = std::source_location::current());

  // Over NCCL, by an id that the program distributes to its processes; a collective call.
  static CommunicatorId new_id();
  static Communicator from_id(const CommunicatorId &id, int rank, int size, Device device,
                              const CommunicatorOptions &options = {},
                              SourceLocation where = std::source_location::current());
  // Over NCCL, with an ncclComm_t that the program has made, and that outlives the result: rank, size and device are
  // its own. It is not destroyed with the last handle, but abort() and a timeout abort it, and then the program must
  // not use it any more, nor destroy it. UserError for a null pointer.
  static Communicator from_nccl(void *communicator, const CommunicatorOptions &options = {},
                                SourceLocation where = std::source_location::current());
  // Over NCCL, by the environment variables that torchrun sets: RANK, WORLD_SIZE, LOCAL_RANK (the CUDA device),
  // MASTER_ADDR and MASTER_PORT. Rank 0 sends the id by TCP from the port after MASTER_PORT, or from SAMITE_PORT.
  // UserError if a variable is missing; DeviceError if ranks do not meet within the timeout, or a minute.
  static Communicator from_environment(const CommunicatorOptions &options = {},
                                       SourceLocation where = std::source_location::current());

  int rank() const noexcept { return transport_->rank(); }
  int size() const noexcept { return transport_->size(); }
  Device device() const noexcept { return transport_->device(); }
  const Stream &stream() const noexcept { return stream_; }

  // The same rank, whose calls are queued in that stream. UserError if it belongs to another device.
  Communicator on(const Stream &stream, SourceLocation where = std::source_location::current()) const;

  // Waits for the work of stream(). On CUDA it is a DeviceError if another rank or the network fails meanwhile, or
  // after the timeout: plain Stream::synchronize() would wait forever.
  void synchronize(SourceLocation where = std::source_location::current()) const;
  // Returns when all ranks have called it.
  void barrier(SourceLocation where = std::source_location::current()) const;
  // The ranks of one colour form a communicator, ordered by `key`, then by their present rank. A collective call.
  Communicator split(int colour, int key = 0, SourceLocation where = std::source_location::current()) const;
  // Ends all waiting calls of this communicator in this process, and refuses later ones, with this reason.
  void abort(const std::string &reason) const;

  std::string to_string() const;  // "rank 1 of 4 by threads on cpu"

  // For the library.
  distributed::Transport &transport() const noexcept { return *transport_; }
  Communicator(std::shared_ptr<distributed::Transport> transport, const Stream &stream)
      : transport_(std::move(transport)), stream_(stream) {}

 private:
  static Communicator of_mpi(bool handles_are_pointers, std::intptr_t communicator, const CommunicatorOptions &options);

  std::shared_ptr<distributed::Transport> transport_;
  Stream stream_;
};

std::ostream &operator<<(std::ostream &stream, const Communicator &communicator);

template <class Comm>
Communicator Communicator::from_mpi(Comm communicator, const CommunicatorOptions &options) {
  static_assert(std::is_pointer_v<Comm> || std::is_integral_v<Comm>, "expected an MPI_Comm");
  return of_mpi(std::is_pointer_v<Comm>, (std::intptr_t)communicator, options);
}

}  // namespace samite
