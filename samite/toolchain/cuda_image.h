// Code for a CUDA device, compiled: a cubin, which the driver loads; and what its kernels need, read from it.
//
// Immutable, so any thread may use it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace samite {

// Bytes are those of one thread, but for shared memory, which is a block's, and code.
struct CudaKernelResources {
  std::string name;
  int registers = 0;
  std::size_t shared_bytes = 0;    // static; without the dynamic of a launch, and what the driver keeps for itself
  std::size_t local_bytes = 0;     // the stack frame: arrays indexed at run time, and spilled registers
  std::size_t constant_bytes = 0;  // of the kernel's own constant banks: its arguments, literals, what the driver puts
  std::size_t code_bytes = 0;
  // What the code of the kernel and of the functions in it moves for want of registers, if each instruction runs once.
  std::size_t spill_store_bytes = 0, spill_load_bytes = 0;
};

struct CudaImageReport {
  int architecture = 0;  // 90 for sm_90 and sm_90a
  std::vector<CudaKernelResources> kernels;

  std::string to_string() const;  // a line for each kernel
};

// Reads a cubin of CUDA 12 or 13, which is an ELF file, and the log of the compiler that made it: of spills the image
// has no trace. DeviceError where it is damaged or of a kind unknown here.
CudaImageReport read_cuda_image(std::string_view cubin, std::string_view log);

class CudaImage {
 public:
  CudaImage(std::string cubin, std::string log) : cubin_(std::move(cubin)), log_(std::move(log)) {}

  const std::string &cubin() const { return cubin_; }
  const std::string &log() const { return log_; }  // the compiler's warnings, of spilled registers too
  CudaImageReport report() const { return read_cuda_image(cubin_, log_); }

 private:
  std::string cubin_, log_;
};

}  // namespace samite
