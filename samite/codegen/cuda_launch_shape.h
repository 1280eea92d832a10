// Grid and block of a CUDA launch: a pure function of its extents.
//
// The last dimension is x, the one before y, both others z. A block has as many threads as the kernel was compiled for,
// or the power of two that the launch fills: 256 of one dimension; 32 × 8 of two, so that a warp lies along the last
// dimension; and where that is narrower than a warp, more rows.
//
// A kernel has one of two forms (CudaForm in codegen/emit.h). The exact one is faster where each instance does little,
// and is what a launcher should emit first. The other one is for launches that do not fit CUDA's limits, for kernels
// that use a workspace, and for those that sum over the launch.
//
// A tile kernel has a block for each instance, all of them along x; in the grid-stride form a limited number, which go
// on to further instances. Its exact form is for less than 2^31 of them.
#pragma once

#include "samite/codegen/emit.h"

#include <array>
#include <cstdint>
#include <span>

namespace samite::codegen {

struct CudaLaunchShape {
  std::array<unsigned, 3> grid, block;  // x, y, z

  std::int64_t threads() const;  // of the grid
  friend bool operator==(const CudaLaunchShape &, const CudaLaunchShape &) = default;
};

// Whether the exact form can run this launch, whose extents are positive.
bool fits_exact_launch(std::span<const std::int64_t> extents, const CudaForm &form);

// Whether the kernel, which was emitted in the exact form, should be in the grid-stride form for any launch.
bool wants_grid_stride(const EmittedSource &source);

// `most_blocks` limits the grid-stride form's grid, e.g. to what the device can run at a time: several for each
// multiprocessor. A launch that would give a device's `multiprocessors` only a few blocks each gets smaller ones, of at
// least 64 threads, so that all have as much to do; 0 leaves them as they are. Throws InternalError where the exact
// form is asked for a launch that it does not fit.
CudaLaunchShape cuda_launch_shape(std::span<const std::int64_t> extents, const CudaForm &form, std::int64_t most_blocks,
                                  int multiprocessors = 0);

}  // namespace samite::codegen
