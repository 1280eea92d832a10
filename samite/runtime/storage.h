// The memory behind buffers: one allocation on one device, shared by every view of it.
//
// Memory starts as zeros. On the CPU, memory under 64 KiB is aligned to a cache line; larger memory comes straight from
// the system in whole pages, from 2 MiB on aligned for huge pages, and is touched by nobody until it is used, so that a
// page lands near the thread that first writes it. On CUDA, memory comes from the device's pool; see cuda_memory.h.
//
// A storage also carries what its views must agree on: the version, which counts writes, and a log of them while a tape
// watches, so that it sees when a value it needs was overwritten; the gradient, another storage of the same size, made
// when it is first asked for; and a name for messages.
//
// Memory of somebody else's is borrowed, as borrow.h says.
//
// The version and the gradient may be used from any thread. Who reads and writes the bytes keeps order himself.
#pragma once

#include "samite/runtime/device.h"
#include "samite/runtime/scratch.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace samite {

class AnyBuffer;
class CudaMemory;
class CudaStream;
class WriteLog;

class Storage {
 public:
  // DeviceError that says how many bytes were asked where the device has not enough.
  Storage(Device device, std::size_t bytes);
  // Memory for a short while: from the pool of the device, or on the CPU that of scratch.h, without particular values.
  struct FromPool {};
  Storage(Device device, std::size_t bytes, FromPool);
  // Memory of somebody else's, for borrow().
  struct Borrowed {
    std::byte *data;
    bool read_only;
    std::shared_ptr<const void> owner;   // kept as long as the storage
    std::shared_ptr<CudaStream> stream;  // CUDA: in whose order the owner works
  };
  Storage(Device device, std::size_t bytes, Borrowed memory);
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;
  ~Storage();

  Device device() const noexcept { return device_; }
  std::size_t bytes() const noexcept { return bytes_; }
  // An address on device(). Never null, but not to be read where bytes() is 0.
  std::byte *data() const noexcept { return data_; }
  // Null on the CPU.
  CudaMemory *cuda() const noexcept { return cuda_.get(); }

  // Other storages may then have the same memory.
  bool is_borrowed() const noexcept { return is_borrowed_; }
  bool may_share(const Storage &other) const noexcept {
    return this == &other || ((is_borrowed_ || other.is_borrowed_) && device_ == other.device_);
  }
  bool is_read_only() const noexcept { return is_read_only_; }

  // Grows by one with each write. Whoever writes through data() calls mark_written() afterwards: with a view of the
  // elements, of this storage or of another that is laid out alike, or for all of them.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  void mark_written() noexcept;
  void mark_written(const AnyBuffer &view) noexcept;

  // The log of writes since the first watch() that no unwatch() has ended.
  const WriteLog &watch();
  void unwatch() noexcept;

  // Null until track_gradient() was called; from then on the same storage for good.
  std::shared_ptr<Storage> gradient() const { return gradient_data() ? gradient_ : nullptr; }
  // The same without a share in it.
  Storage *gradient_pointer() const noexcept { return gradient_data() ? gradient_.get() : nullptr; }
  std::byte *gradient_data() const noexcept { return gradient_data_.load(std::memory_order_acquire); }
  void track_gradient();

  // Empty unless set. Set it before the storage is shared between threads.
  const std::string &name() const noexcept { return name_; }
  void set_name(std::string name);

 private:
  struct Release {
    std::size_t mapped_bytes;  // 0: from the heap
    void operator()(std::byte *memory) const noexcept;
  };
  using Memory = std::unique_ptr<std::byte, Release>;
  static Memory allocate(std::size_t bytes);

  Device device_;
  std::size_t bytes_;
  bool is_borrowed_ = false, is_read_only_ = false;
  std::shared_ptr<const void> owner_;  // of borrowed memory; goes after cuda_
  Memory memory_;                      // of the CPU
  std::optional<Scratch> scratch_;     // of the CPU's pool
  std::unique_ptr<CudaMemory> cuda_;   // of a CUDA device
  std::byte *data_;
  std::atomic<std::uint64_t> version_{0};
  std::atomic<WriteLog *> log_{nullptr};  // while somebody watches
  std::mutex watch_mutex_;                // of what follows
  int watchers_ = 0;
  std::unique_ptr<WriteLog> kept_log_;  // as long as the storage, since other threads may be about to write there
  std::mutex gradient_mutex_;
  std::shared_ptr<Storage> gradient_;  // written once, before gradient_data_ says that it is there
  std::atomic<std::byte *> gradient_data_{nullptr};
  std::string name_;
};

}  // namespace samite
