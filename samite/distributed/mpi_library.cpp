#include "samite/distributed/mpi_library.h"

#include "samite/base/dynamic_library.h"
#include "samite/base/error.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <array>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>

namespace samite::distributed {
namespace {

const char *name_of(MpiKind kind) { return kind == MpiKind::open_mpi ? "openmpi" : "mpich"; }

bool is_loaded(const char *symbol) { return ::dlsym(RTLD_DEFAULT, symbol) != nullptr; }

std::optional<MpiKind> wanted_kind() {
  const char *value = std::getenv("SAMITE_MPI");
  if (!value) return {};
  const std::string_view text = value;
  if (text == "openmpi") return MpiKind::open_mpi;
  if (text == "mpich") return MpiKind::mpich;
  throw DeviceError(fmt::format("SAMITE_MPI is \"{}\": expected openmpi or mpich", text));
}

// The folder of the library with this function, which also has the shims.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void *>(&own_folder), &info) == 0 || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

const SamiteMpi &open_shim(MpiKind kind) {
  const std::string path = fmt::format("{}libsamite_{}.so", own_folder(), name_of(kind));
  try {
    // MPI runs threads of its own, so it must not be unloaded.
    const DynamicLibrary library(path, Unloading::never);
    const SamiteMpi &table = *library.function<decltype(samite_mpi)>("samite_mpi")();
    if (table.version != SAMITE_MPI_SHIM_VERSION)
      throw DeviceError(fmt::format("{} is of another version of Samite", path));
    return table;
  } catch (const DeviceError &error) {
    throw DeviceError(
        fmt::format("no MPI: {}\nSamite needs its own adapter, {}, which is built where the MPI's headers "
                    "are (libopenmpi-dev, libmpich-dev), and the MPI's library.",
                    error.what(), path));
  }
}

}  // namespace

MpiKind mpi_kind_of_process() {
  if (const auto wanted = wanted_kind()) return *wanted;
  if (is_loaded("ompi_mpi_comm_world")) return MpiKind::open_mpi;
  if (is_loaded("MPIR_Process") || is_loaded("MPI_Init")) return MpiKind::mpich;
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) return MpiKind::open_mpi;
  if (std::getenv("PMI_SIZE") || std::getenv("PMI_RANK") || std::getenv("MPI_LOCALNRANKS")) return MpiKind::mpich;
  throw DeviceError(
      "this process was not started by an MPI: run it by mpirun or mpiexec, or name the MPI by SAMITE_MPI=openmpi or "
      "SAMITE_MPI=mpich");
}

void check_mpi(const SamiteMpi &mpi, int code, const std::string &call) {
  if (code == 0) return;
  std::array<char, 1024> text{};
  mpi.error_text(code, text.data(), static_cast<int>(text.size()));
  throw DeviceError(call, text.data());
}

const SamiteMpi &mpi(MpiKind kind) {
  static std::mutex mutex;
  static std::array<const SamiteMpi *, 2> opened{};
  const std::lock_guard lock(mutex);
  const SamiteMpi *&table = opened[static_cast<std::size_t>(kind)];
  if (!table) {
    const SamiteMpi &found = open_shim(kind);
    int threads = 0;
    check_mpi(found, found.start(&threads), "MPI_Init_thread");
    table = &found;
  }
  return *table;
}

}  // namespace samite::distributed
