// The places of a sparse matrix's entries, and the same by columns, which is computed on first use.
#pragma once

#include "samite/runtime/buffer.h"

#include <cstdint>
#include <mutex>
#include <optional>

namespace samite::solvers::detail {

class SparsePattern {
 public:
  // For `rows` x `columns` blocks. UserError as for a SparseMatrix.
  SparsePattern(std::int64_t rows, std::int64_t columns, Buffer<std::int32_t> offsets, Buffer<std::int32_t> indices,
                SourceLocation where);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t entries() const { return indices_.count(); }
  const Buffer<std::int32_t> &offsets() const { return offsets_; }
  const Buffer<std::int32_t> &indices() const { return indices_; }

  // For each column, in the order of the rows: the numbers of its entries, and their rows.
  struct ByColumn {
    Buffer<std::int32_t> offsets, rows, entries;
  };
  const ByColumn &by_column() const;
  // The row of each entry.
  const Buffer<std::int32_t> &entry_rows() const;
  // The entry on the diagonal of each row, -1 if there is none.
  const Buffer<std::int32_t> &diagonal() const;

 private:
  void check(SourceLocation where) const;

  std::int64_t rows_, columns_;
  Buffer<std::int32_t> offsets_, indices_;
  mutable std::mutex mutex_;  // protects the following
  mutable std::optional<ByColumn> by_column_;
  mutable std::optional<Buffer<std::int32_t>> entry_rows_, diagonal_;
};

}  // namespace samite::solvers::detail
