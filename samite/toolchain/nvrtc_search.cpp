#include "samite/toolchain/nvrtc_search.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <system_error>

namespace samite {
namespace {

namespace fs = std::filesystem;

// 11.2 is included to report that it is too old: an installed but unused toolkit needs an explanation.
constexpr const char *versions[] = {"13", "12", "11.2"};

constexpr const char *toolkit_folders[] = {"", "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};
constexpr const char *package_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The folder of pip's packages, if the library is in one of them: its own folder is a package there.
fs::path packages_of_library() {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void *>(&packages_of_library), &here) == 0 || here.dli_fname == nullptr) return {};
  std::error_code error;
  const fs::path packages = fs::canonical(here.dli_fname, error).parent_path().parent_path();
  return fs::exists(packages / "nvidia", error) ? packages : fs::path();
}

// The entries of `folder` with the prefix, by descending number after it.
std::vector<fs::path> numbered_entries(const fs::path &folder, std::string_view prefix) {
  std::vector<std::pair<double, fs::path>> found;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    double number = 0;
    if (name.starts_with(prefix)) std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    if (number > 0) found.emplace_back(number, entry.path());
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  std::vector<fs::path> paths;
  for (auto &[number, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::vector<fs::path> places() {
  if (const std::string chosen = environment("SAMITE_CUDA_PATH"); !chosen.empty()) return {chosen};
  std::vector<fs::path> paths;
  const std::string loader_path = environment("LD_LIBRARY_PATH");
  for (std::size_t at = 0; at < loader_path.size();) {
    const std::size_t end = std::min(loader_path.find(':', at), loader_path.size());
    if (end > at) paths.emplace_back(loader_path.substr(at, end - at));
    at = end + 1;
  }
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string path = environment(name); !path.empty()) paths.emplace_back(path);
  if (fs::path packages = packages_of_library(); !packages.empty()) paths.push_back(std::move(packages));
  paths.emplace_back("/usr/local/cuda");
  for (fs::path &path : numbered_entries("/usr/local", "cuda-")) paths.push_back(std::move(path));
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string path = environment(name); !path.empty()) paths.emplace_back(path);
  if (const std::string home = environment("HOME"); !home.empty()) paths.emplace_back(fs::path(home) / ".local");
  return paths;
}

std::vector<fs::path> library_folders(const fs::path &place) {
  std::vector<fs::path> folders;
  for (const char *folder : toolkit_folders) folders.push_back(place / folder);
  for (const char *folder : package_folders) folders.push_back(place / folder);
  for (const fs::path &python : numbered_entries(place / "lib", "python3."))
    for (const char *folder : package_folders) folders.push_back(python / "site-packages" / folder);
  return folders;
}

}  // namespace

std::vector<std::string> nvrtc_files() {
  std::vector<std::string> files;
  const std::string stem = "libnvrtc.so.";
  for (const fs::path &place : places())
    for (const fs::path &folder : library_folders(place))
      for (const char *version : versions) {
        std::error_code error;
        const fs::path file = fs::canonical(folder / (stem + version), error);
        if (!error && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file.string());
      }
  if (environment("SAMITE_CUDA_PATH").empty())
    for (const char *version : versions) files.push_back(stem + version);
  return files;
}

std::string nvrtc_places() {
  if (const std::string chosen = environment("SAMITE_CUDA_PATH"); !chosen.empty())
    return "in " + chosen + ", which SAMITE_CUDA_PATH names, and nowhere else";
  return "in LD_LIBRARY_PATH, CUDA_HOME, CUDA_PATH, pip's packages beside Samite, /usr/local/cuda*, VIRTUAL_ENV, "
         "CONDA_PREFIX, ~/.local and where the system's loader looks";
}

}  // namespace samite
