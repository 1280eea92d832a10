// The library's own kernels for CUDA devices, as PTX: the driver compiles it for any device, so no toolkit is needed.
//
// Each function returns one text, the same every time; any thread.
#pragma once

#include <string>

namespace samite {

// samite_copy_strided(CudaDevice::StridedCopy)
const std::string &strided_copy_ptx();

// samite_set_condition(u64 handle, u64 address, u32 bytes): sets the condition of that handle to whether the integer of
// 1, 2, 4 or 8 bytes at that address is not 0. It calls cudaGraphSetConditional, which no library has: the driver, from
// 12.3 on, defines it when it loads the text.
const std::string &condition_ptx();

// samite_nothing()
const std::string &nothing_ptx();

}  // namespace samite
