// A shared library opened at run time.
//
// Samite links none of the drivers and compilers that it uses; it opens them here. Symbols stay local to the handle
// and every reference is bound at once, so a library that cannot work fails when it is opened, with the loader's own
// words, and never in the middle of a launch.
//
// The object owns the handle; pointers from `symbol` are valid as long as it lives, or for the rest of the process
// where the library is never unloaded. Thread-safe once constructed.
#pragma once

#include <string>

namespace samite {

// What closing a library does to its code. A library that runs threads of its own, as the CUDA driver does, must never
// be unloaded.
enum class Unloading { when_closed, never };

class DynamicLibrary {
 public:
  // `path` as dlopen takes it: a file, or a name that the loader looks for. Throws DeviceError.
  explicit DynamicLibrary(const std::string &path, Unloading unloading = Unloading::when_closed);
  DynamicLibrary(DynamicLibrary &&other) noexcept;
  DynamicLibrary &operator=(DynamicLibrary &&other) noexcept;
  ~DynamicLibrary();

  // Throws DeviceError where the library has no such symbol.
  void *symbol(const char *name) const;
  // Null where the library has no such symbol.
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
