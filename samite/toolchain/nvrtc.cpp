#include "samite/toolchain/nvrtc.h"

#include "samite/base/dynamic_library.h"
#include "samite/base/error.h"
#include "samite/toolchain/build_identifier.h"
#include "samite/toolchain/nvrtc_search.h"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace samite {
namespace {

constexpr const char *remedy =
    "Install the CUDA toolkit 12.4 or newer, or its compiler alone with «pip install nvidia-cuda-nvrtc-cu12», and set "
    "SAMITE_CUDA_PATH to the folder it is in.";

// The file of a library that was opened by a bare name.
std::string file_of(const DynamicLibrary &library, const char *symbol) {
  Dl_info info{};
  const bool known = dladdr(library.find_symbol(symbol), &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : library.path();
}

void require_success(NvrtcResult result, const char *function, const std::string &path) {
  if (result != NvrtcResult::success)
    throw DeviceError(std::string(function) + " of " + path, "result " + std::to_string(static_cast<int>(result)));
}

// Fails if the library lacks one of the functions.
template <class Function>
void find(const DynamicLibrary &library, Function *&function, const std::string &symbol) {
  function = library.function<Function>(symbol.c_str());
}

// NVRTC opens a second library by name at its first compile. The loader finds the one next to NVRTC only with NVRTC's
// own search path, which some packages lack and sanitizers hide; a library that is already open is found.
void open_builtins(const Nvrtc &opened) {
  const std::filesystem::path beside =
      std::filesystem::path(opened.path).parent_path() / ("libnvrtc-builtins.so." + opened.version.text());
  try {
    const DynamicLibrary kept(beside.string(), Unloading::never);
  } catch (const DeviceError &) {
    // NVRTC may find it elsewhere, and otherwise reports it.
    return;
  }
}

Nvrtc open_nvrtc(const std::string &candidate) {
  const DynamicLibrary library(candidate, Unloading::never);
  Nvrtc result;
  result.path = file_of(library, "nvrtcVersion");
  find(library, result.functions.Version, "nvrtcVersion");
  require_success(result.functions.Version(&result.version.major, &result.version.minor), "nvrtcVersion", result.path);
  if (result.version < oldest_cuda_toolchain)
    throw DeviceError(result.path + " is NVRTC " + result.version.text() + ", and Samite needs " +
                      oldest_cuda_toolchain.text() + " or newer");
#define SAMITE_FIND(name, ...) find(library, result.functions.name, "nvrtc" #name);
  SAMITE_NVRTC_FUNCTIONS(SAMITE_FIND)
#undef SAMITE_FIND
  find(library, result.functions.GetErrorString, "nvrtcGetErrorString");
  int count = 0;
  require_success(result.functions.GetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs", result.path);
  result.architectures.resize(static_cast<std::size_t>(count));
  require_success(result.functions.GetSupportedArchs(result.architectures.data()), "nvrtcGetSupportedArchs",
                  result.path);
  open_builtins(result);
  return result;
}

bool is_file(const std::string &candidate) { return candidate.find('/') != std::string::npos; }

Nvrtc open_first() {
  std::string passed_over;
  for (const std::string &candidate : nvrtc_files()) {
    try {
      return open_nvrtc(candidate);
    } catch (const DeviceError &error) {
      // The message omits bare names that the loader does not find.
      if (is_file(candidate) || std::string_view(error.what()).find("cannot open shared") == std::string_view::npos)
        passed_over += "\n  " + std::string(error.what());
    }
  }
  if (passed_over.empty())
    throw DeviceError("opening NVRTC", "there is no libnvrtc.so.12 or .13 " + nvrtc_places() +
                                           ". Samite compiles kernels for CUDA with it. " + remedy);
  throw DeviceError("opening NVRTC",
                    "none that was found can be used:" + passed_over + "\nLooked " + nvrtc_places() + ". " + remedy);
}

struct Kept {
  std::mutex mutex;
  std::optional<Nvrtc> library;
  std::atomic<bool> open = false;

  std::mutex identity_mutex;
  std::string identity, identity_places;
};

Kept &kept() {
  static Kept kept;
  return kept;
}

}  // namespace

std::string CudaVersion::text() const { return std::to_string(major) + "." + std::to_string(minor); }

const Nvrtc &nvrtc() {
  Kept &own = kept();
  const std::lock_guard lock(own.mutex);
  if (!own.library) {
    own.library = open_first();
    own.open = true;
  }
  return *own.library;
}

bool nvrtc_is_open() { return kept().open; }

// Includes every file that might be chosen, since the choice is made only when one is opened. Computed once: looking at
// that many folders takes as long as reading an image from the cache.
std::string nvrtc_identity() {
  Kept &own = kept();
  const std::lock_guard lock(own.identity_mutex);
  const std::string places = nvrtc_places();
  if (!own.identity.empty() && own.identity_places == places) return own.identity;
  std::string text;
  for (const std::string &candidate : nvrtc_files())
    if (is_file(candidate)) text += build_identifier(candidate) + "\n";
  own.identity = text.empty() ? build_identifier(nvrtc().path) : text;
  own.identity_places = places;
  return own.identity;
}

void require_driver_for_nvrtc(int driver_version) {
  const Nvrtc &compiler = nvrtc();
  const CudaVersion driver{driver_version / 1000, driver_version % 1000 / 10};
  if (compiler.version.major <= driver.major) return;
  throw DeviceError("NVRTC " + compiler.version.text() + " of " + compiler.path + " makes code for drivers of CUDA " +
                    std::to_string(compiler.version.major) + ", and the driver here is for CUDA " + driver.text() +
                    ". Update the NVIDIA driver, or install NVRTC of CUDA " + std::to_string(driver.major) +
                    " with «pip install nvidia-cuda-nvrtc-cu12» and set SAMITE_CUDA_PATH to the folder it is in.");
}

}  // namespace samite
