// The fake driver as a shared library, for tests of how the driver's functions are found: it provides them through
// cuGetProcAddress like a real one. The environment's SAMITE_FAKE_CUDA_VERSION is its version (12040 if not set),
// SAMITE_FAKE_CUDA_DEVICES the number of its devices, and SAMITE_FAKE_CUDA_WITHOUT the name of a function that it
// lacks.
#include "tests/driver/fake/fake_driver.h"

#include <cstdlib>
#include <cstring>

namespace {

using samite::driver::EntryPoints;
using samite::driver::ProcAddressResult;
using samite::driver::Result;
using samite::driver::fake::FakeDriver;

int from_environment(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

int fake_version() { return from_environment("SAMITE_FAKE_CUDA_VERSION", 12040); }

// Lives until the process ends, as a driver does.
const EntryPoints &entry_points() {
  static FakeDriver fake({.version = fake_version(),
                          .devices = from_environment("SAMITE_FAKE_CUDA_DEVICES", 1),
                          .compute_capability = from_environment("SAMITE_FAKE_CUDA_CAPABILITY", 90)});
  static const EntryPoints table = fake.table();
  return table;
}

void *find(const char *symbol, int version) {
  if (const char *without = std::getenv("SAMITE_FAKE_CUDA_WITHOUT");
      without != nullptr && std::strcmp(symbol, without) == 0)
    return nullptr;
#define SAMITE_FIND(name, since, need, parameters) \
  if (std::strcmp(symbol, "cu" #name) == 0 && version >= since) return reinterpret_cast<void *>(entry_points().name);
  SAMITE_DRIVER_ENTRY_POINTS(SAMITE_FIND)
#undef SAMITE_FIND
  return nullptr;
}

}  // namespace

extern "C" {

Result cuDriverGetVersion(int *version) {
  *version = fake_version();
  return Result::success;
}

Result cuGetProcAddress_v2(const char *symbol, void **address, int version, std::uint64_t, ProcAddressResult *found) {
  *address = find(symbol, version);
  *found = *address != nullptr ? ProcAddressResult::success : ProcAddressResult::symbol_not_found;
  return Result::success;
}

}  // extern "C"
