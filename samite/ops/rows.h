// Common code of operations on the rows of a matrix: tiling, types and checks.
//
// A block loads a row as one tile, or several short rows, and keeps it, on CUDA in registers. Longer rows are processed
// in parts.
#pragma once

#include "samite/jit/tile_kernel.h"
#include "samite/ops/as_type.h"
#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <string>

namespace samite::ops::detail {

struct RowPlan {
  int rows = 0, columns = 0, threads = 0;  // of a block's tile, and of the block
  bool in_parts = false;                   // the tile is a part of a row

  friend auto operator<=>(const RowPlan &, const RowPlan &) = default;
};

// A pure function. The CPU keeps rows in memory; up to `longest_on_cpu` elements that is faster than reading the row
// again. `numbers`: elements of a row in each of CUDA's threads, as long as there are at least 128 threads.
RowPlan row_plan(std::int64_t columns, const PlanDevice &device, std::int64_t longest_on_cpu, int numbers);
// With more, fewer warps wait for each other: layer norm of 4,096 numbers in a row takes 1.4 times as long with 8 in
// each thread as with 32, on an H100. That needs registers for one or two tiles.
constexpr int few_numbers = 8;
inline int many_numbers(ScalarType type) { return size_of(type) == 8 ? few_numbers : 32; }
Extents row_blocks(std::int64_t rows, const RowPlan &plan);

// x and y are matrices of the same extents and type, which is one of SAMITE_ROW_TYPES, on one device; otherwise
// UserError.
void check_rows(const std::string &name, const AnyBuffer &x, const AnyBuffer &y, SourceLocation where);
[[noreturn]] void refuse_row_type(const std::string &name, ScalarType type, SourceLocation where);
// `numbers` has one number for each column of x, of row_number_type(x.type()), on x's device; otherwise UserError with
// `what` it is.
void check_columns_of(const std::string &name, const AnyBuffer &x, const AnyBuffer &numbers, const char *what,
                      SourceLocation where);

// X(T) for each element type of these operations.
#define SAMITE_ROW_TYPES(X) X(half) X(bfloat16) X(float) X(double)

// The type that they compute in.
template <Scalar T>
using RowNumber = lang::Accumulator<T>;
inline ScalarType row_number_type(ScalarType type) { return type == ScalarType::Float64 ? type : ScalarType::Float32; }

// Part (i, k) of x, and the mask of its elements inside their rows.
template <Scalar T>
Tile<RowNumber<T>> load_rows(const Array<const T, 2> &x, const Int &i, const Int &k, const RowPlan &plan) {
  return as_type<RowNumber<T>>(tile::load(x, {i, k}, {plan.rows, plan.columns}));
}
inline Tile<bool> inside_rows(const Int &columns, const Int &k, const RowPlan &plan) {
  return tile::coordinate({1, plan.columns}, 1) + k * plan.columns < columns;
}
template <Scalar T>
void store_rows(const Array<T, 2> &y, const Int &i, const Int &k, const Tile<RowNumber<T>> &part) {
  tile::store(y, {i, k}, as_type<T>(part));
}
// The same, or the sum of this and what is there.
template <Scalar T>
void put_rows(const Array<T, 2> &y, const Int &i, const Int &k, const Tile<RowNumber<T>> &part, const RowPlan &plan,
              bool adds) {
  store_rows<T>(y, i, k, adds ? part + as_type<RowNumber<T>>(tile::load(y, {i, k}, {plan.rows, plan.columns})) : part);
}

}  // namespace samite::ops::detail
