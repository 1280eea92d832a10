// What a variant for CUDA is compiled for.
#pragma once

#include <string>

namespace samite::jit {

// Code for one device alone, with what that has and its successors may not: "sm_90a" of 90.
std::string cuda_architecture(int compute_capability);

}  // namespace samite::jit
