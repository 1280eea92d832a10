// A kernel: parameters and a body, run once for each index of a launch.
#pragma once

#include "samite/ir/properties.h"
#include "samite/ir/stmt.h"

#include <string>

namespace samite::ir {

// What a parameter stands for. A gradient parameter belongs to the primal parameter `primal` of the same kernel.
enum class Role : std::uint8_t { Primal, Gradient };

struct Parameter {
  std::string name;
  ScalarType type;
  int rank = 0;            // 0: a scalar, passed by value; 1 to 4: an array
  bool read_only = false;  // an array that the kernel may not write
  Role role = Role::Primal;
  std::uint32_t primal = 0;
  bool distinct = false;         // an array that shares memory with no other argument of a launch
  std::int64_t last_extent = 0;  // of an array of structs: how many scalars an element has; else 0, and any will do

  bool is_array() const { return rank > 0; }
  friend bool operator==(const Parameter &, const Parameter &) = default;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  int launch_rank = 1;  // dimensions of the launch: 1 to 4
  // Of a tile kernel, whose body runs once for each block and whose values may be tiles: the threads that hold them
  // together. 0 of any other, whose instances are a thread each.
  int block_threads = 0;
  // Of a schedule: each instance is a block of `block_threads` threads, any number of them, and its body is in lowered
  // form but for `thread_index`, which is the index of the block: it has loops over threads, memory of a block and
  // barriers, and no tiles. It has no derivatives.
  bool scheduled = false;
  bool sums_in_shared = false;  // of a tile kernel: no tile stays in the registers of its threads
  int resident_blocks = 0;      // of a tile kernel: so many of a multiprocessor's blocks at a time leave each
                                // thread the registers that it needs; 0: as the compiler finds
  // Of a lowered tile kernel: so many threads more, behind those of each block, run `producing` while the others run
  // the body. They start the copies of its loop of products (passes/assign_roles.h).
  int producers = 0;
  Block producing = {};
  // Of a tile kernel over two dimensions or more: in the last two of them blocks are numbered in strips of so many
  // columns, row by row within a strip (passes/number_blocks.h). 0: row by row of the launch.
  int strip_columns = 0;
  // Of a lowered tile kernel whose threads have roles: so many blocks, which lie beside each other in this dimension of
  // the launch, run at one time and bring each other what they share (passes/form_clusters.h). The launch has a
  // multiple of them there. 0: each block is alone.
  int cluster_blocks = 0;
  int cluster_dimension = 0;
  // Of such a one: so many times `block_threads` run the body, each of these teams for other indices of the launch, in
  // turn, and have memory of their own but for what copies bring (passes/form_teams.h). 0: there is one.
  int teams = 0;
  // Of a lowered tile kernel whose body has one loop of products: so many blocks, which are a cluster, run the body for
  // each index of the launch up to the end of that loop, each with its part of the loop's steps. The first of them has
  // the sums of all then, and goes on (passes/share_steps.h). 0: one block has all steps.
  int step_parts = 0;
  Properties properties = {};          // what the steps after lowering have established
  LocalId local_count = 0;             // locals are numbered below this
  LocalArrayId local_array_count = 0;  // and local arrays below this
  Block body;
  SourceLocation where;                // where the user wrote the kernel
  SourceLocation launch_rank_where{};  // and what fixed the rank of its launch; unknown where nothing asks for an index
};

inline constexpr int maximum_rank = 4;

inline bool is_tile_kernel(const Kernel &kernel) { return kernel.block_threads != 0; }
// With those that produce, and of all teams.
inline int threads_of_block(const Kernel &kernel) {
  return kernel.block_threads * (kernel.teams == 0 ? 1 : kernel.teams) + kernel.producers;
}

}  // namespace samite::ir
