#include "samite/base/dynamic_library.h"

#include "samite/base/error.h"

#include <dlfcn.h>

#include <utility>

namespace samite {
namespace {

std::string loader_words() {
  const char *words = dlerror();
  return words != nullptr ? words : "the loader gave no reason";
}

}  // namespace

DynamicLibrary::DynamicLibrary(const std::string &path, Unloading unloading)
    : path_(path),
      handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | (unloading == Unloading::never ? RTLD_NODELETE : 0))) {
  if (handle_ == nullptr) throw DeviceError("dlopen(\"" + path + "\")", loader_words());
}

DynamicLibrary::DynamicLibrary(DynamicLibrary &&other) noexcept
    : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, nullptr)) {}

DynamicLibrary &DynamicLibrary::operator=(DynamicLibrary &&other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void *DynamicLibrary::find_symbol(const char *name) const noexcept { return dlsym(handle_, name); }

void *DynamicLibrary::symbol(const char *name) const {
  if (void *address = find_symbol(name)) return address;
  throw DeviceError("dlsym(\"" + path_ + "\", \"" + name + "\")", loader_words());
}

}  // namespace samite
