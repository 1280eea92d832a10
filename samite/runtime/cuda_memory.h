// Memory of a CUDA device, and the streams that use it.
//
// It is allocated and freed in the order of the device's standard stream. A stream that uses it for the first time
// waits for what the standard stream holds by then; after that, whoever uses two streams keeps order himself. What the
// host does with the memory (copies, fills) comes after all work in all of them that was put in before, and before all
// that is put in later.
//
// Borrowed memory is neither allocated nor freed here. Its owner works on it in the order of a stream that he names;
// for that memory it stands where the standard stream does above, but that the host's work is in the latter, too.
//
// Every function may be called from any thread.
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
  // Borrowed. Null is the standard stream.
  CudaMemory(std::shared_ptr<const CudaDevice> device, std::byte *data, const std::shared_ptr<CudaStream> &home);
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;
  ~CudaMemory();

  const CudaDevice &device() const noexcept { return *device_; }
  std::byte *data() const noexcept { return data_; }

  // `stream` is about to use the memory.
  void used_by(const std::shared_ptr<CudaStream> &stream);

  // Around work of the host's on the standard stream. Where the second is not called or fails, the standard
  // stream must be waited for.
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
  std::optional<driver::DeviceMemory> memory_;  // none: it is borrowed
  std::byte *data_ = nullptr;
  mutable std::mutex mutex_;                         // of `others_`
  std::vector<std::shared_ptr<CudaStream>> others_;  // than `home_`
};

}  // namespace samite
