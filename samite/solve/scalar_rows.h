// A sparse matrix's numbers on the host, by compressed rows of numbers, whatever its blocks.
#pragma once

#include "samite/solve/sparse_matrix.h"

#include <cstdint>
#include <string>
#include <vector>

namespace samite::solvers::detail {

struct ScalarRows {
  std::vector<std::size_t> offsets;
  std::vector<std::int32_t> columns;  // in increasing order within a row
  std::vector<double> values;

  explicit ScalarRows(const SparseMatrix &a);

  // UserError "<who>: …" if the matrix is rectangular, or a number on its diagonal is missing or not positive.
  std::vector<double> positive_diagonal(const std::string &who, SourceLocation where) const;

 private:
  std::int64_t column_count_;
};

}  // namespace samite::solvers::detail
