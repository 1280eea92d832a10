// The MPI that a program uses, opened at run time; the library does not link MPI.
//
// Two adapters are installed with the library (mpi_shim/mpi_shim.h). Samite opens the adapter for the MPI that
// SAMITE_MPI names ("openmpi" or "mpich"), that the process has loaded, or that has started it, as environment
// variables of mpirun show. Thread-safe.
#pragma once

#include "samite/distributed/mpi_shim/mpi_shim.h"

#include <string>
#include <type_traits>

namespace samite::distributed {

enum class MpiKind { open_mpi, mpich };

// The handle of a program's own communicator and the kind of its MPI: handles are pointers in Open MPI and integers in
// MPICH.
template <class Comm>
MpiKind mpi_kind_of() {
  static_assert(std::is_pointer_v<Comm> || std::is_integral_v<Comm>, "expected an MPI_Comm");
  return std::is_pointer_v<Comm> ? MpiKind::open_mpi : MpiKind::mpich;
}

// The kind of MPI that this process uses. DeviceError if it uses none.
MpiKind mpi_kind_of_process();

// Opened and started at the first call. DeviceError if the shim or its MPI is missing, or MPI cannot start.
const SamiteMpi &mpi(MpiKind kind);

// Throws DeviceError unless a call succeeded: "MPI_Allreduce: <MPI's own words>".
void check_mpi(const SamiteMpi &mpi, int code, const std::string &call);

}  // namespace samite::distributed
