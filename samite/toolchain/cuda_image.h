// Code for a CUDA device, compiled: a cubin, which the driver loads.
//
// Immutable, so any thread may use it.
#pragma once

#include <string>
#include <utility>

namespace samite {

class CudaImage {
 public:
  CudaImage(std::string cubin, std::string log) : cubin_(std::move(cubin)), log_(std::move(log)) {}

  const std::string &cubin() const { return cubin_; }
  const std::string &log() const { return log_; }  // the compiler's warnings, of spilled registers too

 private:
  std::string cubin_, log_;
};

}  // namespace samite
