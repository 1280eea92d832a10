#include "samite/solve/assembly.h"

#include "samite/jit/kernel.h"
#include "samite/jit/tape_function.h"
#include "samite/lang/control.h"
#include "samite/solve/groups.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/scan.h"
#include "samite/solve/sort.h"

#include <algorithm>
#include <bit>

namespace samite::solvers {
namespace {

using Indices = Array<const std::int32_t, 1>;

const auto &place_keys() {
  static const Kernel kernel{"place_keys",
                             {"keys", "rows", "columns", "width"},
                             [](Array<std::int64_t, 1> keys, Indices rows, Indices columns, const Int64 &width) {
                               const Int i = thread_index();
                               keys(i) = rows(i) * width + columns(i);
                             }};
  return kernel;
}

const auto &columns_of_keys() {
  static const Kernel kernel{"columns_of_keys",
                             {"columns", "keys", "width"},
                             [](Array<std::int32_t, 1> columns, Array<const std::int64_t, 1> keys, const Int64 &width) {
                               const Int i = thread_index();
                               columns(i) = cast<Int>(keys(i) % width);
                             }};
  return kernel;
}

// The first entry at or after the beginning of each row.
const auto &offsets_of_rows() {
  static const Kernel kernel{"offsets_of_rows",
                             {"offsets", "keys", "width"},
                             [](Array<std::int32_t, 1> offsets, Array<const std::int64_t, 1> keys, Int64 width) {
                               const Int row = thread_index();
                               Int low = 0, high = keys.extent(0);
                               while_(
                                   [&] { return low < high; },
                                   [&] {
                                     const Int middle = low + (high - low) / 2;
                                     if_(keys(middle) < row * width, [&] { low = middle + 1; }, [&] { high = middle; });
                                   });
                               offsets(row) = low;
                             }};
  return kernel;
}

template <class T>
const auto &assembling() {
  static const Kernel kernel{
      "assemble",
      {"entries", "values", "order", "starts"},
      [](Array<T, 3> entries, Array<const T, 3> values, Indices order, Array<const std::int64_t, 1> starts) {
        auto [entry, i, j] = thread_index<3>();
        Traced<T> sum = 0;
        for (Int64 k : range(starts(entry), starts(entry + 1))) sum += values(order(k), i, j);
        entries(entry, i, j) = sum;
      }};
  return kernel;
}

AnyBuffer in_three_dimensions(const AnyBuffer &values) {
  return values.rank() == 1 ? values.reshape({values.count(), 1, 1}) : values;
}

void check_indices(const Buffer<std::int32_t> &indices, std::int64_t extent, const char *what, SourceLocation where) {
  if (indices.count() == 0) return;
  const Buffer<std::int32_t> least(indices.device(), {1}), largest(indices.device(), {1});
  reduce(indices, least, Combine::min, where);
  reduce(indices, largest, Combine::max, where);
  if (least.at(0) >= 0 && largest.at(0) < extent) return;
  throw UserError(where, std::string("an assembly of triplets: ") + what + " of 0 to " + std::to_string(extent - 1) +
                             " are expected, they go from " + std::to_string(least.at(0)) + " to " +
                             std::to_string(largest.at(0)));
}

}  // namespace

Assembly::Assembly(std::int64_t rows, std::int64_t columns, const Buffer<std::int32_t> &row_indices,
                   const Buffer<std::int32_t> &column_indices, BlockExtents block, SourceLocation where)
    : rows_(rows), columns_(columns), block_(block) {
  const auto refuse = [&](const std::string &what) { throw UserError(where, "an assembly of triplets: " + what); };
  if (block.rows < 1 || block.columns < 1 || rows < 0 || columns < 0 || rows % block.rows != 0 ||
      columns % block.columns != 0 || rows > 2147483647 || columns > 2147483647)
    refuse("0 to 2147483647 rows and columns, in whole blocks, are expected; " + std::to_string(rows) + " x " +
           std::to_string(columns) + " in blocks of " + std::to_string(block.rows) + " x " +
           std::to_string(block.columns) + " are given");
  if (!row_indices.valid()) refuse("the row indices are an empty buffer");
  const Device device = row_indices.device();
  const std::int64_t count = row_indices.count(), width = columns / block.columns, height = rows / block.rows;
  detail::expect_vector(row_indices, -1, device, "an assembly of triplets: the array of row indices", where);
  detail::expect_vector(column_indices, count, device, "an assembly of triplets: the array of column indices", where);
  if (count > 2147483647) refuse("at most 2147483647 triplets are expected, " + std::to_string(count) + " are given");
  without_gradients([&] {
    check_indices(row_indices, height, "row indices", where);
    check_indices(column_indices, width, "column indices", where);
    const Buffer<std::int64_t> keys(device, {count}), sorted(device, {count});
    place_keys().launch({count}, keys, row_indices, column_indices, width);
    order_ = Buffer<std::int32_t>(device, {count});
    const auto places = static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width);
    argsort(keys, order_, {.bits = std::max(1, static_cast<int>(std::bit_width(places)))}, where);
    gather(keys, order_, sorted, where);
    const Runs runs = runs_of(sorted, where);
    starts_ = runs.starts;
    const Buffer<std::int64_t> places_of_entries(device, {runs.count});
    gather(sorted, starts_.slice(0, 0, runs.count), places_of_entries, where);
    indices_ = Buffer<std::int32_t>(device, {runs.count});
    offsets_ = Buffer<std::int32_t>(device, {height + 1});
    columns_of_keys().launch({runs.count}, indices_, places_of_entries, width);
    offsets_of_rows().launch({height + 1}, offsets_, places_of_entries, width);
  });
}

void Assembly::check(const AnyBuffer &values, SourceLocation where) const {
  const Extents blocks{triplets(), block_.rows, block_.columns};
  const bool fits =
      values.valid() && values.device() == order_.device() &&
      (values.extents() == blocks || (block_ == BlockExtents{} && values.extents() == Extents{triplets()}));
  if (!fits)
    throw UserError(where, "an assembly of triplets: values " +
                               (block_ == BlockExtents{} ? Extents{triplets()} : blocks).to_string() + " on " +
                               order_.device().to_string() + " are expected, " +
                               (values.valid() ? values.to_string() : std::string("an empty buffer")) + " is given");
}

SparseMatrix Assembly::assemble(const AnyBuffer &values, SourceLocation where) const {
  check(values, where);
  const Extents extents = values.rank() == 1 ? Extents{entries()} : Extents{entries(), block_.rows, block_.columns};
  const AnyBuffer sums(values.device(), values.type(), extents,
                       values.tracks_gradient() ? Gradient::tracked : Gradient::untracked, where);
  const SparseMatrix matrix(rows_, columns_, offsets_, indices_, sums, where);
  assemble(values, matrix, where);
  return matrix;
}

void Assembly::assemble(const AnyBuffer &values, const SparseMatrix &into, SourceLocation where) const {
  check(values, where);
  into.pattern(where);
  if (into.block() != block_ || into.rows() != rows_ || into.columns() != columns_ || into.entries() != entries() ||
      into.type() != values.type() || into.device() != values.device())
    throw UserError(where, "an assembly of triplets: a matrix that this assembly has made is expected, " +
                               into.to_string() + " is given");
  detail::with_floating_type(values.type(), "values of a sparse matrix", where, [&]<class T>(T) {
    const AnyBuffer entries = in_three_dimensions(into.values());
    assembling<T>().launch(LaunchExtents(entries.extents(), where), Buffer<T>(entries),
                           Buffer<T>(in_three_dimensions(values)), order_, starts_);
  });
}

}  // namespace samite::solvers
