// Grid and block of a CUDA launch: a pure function of its extents.
//
// The last dimension is x, the one before it y, both others z. A block has the number of threads that the kernel was
// compiled for, or the power of two that the launch fills. That is 256 threads in one dimension, and 32 × 8 in two, so
// that a warp spans the last dimension. If the last dimension is narrower than a warp, the block has more rows.
//
// A kernel has one of two forms (CudaForm in codegen/emit.h). The exact form is faster if each instance does little
// work; a launcher should emit it first. The grid-stride form is for launches that exceed CUDA's limits, for kernels
// that use a workspace, and for kernels that sum over the launch.
//
// A tile kernel has one block for each index of the launch, all of them along x. In the grid-stride form it has a
// limited number of blocks, each of which iterates over further indices. Its exact form is for fewer than 2^31 blocks.
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

// Whether the grid can have an axis for each dimension of a launch of blocks (`CudaForm::grid_axes`).
bool fits_grid_axes(std::span<const std::int64_t> extents);

// `most_blocks` limits the grid of the grid-stride form, e.g. to the blocks that the device can run concurrently:
// several for each multiprocessor. If a launch has only a few blocks for each of the device's `multiprocessors`, it
// gets smaller blocks, of at least 64 threads, to balance the work; 0 multiprocessors disable that. Throws
// InternalError if a launch does not fit the requested exact form.
CudaLaunchShape cuda_launch_shape(std::span<const std::int64_t> extents, const CudaForm &form, std::int64_t most_blocks,
                                  int multiprocessors = 0);

}  // namespace samite::codegen
