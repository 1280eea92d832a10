// Looks up the driver's functions in its library.

#include "samite/base/dynamic_library.h"
#include "samite/driver/driver.h"

#include <fmt/format.h>

namespace samite::driver {
namespace {

using GetVersion = Result(int *version);
// The function has two versions. Only drivers from 11.3 have just the older one; they are too old, so it is not called.
using GetProcAddress = Result(const char *symbol, void **address, int version, std::uint64_t flags,
                              ProcAddressResult *found);

DynamicLibrary open_library(const std::string &path) {
  try {
    // A driver that has started runs threads of its own; unloading it would remove the code that they run.
    return DynamicLibrary(path, Unloading::never);
  } catch (const DeviceError &error) {
    throw DeviceError(
        fmt::format("no CUDA driver: {}\nThe NVIDIA driver's package provides this library; the CUDA "
                    "toolkit does not. In a container it is put in by the NVIDIA container runtime.",
                    error.what()));
  }
}

std::string too_old_text(const std::string &path, const DynamicLibrary &library) {
  int version = 0;
  if (const auto get_version = reinterpret_cast<GetVersion *>(library.find_symbol("cuDriverGetVersion")))
    get_version(&version);
  if (version == 0) return fmt::format("{} is no CUDA driver: it has no cuDriverGetVersion", path);
  return fmt::format(
      "the CUDA driver is too old: it supports CUDA {}, and Samite needs CUDA {} or newer. "
      "Update the NVIDIA driver; the toolkit need not change.",
      version_text(version), version_text(oldest_usable_version()));
}

}  // namespace

std::shared_ptr<const Driver> Driver::open(const std::string &path) {
  const DynamicLibrary library = open_library(path);
  const auto get = reinterpret_cast<GetProcAddress *>(library.find_symbol("cuGetProcAddress_v2"));
  if (get == nullptr) throw DeviceError(too_old_text(path, library));

  const EntryPoints table = fill_entry_points([&](const char *symbol, int version) -> void * {
    void *address = nullptr;
    ProcAddressResult found = ProcAddressResult::symbol_not_found;
    const Result code = get(symbol, &address, version, legacy_stream_entry_points, &found);
    return code == Result::success && found == ProcAddressResult::success ? address : nullptr;
  });
  return from(table);
}

}  // namespace samite::driver
