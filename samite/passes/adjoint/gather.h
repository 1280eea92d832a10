// Rewrites a scattering adjoint as a gather, so that the adjoint of a stencil is a stencil.
//
// The adjoint of `next(i) = … now(i + c) …` adds to the gradients of neighbours, so several instances add to the same
// element. That takes atomics or private sums. But if i + c can be solved for i, each instance can gather the
// contributions to its own element:
//
//   accumulate ā[i + c] += f(i)      becomes      if i - c is an instance { accumulate ā[i] += f(i - c) }
//
// f is computed again for the other instance. If an index is clamped to the array, several instances add to the first
// or the last element, which then gathers one more term for each of them. The conditions around the addition are part
// of f. One instance then adds to each element, without atomics and in a fixed order: the same bits on every run.
//
// f reads gradients that the adjoint takes (`exchange`). They must stay until all instances have read them: `gather`
// only loads them, and `clear`, launched after it over the same extents, sets them to zero.
//
// Tile kernels have passes/adjoint/gather_tiles.h. The pass does not gather kernels with loops, whose f is too
// expensive to compute again, nor adjoints that read gradients that they also add to. An addition that cannot be
// gathered stays as it was.
#pragma once

#include "samite/passes/analysis/index_map.h"

#include <algorithm>

namespace samite::passes {

// A parameter after an adjoint's own, with the rank and the extents of `array`, for elements that one kernel computes
// and others read. Its memory has no other use meanwhile.
struct CotangentCopy {
  std::uint32_t parameter, array;
  ScalarType type;
  friend bool operator==(const CotangentCopy &, const CotangentCopy &) = default;
};
// The least bytes of a copy's element.
inline constexpr std::size_t copied_bytes = 2;

struct GatheredAdjoint {
  // An extent of an array (a primal parameter) that must equal the launch's; otherwise the result is wrong.
  struct Cover {
    ArrayDimension array;
    int launch_dimension;
    friend bool operator==(const Cover &, const Cover &) = default;
  };

  // For a tile kernel (passes/adjoint/gather_tiles.h): a loop whose iterations are distributed over the blocks along
  // these dimensions of the launch. `scalars` computes its bounds.
  struct DealtLoop {
    // For several windows together (passes/adjoint/wide_windows.h): window `k` of the loop begins at k * extent + rest
    // in that dimension of the gradient's array.
    struct Wide {
      std::int64_t by;
      ArrayDimension array;
      std::int64_t extent, rest;
    };
    std::vector<int> launch_dimensions;
    ir::Block scalars;
    ir::Value begin, end;
    std::optional<Wide> wide;
  };

  ir::Kernel gather, clear;  // structured, simplified, with the adjoint's parameters; clear may do nothing
  std::vector<Cover> covers;
  std::vector<DealtLoop> dealt;
  // From passes/adjoint/recomputed_cotangents.h: runs first, and is not gathered. All have the copies after their
  // parameters.
  std::optional<ir::Kernel> before{};
  std::vector<CotangentCopy> copies{};

  bool has_wide_windows() const {
    return std::ranges::any_of(dealt, [](const DealtLoop &loop) { return loop.wide.has_value(); });
  }
};

// The additions to gather: those that are unlikely to become slower, or all possible ones; in a tile kernel, in wide
// windows (passes/adjoint/wide_windows.h).
enum class Gathering : std::uint8_t { if_not_slower, even_if_slower, wide };

// Empty if no atomic addition to a gradient can be gathered; also, unless `even_if_slower`, if recomputing f seems
// slower than the atomics. `adjoint` is structured, with atomics relaxed; its gradient arrays share no memory.
std::optional<GatheredAdjoint> gather_adjoint(const ir::Kernel &adjoint, bool even_if_slower);

}  // namespace samite::passes
