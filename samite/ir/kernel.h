// A kernel: parameters and a body, run once for each index of a launch.
#pragma once

#include "samite/ir/parameter.h"
#include "samite/ir/properties.h"
#include "samite/ir/stmt.h"
#include "samite/ir/tile_plan.h"

#include <string>

namespace samite::ir {

// How the blocks of a tile kernel are numbered, and how they share the launch and a multiprocessor.
struct Grid {
  // Blocks are numbered in strips of this many columns of the last two dimensions of the launch, row by row within a
  // strip (passes/tiles/number_blocks.h). 0: row by row of the launch.
  int strip_columns = 0;
  // If the threads of a block have roles: the blocks of a cluster, neighbours in this dimension of the launch, which
  // run concurrently and multicast shared windows (passes/sm90/form_clusters.h). Their number divides the launch's
  // extent there. 0: no clusters.
  int cluster_blocks = 0;
  int cluster_dimension = 0;
  // If the body has one main loop: split-K. This many blocks, one cluster, run the body for each index of the
  // launch up to the end of that loop, each with its part of the steps. The first block then has the total sums and
  // continues alone (passes/sm90/share_steps.h). 0: one block runs all steps.
  int step_parts = 0;
  // On a GPU: each block, or each thread of a kernel of threads, takes further indices of the launch until all have
  // run. Otherwise the grid has one for each index (passes/threads/shape_launch.h).
  bool strides = false;
  // Each multiprocessor has one block, which takes one index after another.
  bool persistent = false;
  // The grid has an axis for each dimension of the launch, so that a block needs no division for its indices.
  bool axes = false;
  // Tile kernels with tiles in registers: limits registers so that this many blocks fit a multiprocessor
  // (passes/tiles/spread_tiles.h). 0: no limit.
  int resident_blocks = 0;
  // The same for any kernel, as the launch's shape decides it. 0: no limit.
  int blocks_at_once = 0;

  friend bool operator==(const Grid &, const Grid &) = default;
};

// The roles of a block's threads, in a lowered tile kernel.
struct Roles {
  // The number of producer threads, numbered after the other threads of the block. They run `producing`, which starts
  // the copies of the main loop, while the others run the body (passes/sm90/assign_roles.h).
  int producers = 0;
  Block producing = {};
  // With producers: the number of consumer teams, of `block_threads` each. Teams run the body for alternate indices of
  // the launch, and have separate memory except for the rings of bulk copies (passes/sm90/form_teams.h). 0: one.
  int teams = 0;
  // With teams: each index of the launch runs the main loop once, with the same number of steps. So a team knows where
  // its windows are in the ring without being told by the team before it.
  bool equal_turns = false;
  // With producers: the registers of a thread, after it has started. A producer needs few, a consumer many. 0: all keep
  // what they have.
  struct Registers {
    int producing = 0, multiplying = 0;
  };
  Registers registers = {};
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  int launch_rank = 1;  // dimensions of the launch: 1 to 4
  // For a tile kernel, whose body runs once for each block and whose values may be tiles: the number of threads that
  // hold the tiles together. 0 for other kernels, in which each instance is a thread.
  int block_threads = 0;
  // For a schedule's kernel: each instance is a block of `block_threads` threads, any number of them, and its body is
  // in lowered form: it has loops over threads, memory of a block and barriers, and no tiles. Only `thread_index` is
  // not lowered; it is the index of the block. Such kernels have no derivatives.
  bool scheduled = false;
  bool sums_in_shared = false;  // of a tile kernel: no tile stays in the registers of its threads
  TilePlan plan = {};           // of a tile kernel: what is asked for, and what steps have chosen
  Grid grid = {};
  Roles roles = {};
  Properties properties = {};          // established by the steps after lowering
  LocalId local_count = 0;             // locals are numbered below this
  LocalArrayId local_array_count = 0;  // and local arrays below this
  Block body;
  SourceLocation where;                // where the user wrote the kernel
  SourceLocation launch_rank_where{};  // and the line that fixed the rank of its launch; unknown if no index is read
};

inline bool is_tile_kernel(const Kernel &kernel) { return kernel.block_threads != 0; }
// Includes producers and all teams.
inline int threads_of_block(const Kernel &kernel) {
  return kernel.block_threads * (kernel.roles.teams == 0 ? 1 : kernel.roles.teams) + kernel.roles.producers;
}

}  // namespace samite::ir
