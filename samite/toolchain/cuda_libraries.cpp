#include "samite/toolchain/cuda_libraries.h"

#include "samite/base/dynamic_library.h"
#include "samite/base/error.h"
#include "samite/toolchain/build_identifier.h"
#include "samite/toolchain/cuda_library_search.h"

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
    "Install the CUDA toolkit 12.4 or newer, or its compiler alone with «pip install nvidia-cuda-nvrtc-cu12 "
    "nvidia-nvjitlink-cu12», and set SAMITE_CUDA_PATH to the folder it is in.";

// The file that the library came from, where it was opened by a mere name.
std::string file_of(const DynamicLibrary &library, const char *symbol) {
  Dl_info info{};
  const bool known = dladdr(library.find_symbol(symbol), &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : library.path();
}

void require_new_enough(const char *name, const std::string &path, const CudaVersion &version) {
  if (version < oldest_cuda_toolchain)
    throw DeviceError(path + " is " + name + " " + version.text() + ", and Samite needs " +
                      oldest_cuda_toolchain.text() + " or newer");
}

template <class Result>
void require_success(Result result, const char *function, const std::string &path) {
  if (result != Result::success)
    throw DeviceError(std::string(function) + " of " + path, "result " + std::to_string(static_cast<int>(result)));
}

// Fails where the library lacks one of the functions.
template <class Function>
void find(const DynamicLibrary &library, Function *&function, const std::string &symbol) {
  function = library.function<Function>(symbol.c_str());
}

// NVRTC opens a second library when it first compiles, by name. That finds the one beside it where the loader honours
// NVRTC's own search path, which not all packages have and sanitizers hide; a library that is open already is found.
void open_builtins(const Nvrtc &opened) {
  const std::filesystem::path beside =
      std::filesystem::path(opened.path).parent_path() / ("libnvrtc-builtins.so." + opened.version.text());
  try {
    const DynamicLibrary kept(beside.string(), Unloading::never);
  } catch (const DeviceError &) {
    // NVRTC may find it elsewhere, and says so where it does not.
    return;
  }
}

Nvrtc open_nvrtc(const std::string &candidate) {
  const DynamicLibrary library(candidate, Unloading::never);
  Nvrtc result;
  result.path = file_of(library, "nvrtcVersion");
  find(library, result.functions.Version, "nvrtcVersion");
  require_success(result.functions.Version(&result.version.major, &result.version.minor), "nvrtcVersion", result.path);
  require_new_enough("NVRTC", result.path, result.version);
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

NvJitLink open_nvjitlink(const std::string &candidate) {
  const DynamicLibrary library(candidate, Unloading::never);
  NvJitLink result;
  result.path = file_of(library, "nvJitLinkVersion");
  const void *version = library.find_symbol("nvJitLinkVersion");
  if (version == nullptr)
    throw DeviceError(library.path() + " is nvJitLink of before 12.3, and Samite needs " +
                      oldest_cuda_toolchain.text() + " or newer");
  unsigned major = 0, minor = 0;
  require_success(library.function<NvJitLinkResult(unsigned *, unsigned *)>("nvJitLinkVersion")(&major, &minor),
                  "nvJitLinkVersion", result.path);
  result.version = {static_cast<int>(major), static_cast<int>(minor)};
  require_new_enough("nvJitLink", result.path, result.version);
  const Nvrtc &compiler = nvrtc();
  if (result.version.major != compiler.version.major || result.version < compiler.version)
    throw DeviceError(result.path + " is nvJitLink " + result.version.text() + ", which cannot link what NVRTC " +
                      compiler.version.text() + " of " + compiler.path + " compiles: it must be of version " +
                      std::to_string(compiler.version.major) + " and no older than " + compiler.version.text());
  const std::string suffix = major == 12 ? "_12_4" : "_" + std::to_string(major) + "_0";
#define SAMITE_FIND(name, ...) find(library, result.functions.name, "__nvJitLink" #name + suffix);
  SAMITE_NVJITLINK_FUNCTIONS(SAMITE_FIND)
#undef SAMITE_FIND
  return result;
}

bool is_file(const std::string &candidate) { return candidate.find('/') != std::string::npos; }

template <class Library>
Library open_first(const char *name, const char *file_stem, Library (*open)(const std::string &)) {
  std::string passed_over;
  for (const std::string &candidate : cuda_library_files(file_stem)) {
    try {
      return open(candidate);
    } catch (const DeviceError &error) {
      // The loader's search for a mere name that comes to nothing is no finding.
      if (is_file(candidate) || std::string_view(error.what()).find("cannot open shared") == std::string_view::npos)
        passed_over += "\n  " + std::string(error.what());
    }
  }
  if (passed_over.empty())
    throw DeviceError(std::string("opening ") + name, std::string("there is no lib") + file_stem + ".so.12 or .13 " +
                                                          cuda_library_places() +
                                                          ". Samite compiles kernels for CUDA with it. " + remedy);
  throw DeviceError(std::string("opening ") + name, "none that was found can be used:" + passed_over + "\nLooked " +
                                                        cuda_library_places() + ". " + remedy);
}

template <class Library>
struct Kept {
  std::mutex mutex;
  std::optional<Library> library;
  std::atomic<bool> open = false;

  std::mutex identity_mutex;
  std::string identity, identity_places;

  template <class Open>
  const Library &get(Open open_library) {
    const std::lock_guard lock(mutex);
    if (!library) {
      library = open_library();
      open = true;
    }
    return *library;
  }
};

Kept<Nvrtc> &kept_nvrtc() {
  static Kept<Nvrtc> kept;
  return kept;
}
Kept<NvJitLink> &kept_nvjitlink() {
  static Kept<NvJitLink> kept;
  return kept;
}

// Every file that may be chosen goes in, as the choice itself is made only when one is opened. Found once: a look at
// that many folders takes as long as reading an image from the cache.
template <class Library>
std::string identity(Kept<Library> &kept, const char *file_stem, const Library &(*opened)()) {
  const std::lock_guard lock(kept.identity_mutex);
  const std::string places = cuda_library_places();
  if (!kept.identity.empty() && kept.identity_places == places) return kept.identity;
  std::string text;
  for (const std::string &candidate : cuda_library_files(file_stem))
    if (is_file(candidate)) text += build_identifier(candidate) + "\n";
  kept.identity = text.empty() ? build_identifier(opened().path) : text;
  kept.identity_places = places;
  return kept.identity;
}

template <class Library>
CudaLibraryReport report(const char *name, const Library &(*opened)()) {
  try {
    const Library &library = opened();
    return {name, library.path, library.version, ""};
  } catch (const DeviceError &error) {
    return {name, "", {}, error.what()};
  }
}

}  // namespace

std::string CudaVersion::text() const { return std::to_string(major) + "." + std::to_string(minor); }

const Nvrtc &nvrtc() {
  return kept_nvrtc().get([] { return open_first<Nvrtc>("NVRTC", "nvrtc", open_nvrtc); });
}

const NvJitLink &nvjitlink() {
  // Whatever is wrong with NVRTC is told as that, not once more for each nvJitLink.
  nvrtc();
  return kept_nvjitlink().get([] { return open_first<NvJitLink>("nvJitLink", "nvJitLink", open_nvjitlink); });
}

bool nvrtc_is_open() { return kept_nvrtc().open; }

std::string nvrtc_identity() { return identity<Nvrtc>(kept_nvrtc(), "nvrtc", nvrtc); }

std::string nvjitlink_identity() { return identity<NvJitLink>(kept_nvjitlink(), "nvJitLink", nvjitlink); }

void require_driver_for_nvrtc(int driver_version) {
  const Nvrtc &compiler = nvrtc();
  const CudaVersion driver{driver_version / 1000, driver_version % 1000 / 10};
  if (compiler.version.major <= driver.major) return;
  throw DeviceError("NVRTC " + compiler.version.text() + " of " + compiler.path + " makes code for drivers of CUDA " +
                    std::to_string(compiler.version.major) + ", and the driver here is for CUDA " + driver.text() +
                    ". Update the NVIDIA driver, or install NVRTC and nvJitLink of CUDA " +
                    std::to_string(driver.major) +
                    " with «pip install nvidia-cuda-nvrtc-cu12 nvidia-nvjitlink-cu12» "
                    "and set SAMITE_CUDA_PATH to the folder they are in.");
}

std::vector<CudaLibraryReport> cuda_library_reports() {
  return {report<Nvrtc>("NVRTC", nvrtc), report<NvJitLink>("nvJitLink", nvjitlink)};
}

}  // namespace samite
