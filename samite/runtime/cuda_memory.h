// Memory of a CUDA device, and the streams that use it.
//
// It is allocated and freed in the order of the device's standard stream. A stream that first uses it waits for the
// work in the standard stream; later uses in several streams must be ordered by the caller. The host's operations on
// the memory (copies, fills) come after all earlier work in all of these streams, and before all later work.
//
// Borrowed memory is neither allocated nor freed here. Its owner works on it in the order of a named stream, which
// replaces the standard stream above, except that the host's operations still use the standard stream.
//
// Thread-safe.
#pragma once

#include "samite/driver/device_memory.h"
#include "samite/runtime/cuda_device.h"

#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace samite {

class CudaMemory {
 public:
  enum class Contents { zeros, any };
  // DriverError with the code out_of_memory.
  CudaMemory(std::shared_ptr<const CudaDevice> device, std::size_t bytes, Contents contents = Contents::zeros);
  // Borrowed. Null means the standard stream.
  CudaMemory(std::shared_ptr<const CudaDevice> device, std::byte *data, const std::shared_ptr<CudaStream> &home);
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;
  ~CudaMemory();

  const CudaDevice &device() const noexcept { return *device_; }
  std::byte *data() const noexcept { return data_; }

  // Call before `stream` uses the memory.
  void used_by(const std::shared_ptr<CudaStream> &stream);

  // Enclose the host's work on the standard stream. If the second is not called or fails, the standard stream must be
  // waited for.
  void begin_host_work() const;
  void end_host_work() const;

 private:
  void allocate_in(const driver::Stream &stream, std::size_t bytes, Contents contents);
  void allocate_apart(std::size_t bytes, Contents contents);
  void wait_before_it_goes(const driver::Stream &other) const noexcept;

  const driver::Stream &standard() const noexcept { return device_->standard_stream()->stream(); }
  // Streams other than the standard one that use the memory. `mutex_` is held.
  template <class Visit>
  void each_other(const Visit &visit) const;

  std::shared_ptr<const CudaDevice> device_;
  std::shared_ptr<CudaStream> home_;
  std::optional<driver::DeviceMemory> memory_;  // empty: borrowed
  std::byte *data_ = nullptr;
  mutable std::mutex mutex_;                         // protects `others_`
  std::vector<std::shared_ptr<CudaStream>> others_;  // streams other than `home_`
};

}  // namespace samite
