// Splits the sums of a product over more blocks (split-K), for launches with fewer blocks than a GPU has
// multiprocessors:
//
//   for k in 0 .. n { s = s + A[i, k] B[k, j] }; C[i, j] = f(s)
//
// becomes two kernels. In the first one a block runs a part of the iterations, with `part` as a new first dimension of
// the launch, and stores its sums to an array that belongs to the launch. The second kernel adds the parts in order and
// runs the rest:
//
//   for k in part * m .. min((part + 1) * m, n) { s = s + A[i, k] B[k, j] }; sums[part, i, j] = s     (`parts`)
//   for part { s = s + sums[part, i, j] }; C[i, j] = f(s)                                            (`rest`)
//
// The loop must be the only one that multiplies, at the outermost level of a tile kernel, without effects. Each value
// that it carries is a two-dimensional tile that is only added to, and both kernels can compute what it needs. The sums
// are added in another order than in one loop, but in the same order in every launch with the same number of parts.
#pragma once

#include "samite/passes/adjoint/gather.h"

#include <optional>
#include <span>
#include <vector>

namespace samite::passes {

// A parameter after the kernel's own: the sums of all parts. Its extents are the number of parts, those of the launch
// without the last two, and these times the tile's rows and columns; in one dimension, the launch's times the rows, and
// the columns.
struct PartialSums {
  std::uint32_t parameter;
  ScalarType type;
  std::int64_t rows, columns;
  friend bool operator==(const PartialSums &, const PartialSums &) = default;
};
std::vector<std::int64_t> extents_of(const PartialSums &sums, std::span<const std::int64_t> launch, std::int64_t parts);

struct SplitSums {
  ir::Kernel parts, rest;           // structured, simplified
  GatheredAdjoint::DealtLoop loop;  // has the number of iterations
  std::vector<PartialSums> sums;
};
// For launches with this many parts: a few are reduced element by element, with all their loads in flight together. 0:
// for any number. Empty if the structured kernel does not qualify.
std::optional<SplitSums> split_sums(const ir::Kernel &kernel, std::int64_t parts = 0);

// The best number of parts for a launch of `blocks` blocks, each with `iterations` iterations and `bytes` bytes of
// sums; 1: no split. A pure function. Each part has at least one iteration.
std::int64_t parts_of_sums(std::int64_t blocks, std::int64_t iterations, std::int64_t bytes, int multiprocessors);

}  // namespace samite::passes
