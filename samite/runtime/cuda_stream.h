// A stream of a CUDA device, and reports to read after waiting for it.
#pragma once

#include "samite/driver/stream.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace samite {

// Data that instances write while they run, and the host reads afterwards: messages, failures.
class StreamReport {
 public:
  virtual ~StreamReport() = default;
  // The work that wrote it has completed. Throws the reported errors.
  virtual void completed() = 0;
};

// Thread-safe.
class CudaStream {
 public:
  explicit CudaStream(driver::Stream stream) : stream_(std::move(stream)) {}

  const driver::Stream &stream() const noexcept { return stream_; }

  // `report` is read at the next wait for the stream, once, even if it is added several times.
  void add(const std::shared_ptr<StreamReport> &report);

  // Waits, and reads all reports; then rethrows the first exception.
  void synchronize();

  // Whether new work is captured into a graph instead of being run.
  bool capturing() const { return stream_.context().capture_of(stream_.raw()) != 0; }

 private:
  driver::Stream stream_;
  std::mutex mutex_;  // protects `reports`
  std::vector<std::shared_ptr<StreamReport>> reports_;
};

}  // namespace samite
