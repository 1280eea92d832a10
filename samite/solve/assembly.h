// Sparse matrices from triplets: numbers, or blocks, with their rows and columns.
//
//   Assembly assembly(rows, columns, row_indices, column_indices);
//   SparseMatrix a = assembly.assemble(values);          // values at the same place are added up
//   assembly.assemble(other_values, a);                  // again, into the same matrix
//
// The triplets are sorted once, by row and column, and the entry of each is stored. Assembling is then a gather: each
// entry adds up its triplets in their order, without atomics, with the same bits on every run. On a tape the gradient
// of the matrix's values goes back to the triplets' values.
//
// Copies share the sorted order. Thread-safe. Errors are UserErrors.
#pragma once

#include "samite/solve/sparse_matrix.h"

namespace samite::solvers {

class Assembly {
 public:
  // `rows` and `columns` of numbers; indices of blocks. UserError for indices outside of the matrix, for arrays that do
  // not fit, and for more than 2147483647 triplets.
  Assembly(std::int64_t rows, std::int64_t columns, const Buffer<std::int32_t> &row_indices,
           const Buffer<std::int32_t> &column_indices, BlockExtents block = {},
           SourceLocation where = std::source_location::current());

  // One value for each triplet, of f32 or f64: a vector, or (triplets, block rows, block columns).
  SparseMatrix assemble(const AnyBuffer &values, SourceLocation where = std::source_location::current()) const;
  void assemble(const AnyBuffer &values, const SparseMatrix &into,
                SourceLocation where = std::source_location::current()) const;

  std::int64_t triplets() const { return order_.count(); }
  std::int64_t entries() const { return indices_.count(); }

 private:
  void check(const AnyBuffer &values, SourceLocation where) const;

  std::int64_t rows_, columns_;
  BlockExtents block_;
  Buffer<std::int32_t> order_, offsets_, indices_;  // triplets by entry; the pattern
  Buffer<std::int64_t> starts_;                     // first triplet of each entry in order_
};

}  // namespace samite::solvers
