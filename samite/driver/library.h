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
  // `image` is a cubin, a fatbin or PTX with a closing zero; it is copied. DriverError where the image is damaged or
  // for another architecture; where the driver's compiler refuses PTX, with the compiler's words.
  static Library load(const Context &context, std::span<const std::byte> image);

  const Context &context() const noexcept { return context_; }
  CUlibrary raw() const noexcept { return raw_.get(); }
  // Keeps the code loaded.
  std::shared_ptr<const void> owner() const noexcept { return raw_; }

  // DriverError where the library has no kernel of that name.
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
  // What the launch calls take: they accept a kernel in a function's place.
  CUfunction launchable() const noexcept { return reinterpret_cast<CUfunction>(raw_); }
  std::shared_ptr<const void> owner() const noexcept { return library_.owner(); }
  const char *name() const noexcept { return name_; }  // kept for the process

  int attribute(FunctionAttribute attribute) const;

  // Lets launches ask for up to `bytes` of dynamic shared memory. Every kernel may have 48 KiB without asking, of which
  // what it has of its own is a part. UserError where the device has less for one block. The driver is asked the first
  // time; what it has allowed stays allowed.
  void allow_shared_memory(unsigned bytes) const;
  // Lets launches use clusters of more than 8 blocks.
  void allow_large_clusters() const;

  friend bool operator==(const Kernel &a, const Kernel &b) { return a.raw_ == b.raw_; }

 private:
  friend class Library;
  Kernel(const Library &library, CUkernel raw, const char *name)
      : library_(library), raw_(raw), name_(name), shared_(std::make_shared<SharedMemory>()) {}

  // What is known of a block's shared memory; of all copies.
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
