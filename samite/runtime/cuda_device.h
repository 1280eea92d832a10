// The library's state for one CUDA device: its primary context, a pool of memory, and the standard stream.
//
// One object for each device, made on first use and shared by everything on that device. Thread-safe.
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
  // The device number `index` of the process's driver (driver::Driver::system()). DeviceError if there is no driver or
  // no such device, or if the device has no memory pools.
  static std::shared_ptr<const CudaDevice> of(int index);

  // The number of devices: 0 if there is no driver, for whatever reason.
  static int count() noexcept;

  // Forgets all devices; those in use live until they are released. For programs that replace the driver.
  static void forget_all() noexcept;

  explicit CudaDevice(const driver::Context &context);

  int index() const noexcept { return context_.device(); }
  const driver::Context &context() const noexcept { return context_; }
  // Keeps freed memory for later allocations, until trim() is called.
  const driver::MemoryPool &pool() const noexcept { return pool_; }
  // Tensor maps for launches of kernels with bulk copies.
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

  // See runtime/cuda_ptx.h. Loaded on first use.
  driver::Kernel set_condition_kernel() const;
  driver::Kernel nothing_kernel() const;

  // State of the module jit for the device, made on first use: its kernels, which are loaded here and released when the
  // device is forgotten.
  std::shared_ptr<void> kept_by_jit(const std::function<std::shared_ptr<void>()> &make) const;

  // The largest cluster size for launches that request none: smaller after the device had no room for such clusters, as
  // in a part of a device.
  int largest_cluster() const noexcept { return largest_cluster_.load(std::memory_order_relaxed); }
  void had_no_room_for_cluster(int blocks) const noexcept;

 private:
  driver::Kernel own_kernel(const std::string &(*ptx)(), const char *name) const;

  driver::Context context_;
  driver::MemoryPool pool_;
  std::unique_ptr<driver::TensorMapCache> tensor_maps_;
  std::shared_ptr<CudaStream> standard_stream_;
  mutable std::atomic<int> largest_cluster_ = 16;  // the largest possible size
  mutable std::mutex mutex_;                       // protects the following
  mutable std::vector<driver::Kernel> own_kernels_;
  mutable std::shared_ptr<void> kept_by_jit_;
};

}  // namespace samite
