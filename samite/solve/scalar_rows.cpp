#include "samite/solve/scalar_rows.h"

#include "samite/base/error.h"
#include "samite/solve/kernel_types.h"

#include <cmath>

namespace samite::solvers::detail {

ScalarRows::ScalarRows(const SparseMatrix &a) : offsets{0}, column_count_(a.columns()) {
  const std::vector<std::int32_t> block_offsets = a.offsets().to_vector(), indices = a.indices().to_vector();
  const auto block_rows = static_cast<std::size_t>(a.block().rows),
             block_columns = static_cast<std::size_t>(a.block().columns);
  with_floating_type(a.type(), "", {}, [&]<class T>(T) {
    const std::vector<T> numbers = Buffer<T>(a.values()).to_vector();
    for (std::size_t row = 0; row < static_cast<std::size_t>(a.rows()); ++row) {
      const std::size_t block = row / block_rows, i = row % block_rows;
      for (auto k = static_cast<std::size_t>(block_offsets[block]);
           k < static_cast<std::size_t>(block_offsets[block + 1]); ++k)
        for (std::size_t j = 0; j < block_columns; ++j) {
          columns.push_back(indices[k] * a.block().columns + static_cast<std::int32_t>(j));
          values.push_back(static_cast<double>(numbers[(k * block_rows + i) * block_columns + j]));
        }
      offsets.push_back(columns.size());
    }
  });
}

std::vector<double> ScalarRows::positive_diagonal(const std::string &who, SourceLocation where) const {
  const std::size_t rows = offsets.size() - 1;
  if (static_cast<std::int64_t>(rows) != column_count_)
    throw UserError(where, who + ": a square matrix is expected, " + std::to_string(rows) + " x " +
                               std::to_string(column_count_) + " is given");
  std::vector<double> diagonal(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = offsets[i]; k < offsets[i + 1]; ++k)
      if (static_cast<std::size_t>(columns[k]) == i) diagonal[i] = values[k];
    if (!(diagonal[i] > 0) || !std::isfinite(diagonal[i]))
      throw UserError(where, who + ": a positive definite matrix is expected; the number on the diagonal of row " +
                                 std::to_string(i) + " is " + std::to_string(diagonal[i]));
  }
  return diagonal;
}

}  // namespace samite::solvers::detail
