#include "samite/toolchain/clang_plugin_loader.h"

#include "samite/base/dynamic_library.h"
#include "samite/base/error.h"
#include "samite/toolchain/build_identifier.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>

namespace samite {
namespace {

namespace fs = std::filesystem;

constexpr const char *plugin_file = "libsamite_clang.so";

struct Package {
  std::string_view library, package;
};
constexpr Package packages[] = {{"libclang-cpp.so.22.1", "libclang-cpp22"},
                                {"libLLVM.so.22.1", "libllvm22"},
                                {"libz.so.1", "zlib1g"},
                                {"libzstd.so.1", "libzstd1"}};

constexpr const char *llvm_folders[] = {
    "/usr/lib/llvm-22/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
    "/usr/local/lib"};

// The plug-in next to this library. Found once: the loader looks through all symbols of the library.
const fs::path &path_beside_library() {
  static const fs::path path = []() -> fs::path {
    Dl_info here{};
    if (dladdr(reinterpret_cast<const void *>(&path_beside_library), &here) == 0 || here.dli_fname == nullptr)
      return plugin_file;
    return fs::absolute(here.dli_fname).parent_path() / plugin_file;
  }();
  return path;
}

// The path where the plug-in must be.
fs::path expected_path() {
  const char *chosen = std::getenv("SAMITE_CLANG_PLUGIN");
  return chosen != nullptr && *chosen != '\0' ? fs::path(chosen) : path_beside_library();
}

// Empty if there is none.
fs::path plugin_path() {
  std::error_code ignored;
  fs::path path = expected_path();
  if (!fs::exists(path, ignored)) path.clear();
  return path;
}

[[noreturn]] void throw_missing_plugin() {
  throw DeviceError("opening the CPU compiler plug-in",
                    "no file at " + expected_path().string() +
                        ". Kernels for the CPU are compiled by it; install it with Samite, or set SAMITE_CLANG_PLUGIN "
                        "to the path of " +
                        plugin_file + ".");
}

// The loader names the library by its file, e.g. "libLLVM.so.22.1: cannot open shared object file: No such file".
std::string with_remedy(const std::string &loader_words) {
  if (loader_words.find("cannot open shared object file") == std::string::npos) return loader_words;
  for (const Package &row : packages) {
    const std::string_view stem = row.library.substr(0, row.library.find(".so") + 3);
    if (loader_words.find(stem) == std::string::npos) continue;
    return loader_words +
           "\nSamite compiles kernels for the CPU with this library; on Debian or Ubuntu: apt-get install " +
           std::string(row.package);
  }
  return loader_words;
}

std::atomic<bool> &is_open() {
  static std::atomic<bool> open{false};
  return open;
}

const SamiteClangPlugin *open_plugin() {
  const fs::path path = plugin_path();
  if (path.empty()) throw_missing_plugin();
  DynamicLibrary library = [&] {
    try {
      return DynamicLibrary(path.string());
    } catch (const DeviceError &error) {
      throw DeviceError("opening the CPU compiler plug-in", with_remedy(error.what()));
    }
  }();
  const auto entry = reinterpret_cast<SamiteClangEntry>(library.symbol("samite_clang_plugin"));
  const SamiteClangPlugin *plugin = entry();
  if (plugin->version != samite_clang_version)
    throw DeviceError("opening the CPU compiler plug-in",
                      path.string() + " has interface version " + std::to_string(plugin->version) +
                          ", this library needs " + std::to_string(samite_clang_version) +
                          ". Install both from one build of Samite.");
  if (std::string_view(plugin->sources) != SAMITE_CLANG_PLUGIN_HASH)
    throw DeviceError(
        "opening the CPU compiler plug-in",
        path.string() + " was built from other sources than this library. Install both from one build of Samite.");
  // Kept for the life of the process: LLVM's threads and exit handlers outlive any orderly unloading.
  static const DynamicLibrary kept_open = std::move(library);
  return plugin;
}

}  // namespace

const SamiteClangPlugin &clang_plugin() {
  static std::mutex mutex;
  static const SamiteClangPlugin *plugin = nullptr;
  const std::lock_guard lock(mutex);
  if (plugin == nullptr) {
    plugin = open_plugin();
    is_open() = true;
  }
  return *plugin;
}

bool clang_plugin_is_open() { return is_open(); }

std::string clang_plugin_file() { return plugin_path().string(); }

std::string clang_plugin_version() {
  return "plug-in " SAMITE_CLANG_PLUGIN_HASH ", " + std::string(packages[1].library);
}

std::string clang_plugin_identity() {
  std::string identity = clang_plugin_version() + "\n" + build_identifier(plugin_path());
  for (const Package &row : packages) {
    if (!row.library.ends_with(".22.1")) continue;
    for (const char *folder : llvm_folders) {
      const std::string found = build_identifier(fs::path(folder) / row.library);
      if (found.empty()) continue;
      identity += "\n" + std::string(row.library) + " " + found;
      break;
    }
  }
  return identity;
}

}  // namespace samite
