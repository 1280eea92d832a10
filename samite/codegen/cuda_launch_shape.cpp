#include "samite/codegen/cuda_launch_shape.h"

#include "samite/base/error.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace samite::codegen {
namespace {

using Axes = std::array<std::int64_t, 3>;

constexpr Axes largest_grid{(std::int64_t{1} << 31) - 1, 65535, 65535};
constexpr std::int64_t most_on_axis = (std::int64_t{1} << 31) - 1, deepest_block = 64, warp = 32;

constexpr int smallest_block = 64, blocks_for_each = 4;  // multiprocessor

// Saturates on overflow.
std::int64_t product(std::int64_t a, std::int64_t b) {
  return __builtin_mul_overflow(a, b, &a) ? std::int64_t{1} << 62 : a;
}

// The quotient, rounded up; both are positive. Mostly one of them is 1 or the result is 1, and a division takes longer
// than most other work of a launch.
std::int64_t parts_of(std::int64_t whole, std::int64_t part) {
  if (part == 1) return whole;
  return whole <= part ? 1 : (whole - 1) / part + 1;
}

// Threads along x, y and z that run an instance; saturated.
Axes axes(std::span<const std::int64_t> extents, const CudaForm &form) {
  Axes axes{1, 1, 1};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::int64_t &axis = axes[std::min<std::size_t>(extents.size() - 1 - d, 2)];
    axis = product(axis, extents[d]);
  }
  axes[0] = parts_of(axes[0], form.instances_per_thread);
  axes[2] = parts_of(axes[2], form.march);
  return axes;
}

std::int64_t power_of_two_from(std::int64_t value) {
  return value > most_on_axis ? most_on_axis + 1
                              : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

// In three dimensions a block is as deep as it is high, so that many instances of the block share neighbours in each
// dimension. There, rows of half a warp are long enough if each thread has several neighbours. Threads that march along
// the third dimension reuse neighbours in it anyway.
Axes block_of(const Axes &instances, int threads, const CudaForm &form) {
  const bool deep = instances[1] > 1 && instances[2] > 1 && form.march == 1;
  const std::int64_t row = deep && form.instances_per_thread >= 4 ? warp / 2 : warp;
  Axes block{std::min({row, power_of_two_from(instances[0]), std::int64_t{threads}}), 1, 1};
  std::int64_t high = threads / block[0];
  if (deep) high = std::int64_t{1} << ((std::bit_width(static_cast<std::uint64_t>(high)) - 1 + 1) / 2);
  block[1] = std::min(high, power_of_two_from(instances[1]));
  block[2] = std::min({threads / (block[0] * block[1]), power_of_two_from(instances[2]), deepest_block});
  // Threads that the rows do not need lengthen the rows.
  block[0] *= std::min(threads / (block[0] * block[1] * block[2]),
                       std::max<std::int64_t>(power_of_two_from(instances[0]) / block[0], 1));
  return block;
}

Axes blocks_for(const Axes &instances, const Axes &block) {
  Axes blocks{};
  for (std::size_t a = 0; a < 3; ++a) blocks[a] = parts_of(instances[a], block[a]);
  return blocks;
}

// Whether a grid can have these blocks; each of their threads has its instances along x.
bool fits_grid(const Axes &block, const Axes &blocks, int instances_per_thread) {
  for (std::size_t a = 0; a < 3; ++a)
    if (blocks[a] > largest_grid[a] || blocks[a] * block[a] * (a == 0 ? instances_per_thread : 1) > most_on_axis)
      return false;
  return true;
}

std::array<unsigned, 3> as_unsigned(const Axes &axes) {
  return {static_cast<unsigned>(axes[0]), static_cast<unsigned>(axes[1]), static_cast<unsigned>(axes[2])};
}

// Indices of the launch, each a block of a tile kernel; saturates.
std::int64_t indices(std::span<const std::int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, product);
}

// Whether there are fewer than `many` blocks.
bool fewer_than(const Axes &blocks, std::int64_t many) {
  return blocks[0] < many && blocks[1] < many && blocks[2] < many && blocks[0] * blocks[1] * blocks[2] < many;
}

}  // namespace

std::int64_t CudaLaunchShape::threads() const {
  std::int64_t threads = 1;
  for (std::size_t a = 0; a < 3; ++a) threads *= std::int64_t{grid[a]} * block[a];
  return threads;
}

bool fits_exact_launch(std::span<const std::int64_t> extents, const CudaForm &form) {
  const std::int64_t count = indices(extents);
  if (form.tile_threads != 0) return count <= largest_grid[0] / std::max(form.step_parts, 1);
  if (count <= largest_grid[1]) return true;  // few fit, whatever their axes are
  const Axes instances = axes(extents, form);
  const Axes block = block_of(instances, form.threads_per_block, form);
  return fits_grid(block, blocks_for(instances, block), form.instances_per_thread);
}

bool fits_grid_axes(std::span<const std::int64_t> extents) {
  if (extents.size() < 2 || extents.size() > largest_grid.size()) return false;
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (extents[extents.size() - 1 - d] > largest_grid[d]) return false;
  return true;
}

CudaLaunchShape cuda_launch_shape(std::span<const std::int64_t> extents, const CudaForm &form, std::int64_t most_blocks,
                                  int multiprocessors) {
  const auto check_exact = [&](bool fits) {
    internal_check(form.grid_stride || fits, "an exact launch that does not fit the grid");
  };
  if (form.grid_axes) {
    check_exact(fits_exact_launch(extents, form));
    internal_check(fits_grid_axes(extents), "a launch has more blocks along an axis than a grid");
    CudaLaunchShape shape{{1, 1, 1}, {static_cast<unsigned>(form.tile_threads), 1, 1}};
    for (std::size_t d = 0; d < extents.size(); ++d)
      shape.grid[d] = static_cast<unsigned>(extents[extents.size() - 1 - d]);
    return shape;
  }
  if (form.tile_threads != 0) {
    std::int64_t blocks = indices(extents);
    check_exact(blocks <= largest_grid[0]);
    if (form.grid_stride) blocks = std::min(blocks, std::max<std::int64_t>(most_blocks, 1));
    blocks *= std::max(form.step_parts, 1);
    const auto rows = static_cast<unsigned>(form.teams == 0 ? 1 : form.teams + 1);
    return {{static_cast<unsigned>(std::min(blocks, largest_grid[0])), 1, 1},
            {static_cast<unsigned>(form.tile_threads) / rows, rows, 1}};
  }
  const Axes instances = axes(extents, form);
  Axes block = block_of(instances, form.threads_per_block, form), blocks = blocks_for(instances, block);
  check_exact(fits_grid(block, blocks, form.instances_per_thread));
  for (int threads = form.threads_per_block / 2;
       threads >= smallest_block && fewer_than(blocks, std::int64_t{blocks_for_each} * multiprocessors); threads /= 2) {
    block = block_of(instances, threads, form);
    blocks = blocks_for(instances, block);
  }
  if (form.grid_stride) {
    std::int64_t left = std::max<std::int64_t>(most_blocks, 1);
    for (std::size_t a = 0; a < 3; ++a) {
      blocks[a] = std::min({blocks[a], left, largest_grid[a]});
      left = std::max<std::int64_t>(left / blocks[a], 1);
    }
  }
  return {as_unsigned(blocks), as_unsigned(block)};
}

}  // namespace samite::codegen
