// The kernels that the library itself runs on CUDA devices, as PTX: the driver compiles it for any device, so that they
// need no toolkit.
//
// Each function returns one text, the same every time; any thread.
#pragma once

#include <string>

namespace samite {

// samite_copy_strided(CudaDevice::StridedCopy)
const std::string &strided_copy_ptx();

// samite_set_condition(u64 handle, u64 address, u32 bytes): the condition of that handle is whether the integer of
// 1, 2, 4 or 8 bytes at that address is other than 0. It calls cudaGraphSetConditional, which is in no library: the
// driver, from 12.3, defines it when it loads the text.
const std::string &condition_ptx();

// samite_nothing()
const std::string &nothing_ptx();

}  // namespace samite
