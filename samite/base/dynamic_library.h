// A shared library opened at run time.
//
// Samite links none of the drivers and compilers that it uses; it opens them here. Symbols stay local to the handle,
// and every reference is bound at once: a library that cannot work fails when it is opened, with the loader's own
// message, not in the middle of a launch.
//
// The object owns the handle. Pointers from `symbol` are valid as long as it lives, or for the rest of the process if
// the library is never unloaded. Thread-safe once constructed.
#pragma once

#include <string>

namespace samite {

// Whether closing a library unloads its code. A library that runs threads of its own, as the CUDA driver does, must
// never be unloaded.
enum class Unloading { when_closed, never };

class DynamicLibrary {
 public:
  // `path` is a file, or a name that the loader searches for, as for dlopen. Throws DeviceError.
  explicit DynamicLibrary(const std::string &path, Unloading unloading = Unloading::when_closed);
  DynamicLibrary(DynamicLibrary &&other) noexcept;
  DynamicLibrary &operator=(DynamicLibrary &&other) noexcept;
  ~DynamicLibrary();

  // Throws DeviceError if the library has no such symbol.
  void *symbol(const char *name) const;
  // Returns null if the library has no such symbol.
  void *find_symbol(const char *name) const noexcept;

  template <class Function>
  Function *function(const char *name) const {
    return reinterpret_cast<Function *>(symbol(name));
  }

  const std::string &path() const { return path_; }

 private:
  std::string path_;
  void *handle_ = nullptr;
};

}  // namespace samite
