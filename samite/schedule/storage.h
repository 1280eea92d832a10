// The place of a Func's values: a temporary array of the pipeline, or memory of a kernel.
#pragma once

#include "samite/schedule/regions.h"

namespace samite::schedules {

struct Lowering;
struct Site;

struct Storage {
  bool computed = false;              // otherwise only memory is allocated
  std::vector<std::uint32_t> arrays;  // one for each value: a parameter, or a local array
  bool local = false;
  std::vector<passes::Affine> begin;
  std::vector<int> order;               // of an array: its dimensions, outermost first
  std::vector<passes::Affine> merged;   // extents of the outermost dimensions, which are merged into one of the array's
  std::vector<passes::Affine> strides;  // of a local array
  std::vector<std::optional<std::int64_t>> folds;
  ir::MemorySpace space = ir::MemorySpace::device;
  bool by_thread = false;         // on the CPU: each thread has all elements
  std::optional<int> owner = {};  // the thread nest whose threads each have their own elements
  // The number of kernels, loops over lanes and loops over threads around the allocation.
  int inside = 0;
  std::size_t loops = 0;  // and how many loops were open
};

// More elements than any GPU's shared memory holds. A form whose integers' types allow more is known only at launch.
inline constexpr std::int64_t most_elements_of_block = 1 << 18;

// By number of the function.
using Storages = std::map<std::uint32_t, Storage>;

bool has_values(const Lowering &lowering, std::uint32_t f);
// Storage::inside for the present position.
int inside_now(const Lowering &lowering);

// Allocates all elements of the region: in device memory, or in the kernel that is being written.
void allocate_temporary(Lowering &lowering, std::uint32_t f, const Region &region);
// `folds`: periods by dimension, for dimensions that the schedule does not fold.
void allocate(Lowering &lowering, std::uint32_t f, const Region &region, const std::map<int, std::int64_t> &folds = {});

}  // namespace samite::schedules
