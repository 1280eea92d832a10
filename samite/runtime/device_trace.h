// The part of a trace (base/trace.h) that a CUDA device runs: times of events around the work.
#pragma once

#include "samite/base/trace.h"
#include "samite/runtime/cuda_stream.h"

#include <cstdint>
#include <string>

namespace samite {

// Work that is put into `stream` between its construction and its destruction, if a trace runs and the stream is not
// being captured. Never throws: work that cannot be traced is left out.
class DeviceSpan {
 public:
  DeviceSpan() = default;
  DeviceSpan(const CudaStream &stream, const char *category, std::string name, std::uint64_t bytes) noexcept;
  DeviceSpan(const DeviceSpan &) = delete;
  DeviceSpan &operator=(const DeviceSpan &) = delete;
  ~DeviceSpan();

 private:
  std::shared_ptr<void> pending_;  // null if it is not traced
};

}  // namespace samite
