// Type rules of the operations on tiles.
#pragma once

#include "samite/ir/stmt.h"

#include <string>

namespace samite::ir {

// The error in the types or the attribute of an operation on tiles, as "operand 1 has extents 8x4, expected …"; empty
// if there is none. Covers element-wise operations whose operands are tiles.
std::string tile_type_error(const Operation &operation);

// The same for an access to an array of this rank: its indices and the loaded or stored value.
std::string tile_access_error(const std::vector<Value> &indices, int rank, const Type &value);

// Whether the indices name an element for each of the tile's, rather than only its first one.
bool is_gather(std::span<const Value> indices);

// Whether the lowered form computes the operation by a call from memory to memory.
bool is_tile_call(Op op);

// Whether repeating dimensions of extent 1 turns `from` into `to`. A scalar broadcasts to anything.
bool broadcasts(const Type &from, const Type &to);

// The required shape of a product's second factor, given the first: rows, columns, inner extent and batch.
struct MatMulExtents {
  std::int64_t rows, columns, inner, batch;
};
MatMulExtents matmul_extents(const Type &a, const Type &result, std::int32_t attribute);

// The number of elements before, along and after the dimension of a scan.
struct ScanExtents {
  std::int64_t outer, extent, inner;
};
ScanExtents scan_extents(const Type &type, int dimension);

// Whether a `SortOrder` counts the keys of each value, instead of comparing them.
bool sorts_by_counting(const Operation &order);
// The memory for its counters, where the threads of a block sort together: for each warp, and for all.
Type sort_counters(const Operation &order, int threads);

}  // namespace samite::ir
