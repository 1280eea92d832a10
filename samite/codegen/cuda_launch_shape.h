// Grid and block of a CUDA launch: a pure function of its extents.
//
// The last dimension is x, the one before y, both others z. A block has as many threads as the kernel was compiled for,
// or the power of two that the launch fills. That is 256 threads in one dimension, and 32 × 8 in two, so that a warp
// lies along the last dimension. Where the last dimension is narrower than a warp, the block has more rows.
//
// A kernel has one of two forms (CudaForm in codegen/emit.h). The exact form is faster where each instance does little;
// a launcher should emit it first. The grid-stride form is for launches that do not fit CUDA's limits, for kernels that
// use a workspace, and for kernels that sum over the launch.
//
// A tile kernel has one block for each index of the launch, all of them along x. In the grid-stride form it has a
// limited number of blocks, each of which goes on to further indices. Its exact form is for fewer than 2^31 blocks.
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

// Whether a grid may have an axis for each dimension of a launch of blocks (`CudaForm::grid_axes`).
bool fits_grid_axes(std::span<const std::int64_t> extents);

// Whether a planned kernel should be in the grid-stride form for any launch: where it uses a workspace, or sums over
// the launch.
bool wants_grid_stride(const ir::Kernel &planned);

// `most_blocks` limits the grid of the grid-stride form, e.g. to what the device can run at a time: several blocks for
// each multiprocessor. A launch of only a few blocks for each of the device's `multiprocessors` gets smaller blocks, of
// at least 64 threads, so that the work is balanced; 0 multiprocessors leave blocks as they are. Throws InternalError
// where a launch does not fit the exact form that is asked for.
CudaLaunchShape cuda_launch_shape(std::span<const std::int64_t> extents, const CudaForm &form, std::int64_t most_blocks,
                                  int multiprocessors = 0);

}  // namespace samite::codegen
