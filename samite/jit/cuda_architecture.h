// The target of a variant for CUDA.
#pragma once

#include <string>

namespace samite::jit {

// Code for one device only, which may use features that its successors lack: "sm_90a" for 90.
std::string cuda_architecture(int compute_capability);

}  // namespace samite::jit
