// What the library holds of one CUDA device: its primary context, a pool of memory, and the standard stream.
//
// One object for each device, made when it is first used and shared by everything on that device. Every function may be
// called from any thread.
#pragma once

#include "samite/driver/library.h"
#include "samite/driver/memory_pool.h"
#include "samite/driver/tensor_map_cache.h"
#include "samite/runtime/cuda_stream.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace samite {

class CudaDevice {
 public:
  // The device number `index` of the process's driver (driver::Driver::system()). DeviceError where there is no driver
  // or no such device, or where the device has no memory pools.
  static std::shared_ptr<const CudaDevice> of(int index);

  // How many there are: 0 where there is no driver, for whatever reason.
  static int count() noexcept;

  // Forgets all devices; what is in use lives on until it is let go. For programs that exchange the driver.
  static void forget_all() noexcept;

  explicit CudaDevice(const driver::Context &context);

  int index() const noexcept { return context_.device(); }
  const driver::Context &context() const noexcept { return context_; }
  // Keeps what is freed for the next allocation, until trim() is called.
  const driver::MemoryPool &pool() const noexcept { return pool_; }
  // What the launches of kernels with bulk copies are handed.
  driver::TensorMapCache &tensor_maps() const noexcept { return *tensor_maps_; }
  const std::shared_ptr<CudaStream> &standard_stream() const noexcept { return standard_stream_; }

  // Copies `count` elements of 1, 2, 4 or 8 bytes within the device, in the order of `stream`: the strides are in
  // elements, the extents' product is `count`, and from and to do not overlap.
  struct StridedCopy {
    std::uint64_t to, from;
    std::int64_t extent[4], to_stride[4], from_stride[4];
    std::uint64_t count;
    std::uint64_t element_bytes;
  };
  void copy_strided(const driver::Stream &stream, const StridedCopy &copy) const;

  // runtime/cuda_ptx.h says what they do. Loaded when they are first asked for.
  driver::Kernel set_condition_kernel() const;
  driver::Kernel nothing_kernel() const;

  // What the module jit keeps for the device, made when it is first asked for: kernels of its own, which are loaded
  // here and go when the device is forgotten.
  std::shared_ptr<void> kept_by_jit(const std::function<std::shared_ptr<void>()> &make) const;

  // How many blocks the clusters of launches that ask for none may have: fewer when the device has had no room for as
  // many, as a part of one may not.
  int largest_cluster() const noexcept { return largest_cluster_.load(std::memory_order_relaxed); }
  void had_no_room_for_cluster(int blocks) const noexcept;

 private:
  driver::Kernel own_kernel(const std::string &(*ptx)(), const char *name) const;

  driver::Context context_;
  driver::MemoryPool pool_;
  std::unique_ptr<driver::TensorMapCache> tensor_maps_;
  std::shared_ptr<CudaStream> standard_stream_;
  mutable std::atomic<int> largest_cluster_ = 16;  // than which none is larger
  mutable std::mutex mutex_;                       // of what follows
  mutable std::vector<driver::Kernel> own_kernels_;
  mutable std::shared_ptr<void> kept_by_jit_;
};

}  // namespace samite
