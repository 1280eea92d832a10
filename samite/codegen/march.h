// Which kernels gain where a thread runs several instances one after another along the first of three dimensions
// (CudaForm::march): stencils. What an instance reads of the one behind it has just been read, so that less of the
// arrays comes from the device's outer cache more than once.
#pragma once

#include "samite/ir/kernel.h"

#include <cstdint>
#include <span>

namespace samite::codegen {

// Whether a lowered kernel reads some array at several places along the first dimension of its launch, of three.
bool reads_neighbours_along_first(const ir::Kernel &lowered);

// Whether a launch is so large that its arrays outgrow a device's caches. The extents are positive.
bool outgrows_caches(std::span<const std::int64_t> extents);

// How many instances a thread runs one after another where both hold. Measured with a 7-point stencil on an H200: of 1
// to 64, 4 to 6 are the fastest; more of them leave too few blocks in flight.
inline constexpr int worthwhile_march = 5;

}  // namespace samite::codegen
