#include "samite/solve/sparse_pattern.h"

#include "samite/base/error.h"
#include "samite/runtime/host_operation.h"

#include <string>
#include <vector>

namespace samite::solvers::detail {
namespace {

using Numbers = std::vector<std::int32_t>;

Buffer<std::int32_t> on_device(Device device, const Numbers &numbers) {
  // Immediately, even if the thread records or captures: the pattern is determined when it is first needed.
  const PlainHostOperations now;
  return Buffer<std::int32_t>(device, {numbers.size()}, numbers);
}

std::size_t place(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

SparsePattern::SparsePattern(std::int64_t rows, std::int64_t columns, Buffer<std::int32_t> offsets,
                             Buffer<std::int32_t> indices, SourceLocation where)
    : rows_(rows), columns_(columns), offsets_(std::move(offsets)), indices_(std::move(indices)) {
  check(where);
}

void SparsePattern::check(SourceLocation where) const {
  const auto refuse = [&](const std::string &what) { throw UserError(where, "a sparse matrix: " + what); };
  constexpr std::int64_t most = 2147483647;
  if (rows_ < 0 || columns_ < 0 || rows_ > most || columns_ > most)
    refuse("0 to 2147483647 rows and columns are expected, " + std::to_string(rows_) + " x " +
           std::to_string(columns_) + " are given");
  if (!offsets_.valid() || !indices_.valid()) refuse("offsets and indices are expected, an empty buffer is given");
  if (offsets_.rank() != 1 || indices_.rank() != 1 || offsets_.count() != rows_ + 1)
    refuse("one offset for each of " + std::to_string(rows_) + " rows and one more are expected, and one index for " +
           "each entry; " + offsets_.to_string() + " and " + indices_.to_string() + " are given");
  const Numbers offsets = offsets_.to_vector(), indices = indices_.to_vector();
  if (offsets.front() != 0 || offsets.back() != indices_.count())
    refuse("offsets from 0 to the number of entries, " + std::to_string(indices_.count()) + ", are expected, they go " +
           "from " + std::to_string(offsets.front()) + " to " + std::to_string(offsets.back()));
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    if (offsets[row] > offsets[row + 1])
      refuse("offsets decrease after row " + std::to_string(row) + ", from " + std::to_string(offsets[row]) + " to " +
             std::to_string(offsets[row + 1]));
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    for (std::int32_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      const std::int32_t column = indices[place(k)];
      if (column < 0 || column >= columns_)
        refuse("row " + std::to_string(row) + " has an entry in column " + std::to_string(column) + ", outside of 0 " +
               "to " + std::to_string(columns_ - 1));
      if (k > offsets[row] && indices[place(k - 1)] >= column)
        refuse("columns of row " + std::to_string(row) + " do not increase: " + std::to_string(column) +
               " comes after " + std::to_string(indices[place(k - 1)]));
    }
}

const SparsePattern::ByColumn &SparsePattern::by_column() const {
  const std::lock_guard lock(mutex_);
  if (by_column_) return *by_column_;
  const Numbers offsets = offsets_.to_vector(), indices = indices_.to_vector();
  Numbers starts(static_cast<std::size_t>(columns_) + 1), rows(indices.size()), entries(indices.size());
  for (const std::int32_t column : indices) ++starts[place(column) + 1];
  for (std::size_t column = 1; column < starts.size(); ++column) starts[column] += starts[column - 1];
  Numbers next(starts.begin(), starts.end() - 1);
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    for (std::int32_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      const std::int32_t to = next[place(indices[place(k)])]++;
      rows[place(to)] = static_cast<std::int32_t>(row);
      entries[place(to)] = k;
    }
  const Device device = offsets_.device();
  by_column_ = {on_device(device, starts), on_device(device, rows), on_device(device, entries)};
  return *by_column_;
}

const Buffer<std::int32_t> &SparsePattern::entry_rows() const {
  const std::lock_guard lock(mutex_);
  if (entry_rows_) return *entry_rows_;
  const Numbers offsets = offsets_.to_vector();
  Numbers rows(static_cast<std::size_t>(entries()));
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    for (std::int32_t k = offsets[row]; k < offsets[row + 1]; ++k) rows[place(k)] = static_cast<std::int32_t>(row);
  entry_rows_ = on_device(offsets_.device(), rows);
  return *entry_rows_;
}

const Buffer<std::int32_t> &SparsePattern::diagonal() const {
  const std::lock_guard lock(mutex_);
  if (diagonal_) return *diagonal_;
  const Numbers offsets = offsets_.to_vector(), indices = indices_.to_vector();
  Numbers diagonal(static_cast<std::size_t>(rows_), -1);
  for (std::size_t row = 0; row < diagonal.size(); ++row)
    for (std::int32_t k = offsets[row]; k < offsets[row + 1]; ++k)
      if (place(indices[place(k)]) == row) diagonal[row] = k;
  diagonal_ = on_device(offsets_.device(), diagonal);
  return *diagonal_;
}

}  // namespace samite::solvers::detail
