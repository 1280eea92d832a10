// Compiled code for a CUDA device: a cubin or PTX, which the driver loads; and its kernels' resources, read from it.
//
// Immutable, so any thread may use it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace samite {

// Bytes of one thread, except for shared memory, which is a block's, and code.
struct CudaKernelResources {
  std::string name;
  int registers = 0;
  std::size_t shared_bytes = 0;    // static; without a launch's dynamic memory and the driver's reserved memory
  std::size_t local_bytes = 0;     // the stack frame: arrays indexed at run time, and spilled registers
  std::size_t constant_bytes = 0;  // of the kernel's own constant banks: its arguments, literals, driver data
  std::size_t code_bytes = 0;
  // Bytes that the kernel and its functions spill, if each instruction runs once.
  std::size_t spill_store_bytes = 0, spill_load_bytes = 0;
};

struct CudaImageReport {
  int architecture = 0;  // 90 for sm_90 and sm_90a
  std::vector<CudaKernelResources> kernels;

  std::string to_string() const;  // a line for each kernel
};

// Reads a cubin of CUDA 12 or 13, which is an ELF file, and its compiler's log: the image itself does not show spills.
// DeviceError if it is damaged or of an unknown kind.
CudaImageReport read_cuda_image(std::string_view cubin, std::string_view log);

class CudaImage {
 public:
  CudaImage(std::string cubin, std::string log) : cubin_(std::move(cubin)), log_(std::move(log)) {}

  const std::string &cubin() const { return cubin_; }
  const std::string &log() const { return log_; }  // the compiler's warnings, including spills
  // Empty for PTX, which the driver compiles.
  CudaImageReport report() const { return is_ptx() ? CudaImageReport{} : read_cuda_image(cubin_, log_); }

 private:
  bool is_ptx() const { return cubin_.starts_with("//"); }

  std::string cubin_, log_;
};

}  // namespace samite
