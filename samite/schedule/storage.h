// Where the values of a Func are stored: in a temporary array of the pipeline, or in memory of a kernel.
#pragma once

#include "samite/schedule/regions.h"

namespace samite::schedules {

struct Lowering;
struct Site;

struct Storage {
  bool computed = false;              // else there is room for them alone
  std::vector<std::uint32_t> arrays;  // by value: a parameter, or a local array
  bool local = false;
  std::vector<passes::Affine> begin;
  std::vector<int> order;               // of an array: its dimensions, the outermost first
  std::vector<passes::Affine> merged;   // extents of the outermost of them, which are one of the array's
  std::vector<passes::Affine> strides;  // of a local array
  std::vector<std::optional<std::int64_t>> folds;
  ir::MemorySpace space = ir::MemorySpace::device;
  bool by_thread = false;         // on the CPU: each element is there for each thread
  std::optional<int> owner = {};  // the thread nest each of whose threads has elements of its own
  // Where there was made room for it: how many kernels, loops over lanes and loops over threads were around that.
  int inside = 0;
  std::size_t loops = 0;  // and how many loops were open
};

// No GPU has more shared memory than for so many elements. A form that may be more, for all that its integers' types
// say, is not known before a launch.
inline constexpr std::int64_t most_elements_of_block = 1 << 18;

// By function.
using Storages = std::map<std::uint32_t, Storage>;

bool has_values(const Lowering &lowering, std::uint32_t f);
// As Storage::inside, of where the lowering stands.
int inside_now(const Lowering &lowering);

// Room for all elements of the region: in device memory, or inside of the kernel that is written.
void allocate_temporary(Lowering &lowering, std::uint32_t f, const Region &region);
// `folds`: after how many elements it is used again, by dimension, where the schedule does not say.
void allocate(Lowering &lowering, std::uint32_t f, const Region &region, const std::map<int, std::int64_t> &folds = {});

}  // namespace samite::schedules
