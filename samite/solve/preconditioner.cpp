#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/solver.h"

#include <cmath>
#include <string>
#include <vector>

namespace samite::solvers {
namespace {

template <class T>
const auto &block_multiplication() {
  using Blocks = Array<const T, 3>;
  static const Kernel kernel{"multiply_blocks",
                             {"z", "r", "blocks", "transposed"},
                             [](Array<T, 1> z, Array<const T, 1> r, Blocks blocks, Bool transposed) {
                               const Int number = thread_index(), size = blocks.extent(1);
                               const Int block = number / size, i = number % size;
                               Traced<T> sum = 0;
                               for (Int j : range(size)) {
                                 const Int column = block * size + j;
                                 if_(column < r.extent(0), [&] {
                                   sum += select(transposed, blocks(block, j, i), blocks(block, i, j)) * r(column);
                                 });
                               }
                               z(number) = sum;
                             }};
  return kernel;
}

// By Gauss and Jordan, with the largest pivot of each column. Returns whether the block is regular.
bool invert(std::vector<double> &a, std::size_t size) {
  std::vector<double> inverse(size * size);
  for (std::size_t i = 0; i < size; ++i) inverse[i * size + i] = 1;
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < size; ++i)
      if (std::abs(a[i * size + k]) > std::abs(a[pivot * size + k])) pivot = i;
    const double value = a[pivot * size + k];
    if (value == 0 || !std::isfinite(value)) return false;
    for (std::size_t j = 0; j < size; ++j) {
      std::swap(a[k * size + j], a[pivot * size + j]), std::swap(inverse[k * size + j], inverse[pivot * size + j]);
      a[k * size + j] /= value, inverse[k * size + j] /= value;
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double factor = i == k ? 0 : a[i * size + k];
      for (std::size_t j = 0; j < size; ++j) {
        a[i * size + j] -= factor * a[k * size + j];
        inverse[i * size + j] -= factor * inverse[k * size + j];
      }
    }
  }
  a = std::move(inverse);
  return true;
}

template <class T>
AnyBuffer inverse_blocks(const SparseMatrix &a, std::size_t size, SourceLocation where) {
  const std::vector<T> values = Buffer<T>(a.values()).to_vector();
  const std::vector<std::int32_t> offsets = a.offsets().to_vector(), indices = a.indices().to_vector();
  const std::size_t inner = static_cast<std::size_t>(a.block().rows), rows = static_cast<std::size_t>(a.rows());
  const std::size_t count = (rows + size - 1) / size;
  std::vector<T> inverses;
  inverses.reserve(count * size * size);
  for (std::size_t block = 0; block < count; ++block) {
    std::vector<double> dense(size * size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t row = block * size + i;
      if (row >= rows) dense[i * size + i] = 1;  // beyond the last row
      if (row >= rows) continue;
      for (auto k = offsets[row / inner]; k < offsets[row / inner + 1]; ++k)
        for (std::size_t j = 0; j < inner; ++j) {
          const std::size_t entry = static_cast<std::size_t>(k);
          const std::size_t column = static_cast<std::size_t>(indices[entry]) * inner + j;
          if (column / size == block)
            dense[i * size + column % size] = values[(entry * inner + row % inner) * inner + j];
        }
    }
    if (!invert(dense, size))
      throw UserError(where, size == 1 ? "jacobi: the number on the diagonal of row " + std::to_string(block) +
                                             " is zero, missing, infinite or NaN"
                                       : "block_jacobi: the block on the diagonal from row " +
                                             std::to_string(block * size) + " on is singular");
    for (const double number : dense) inverses.push_back(static_cast<T>(number));
  }
  return Buffer<T>(a.device(), {count, size, size}, inverses);
}

Preconditioner multiplication(const AnyBuffer &blocks) {
  const auto multiply = [blocks](const AnyBuffer &r, const AnyBuffer &z, bool transposed) {
    detail::with_floating_type(blocks.type(), "", {}, [&]<class T>(T) {
      block_multiplication<T>().launch(LaunchExtents(r.extents()), Buffer<T>(z), Buffer<T>(r), Buffer<T>(blocks),
                                       transposed);
    });
  };
  return {.apply = [multiply](const AnyBuffer &r, const AnyBuffer &z) { multiply(r, z, false); },
          .apply_transposed = [multiply](const AnyBuffer &r, const AnyBuffer &z) { multiply(r, z, true); }};
}

}  // namespace

Preconditioner block_jacobi(const SparseMatrix &a, int size, SourceLocation where) {
  a.pattern(where);
  const BlockExtents block = a.block();
  if (a.rows() != a.columns() || block.rows != block.columns)
    throw UserError(
        where, "a preconditioner of a square matrix of square blocks is asked for, " + a.to_string() + " is given");
  if (size == 0) size = block.rows;
  if (size < 1 || size > 64 || size % block.rows != 0)
    throw UserError(where, "block_jacobi: a size of 1 to 64, in whole blocks of the matrix, is expected, " +
                               std::to_string(size) + " is given");
  return detail::with_floating_type(a.type(), "", where, [&]<class T>(T) {
    return multiplication(inverse_blocks<T>(a, static_cast<std::size_t>(size), where));
  });
}

Preconditioner jacobi(const SparseMatrix &a, SourceLocation where) {
  a.pattern(where);
  if (a.block() == BlockExtents{}) return block_jacobi(a, 1, where);
  // The diagonal of a matrix of blocks.
  AnyBuffer numbers = diagonal(a, where);
  std::vector<std::int32_t> offsets, indices;
  for (std::int64_t i = 0; i <= a.rows(); ++i) {
    offsets.push_back(static_cast<std::int32_t>(i));
    if (i < a.rows()) indices.push_back(static_cast<std::int32_t>(i));
  }
  const Device device = a.device();
  return block_jacobi(SparseMatrix(a.rows(), a.rows(), Buffer<std::int32_t>(device, {offsets.size()}, offsets),
                                   Buffer<std::int32_t>(device, {indices.size()}, indices), numbers, where),
                      1, where);
}

}  // namespace samite::solvers
