// Compiled code for a device, and the kernels in it.
//
// Handles: copies name the same code, which is unloaded after the last; a kernel keeps its library alive. Every
// function may be called from any thread.
#pragma once

#include "samite/driver/context.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace samite::driver {

class Kernel;

class Library {
 public:
  // `image` is a cubin, a fatbin or zero-terminated PTX; it is copied. DriverError if the image is damaged or for
  // another architecture, or if the driver's compiler rejects PTX, with the compiler's message.
  static Library load(const Context &context, std::span<const std::byte> image);

  const Context &context() const noexcept { return context_; }
  CUlibrary raw() const noexcept { return raw_.get(); }
  // Keeps the code loaded.
  std::shared_ptr<const void> owner() const noexcept { return raw_; }

  // DriverError if the library has no kernel of that name.
  Kernel kernel(const std::string &name) const;

  struct Variable {
    CUdeviceptr address;
    std::size_t bytes;
  };
  // A __device__ or __constant__ variable, valid as long as the library lives.
  Variable variable(const std::string &name) const;

 private:
  Library(const Context &context, std::shared_ptr<CUlib_st> raw);

  Context context_;
  std::shared_ptr<CUlib_st> raw_;
};

class Kernel {
 public:
  const Library &library() const noexcept { return library_; }
  const Context &context() const noexcept { return library_.context(); }
  CUkernel raw() const noexcept { return raw_; }
  // The handle for launch calls: they accept a kernel in place of a function.
  CUfunction launchable() const noexcept { return reinterpret_cast<CUfunction>(raw_); }
  std::shared_ptr<const void> owner() const noexcept { return library_.owner(); }
  const char *name() const noexcept { return name_; }  // kept for the process

  int attribute(FunctionAttribute attribute) const;

  // Lets launches use up to `bytes` of dynamic shared memory. Every kernel may have 48 KiB, including its static shared
  // memory, without this. UserError if the device has less for one block. The driver is asked only the first time; the
  // permission is permanent.
  void allow_shared_memory(unsigned bytes) const;
  // Lets launches use clusters of more than 8 blocks.
  void allow_large_clusters() const;

  friend bool operator==(const Kernel &a, const Kernel &b) { return a.raw_ == b.raw_; }

 private:
  friend class Library;
  Kernel(const Library &library, CUkernel raw, const char *name)
      : library_(library), raw_(raw), name_(name), shared_(std::make_shared<SharedMemory>()) {}

  // A block's shared memory, as far as known; shared by all copies.
  struct SharedMemory {
    std::atomic<int> own_bytes{-1};  // below 0: the driver has not been asked
    std::atomic<bool> all_allowed{false};
  };

  Library library_;
  CUkernel raw_;
  const char *name_;
  std::shared_ptr<SharedMemory> shared_;
};

}  // namespace samite::driver
