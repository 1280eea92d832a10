// The objects of a kernel as CUDA's compiler takes them: each after what it includes of samite/device/tile/, and no
// more.
//
// Thread-safe; what comes before a text is kept for the life of the process.
#pragma once

#include "samite/codegen/emit.h"
#include "samite/toolchain/cuda_compiler.h"

#include <string>
#include <vector>

namespace samite::jit {

// Code for one device alone, with what that has and its successors may not: "sm_90a" of 90.
std::string cuda_architecture(int compute_capability);

std::vector<CudaSource> cuda_objects(const std::vector<codegen::EmittedObject> &objects, bool debug_info = false);

}  // namespace samite::jit
