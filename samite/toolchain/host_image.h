// Compiled host code, loaded: a shared object that never was a file.
//
// The bytes go through an unnamed file in memory to the system's loader, so what runs is exactly what was verified,
// and nobody can swap a file in between. Where the system forbids code from such files, a temporary file is used and
// removed at once. Loading takes a few tenths of a millisecond and touches no compiler.
//
// The image owns its mapping: function pointers are valid as long as it lives. Immutable, so any thread may use it.
#pragma once

#include "samite/base/dynamic_library.h"

#include <memory>
#include <string>
#include <string_view>

namespace samite {

class HostImage {
 public:
  // `name` is for messages and profilers. Throws DeviceError with the loader's words, e.g. for a library that it cannot
  // find.
  static std::shared_ptr<const HostImage> load(const std::string &name, std::string_view shared_object);

  // Throws DeviceError where the image has no such symbol.
  void *symbol(const char *name) const { return library_.symbol(name); }

  template <class Function>
  Function *function(const char *name) const {
    return library_.function<Function>(name);
  }

  explicit HostImage(DynamicLibrary library) : library_(std::move(library)) {}

 private:
  DynamicLibrary library_;
};

}  // namespace samite
