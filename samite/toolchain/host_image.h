// Loaded host code: a shared object without a file.
//
// The bytes go through an unnamed file in memory to the system's loader, so exactly the verified bytes run, and no file
// can be swapped in between. If the system forbids code from such files, a temporary file is used and removed
// immediately. If SAMITE_IMAGES names a folder, images are files there and stay, for profilers, which find no symbols
// in unnamed files. Loading takes a few tenths of a millisecond and involves no compiler.
//
// The image owns its mapping: function pointers are valid during its lifetime. Immutable, so thread-safe.
#pragma once

#include "samite/base/dynamic_library.h"

#include <memory>
#include <string>
#include <string_view>

namespace samite {

class HostImage {
 public:
  // `name` is for messages and profilers. Throws DeviceError with the loader's message, e.g. for a missing library.
  static std::shared_ptr<const HostImage> load(const std::string &name, std::string_view shared_object);

  // Throws DeviceError if the image has no such symbol.
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
