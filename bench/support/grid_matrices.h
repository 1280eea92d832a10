// Sparse matrices of grids that benchmarks multiply with: the Laplacian of 7 points (CSR), and blocks of 3 x 3 between
// each point of a grid and its 26 neighbours, as linear elasticity has them (BSR). Symmetric, diagonally dominant.
#pragma once

#include "samite/runtime/buffer.h"
#include "samite/solve/sparse_matrix.h"

#include <cstdint>
#include <vector>

namespace samite::bench {

struct GridMatrix {
  std::int64_t rows = 0;  // of numbers
  int block = 1;
  std::vector<std::int32_t> offsets = {0}, indices = {};
  std::vector<double> values = {};  // of each block by rows

  // For row `i` of numbers.
  double sum_of_row(std::int64_t i) const;

  template <class T>
  solvers::SparseMatrix on(Device device) const {
    const std::vector<T> numbers(values.begin(), values.end());
    const auto entries = static_cast<std::int64_t>(indices.size());
    return {rows, rows, Buffer<std::int32_t>(device, {offsets.size()}, offsets),
            Buffer<std::int32_t>(device, {entries}, indices),
            Buffer<T>(device, block == 1 ? Extents{entries} : Extents{entries, block, block}, numbers)};
  }
};

GridMatrix laplacian(int extent);
GridMatrix elasticity(int extent);

}  // namespace samite::bench
