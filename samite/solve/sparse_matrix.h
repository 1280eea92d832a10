// Sparse matrices by compressed rows, of numbers (CSR) or of blocks of 1 x 1 to 8 x 8 numbers (BSR).
//
//   SparseMatrix a(rows, columns, offsets, indices, values);     // values: one for each entry
//   multiply(a, x, y);                                           // y = A x
//   SparseMatrix t = transpose(a);
//
// Row i has the entries offsets[i] to offsets[i + 1] - 1; entry k is in column indices[k]. Columns increase within a
// row. In a matrix of blocks, `values` has the extents (entries, block rows, block columns), and offsets and indices
// count blocks; `rows` and `columns` always count numbers.
//
// A matrix is a handle to its pattern, which does not change, and to its values, a buffer that the program may write to
// and that may track gradients. The gradient of the values has the matrix's pattern: zeros that are not stored have
// none. Products and sums have adjoints without atomics, so that a gradient has the same bits on every run.
//
// Up to 2147483647 rows, columns and entries. Errors are UserErrors. Thread-safe, as buffers are.
#pragma once

#include "samite/runtime/buffer.h"
#include "samite/runtime/stream.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace samite::solvers {

namespace detail {
class SparsePattern;
}

struct BlockExtents {
  int rows = 1, columns = 1;

  friend auto operator<=>(const BlockExtents &, const BlockExtents &) = default;
};

class SparseMatrix {
 public:
  SparseMatrix() = default;
  // UserError if offsets do not increase from 0 to the number of entries, for a column outside of the matrix or out of
  // order (naming row and column), for rows or columns that are not multiples of the block size, values that are not
  // f32 or f64, and arrays on different devices.
  SparseMatrix(std::int64_t rows, std::int64_t columns, const Buffer<std::int32_t> &offsets,
               const Buffer<std::int32_t> &indices, const AnyBuffer &values,
               SourceLocation where = std::source_location::current());

  std::int64_t rows() const;
  std::int64_t columns() const;
  std::int64_t entries() const;  // stored numbers, or blocks
  BlockExtents block() const { return block_; }
  ScalarType type() const { return values_.type(); }
  Device device() const { return values_.device(); }

  const AnyBuffer &values() const { return values_; }
  const Buffer<std::int32_t> &offsets() const;
  const Buffer<std::int32_t> &indices() const;
  // Whether both have the same entries.
  bool same_pattern(const SparseMatrix &other) const;

  // The same pattern with other values, of the same extents and on the same device.
  SparseMatrix with_values(const AnyBuffer &values, SourceLocation where = std::source_location::current()) const;

  // "SparseMatrix<f64> of 512 x 512 with 2560 entries on cpu"
  std::string to_string() const;

  // For the library. UserError for an empty matrix.
  const detail::SparsePattern &pattern(SourceLocation where = std::source_location::current()) const;

 private:
  std::shared_ptr<const detail::SparsePattern> pattern_;
  BlockExtents block_;
  AnyBuffer values_;
};

// y = A x, for vectors, or for matrices x (columns x n) and y (rows x n). y is overwritten and shares no elements with
// x. On a tape the gradients of x and of the values are sums in a fixed order.
void multiply(const SparseMatrix &a, const AnyBuffer &x, const AnyBuffer &y, const std::optional<Stream> &stream = {},
              SourceLocation where = std::source_location::current());
// y = transpose(A) x.
void multiply_transposed(const SparseMatrix &a, const AnyBuffer &x, const AnyBuffer &y,
                         const std::optional<Stream> &stream = {},
                         SourceLocation where = std::source_location::current());

// The gradient of a product with respect to the entries: gradient[k] += scale y[row of k] x[column of k], on A's
// pattern. `gradient` is like A's values, x and y as in multiply().
void add_outer_product(const SparseMatrix &a, double scale, const AnyBuffer &y, const AnyBuffer &x,
                       const AnyBuffer &gradient, const std::optional<Stream> &stream = {},
                       SourceLocation where = std::source_location::current());

// New matrices and arrays; on a tape their gradients go back to the values of `a`.
SparseMatrix transpose(const SparseMatrix &a, SourceLocation where = std::source_location::current());
// The numbers on the diagonal, 0 where there is no entry.
AnyBuffer diagonal(const SparseMatrix &a, SourceLocation where = std::source_location::current());
// A dense array, rows x columns.
AnyBuffer to_dense(const SparseMatrix &a, SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
