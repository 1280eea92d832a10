// The memory behind buffers: one allocation on one device, shared by every view of it.
//
// Memory starts as zeros. On the CPU, memory under 64 KiB is aligned to a cache line; larger memory comes straight from
// the system in whole pages, from 2 MiB on aligned for huge pages, and is not touched before its first use, so that a
// page is placed near the thread that first writes it. On CUDA, memory comes from the device's pool; see cuda_memory.h.
//
// A storage also has the state that its views share: the version, which counts writes, and a log of them while a tape
// watches, which detects that a needed value was overwritten; the gradient, another storage of the same size, made on
// first use; and a name for messages.
//
// Memory with another owner is borrowed, see borrow.h.
//
// The version and the gradient are thread-safe. Accesses to the bytes must be synchronised by the caller.
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
  // DeviceError with the requested bytes if the device does not have enough.
  Storage(Device device, std::size_t bytes);
  // Short-lived memory: from the pool of the device, or on the CPU that of scratch.h, uninitialised.
  struct FromPool {};
  Storage(Device device, std::size_t bytes, FromPool);
  // Memory with another owner, for borrow().
  struct Borrowed {
    std::byte *data;
    bool read_only;
    std::shared_ptr<const void> owner;   // kept as long as the storage
    std::shared_ptr<CudaStream> stream;  // CUDA: the owner's stream
  };
  Storage(Device device, std::size_t bytes, Borrowed memory);
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;
  ~Storage();

  Device device() const noexcept { return device_; }
  std::size_t bytes() const noexcept { return bytes_; }
  // An address on device(). Never null, but not readable if bytes() is 0.
  std::byte *data() const noexcept { return data_; }
  // Null on the CPU.
  CudaMemory *cuda() const noexcept { return cuda_.get(); }

  // Other storages may then have the same memory.
  bool is_borrowed() const noexcept { return is_borrowed_; }
  bool may_share(const Storage &other) const noexcept {
    return this == &other || ((is_borrowed_ || other.is_borrowed_) && device_ == other.device_);
  }
  bool is_read_only() const noexcept { return is_read_only_; }

  // Grows by one with each write. Call mark_written() after writing through data(): with a view of the elements, of
  // this storage or of another one with the same layout, or for all elements.
  std::uint64_t version() const noexcept { return writes_.version.load(std::memory_order_relaxed); }
  void mark_written() noexcept;
  void mark_written(const AnyBuffer &view) noexcept;

  // The log of writes since the first watch() without a matching unwatch().
  const WriteLog &watch();
  void unwatch() noexcept;

  // Null until track_gradient() was called; then always the same storage.
  std::shared_ptr<Storage> gradient() const { return gradient_data() ? gradient_.storage : nullptr; }
  // The same as a plain pointer.
  Storage *gradient_pointer() const noexcept { return gradient_data() ? gradient_.storage.get() : nullptr; }
  std::byte *gradient_data() const noexcept { return gradient_.data.load(std::memory_order_acquire); }
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
  std::shared_ptr<const void> owner_;  // of borrowed memory; destroyed after cuda_
  Memory memory_;                      // of the CPU
  std::optional<Scratch> scratch_;     // of the CPU's pool
  std::unique_ptr<CudaMemory> cuda_;   // of a CUDA device
  std::byte *data_;
  struct Writes {
    std::atomic<std::uint64_t> version{0};
    std::atomic<WriteLog *> log{nullptr};  // while watched
    std::mutex mutex;                      // protects the following
    int watchers = 0;
    std::unique_ptr<WriteLog>
        kept_log;  // lives as long as the storage, since other threads may be about to write to it
  };
  Writes writes_;
  struct Gradient {
    std::mutex mutex;
    std::shared_ptr<Storage> storage;  // written once, before `data`
    std::atomic<std::byte *> data{nullptr};
  };
  Gradient gradient_;
  std::string name_;
};

}  // namespace samite
