// A stream of a CUDA device, and who wants to know when it has been waited for.
#pragma once

#include "samite/driver/stream.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace samite {

// Something that instances write while they run, and the host reads when they have: messages, failures.
class StreamReport {
 public:
  virtual ~StreamReport() = default;
  // The work that wrote it has completed. Throws what there is to throw.
  virtual void completed() = 0;
};

// Every function may be called from any thread.
class CudaStream {
 public:
  explicit CudaStream(driver::Stream stream) : stream_(std::move(stream)) {}

  const driver::Stream &stream() const noexcept { return stream_; }

  // `report` is asked the next time the stream is waited for; once, however often it is added before.
  void add(const std::shared_ptr<StreamReport> &report);

  // Waits, and asks all reports; the first exception goes on when all have been asked.
  void synchronize();

  // Whether work that is put in now is captured into a graph instead of being run.
  bool capturing() const { return stream_.context().capture_of(stream_.raw()) != 0; }

 private:
  driver::Stream stream_;
  std::mutex mutex_;  // of `reports_`
  std::vector<std::shared_ptr<StreamReport>> reports_;
};

}  // namespace samite
