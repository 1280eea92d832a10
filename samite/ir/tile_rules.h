// What types the operations on tiles take.
#pragma once

#include "samite/ir/stmt.h"

#include <string>

namespace samite::ir {

// What is wrong with the types and the attribute of an operation on tiles, as "operand 1 has extents 8x4, expected …";
// empty where nothing is. Also of operations on elements whose operands are tiles.
std::string tile_type_error(const Operation &operation);

// The same of an access to an array of this rank: indices and what is loaded or stored.
std::string tile_access_error(const std::vector<Value> &indices, int rank, const Type &value);

// Whether the accesses name an element for each of the tile's, rather than the first of them all.
bool is_gather(std::span<const Value> indices);

// Whether `from` becomes `to` when some of its dimensions of extent 1 are repeated. A scalar becomes anything.
bool broadcasts(const Type &from, const Type &to);

// What the second operand of a product must be for the first: rows, columns, inner extent and how many products.
struct MatMulExtents {
  std::int64_t rows, columns, inner, batch;
};
MatMulExtents matmul_extents(const Type &a, const Type &result, std::int32_t attribute);

// What lies before, along and after the dimension of a scan.
struct ScanExtents {
  std::int64_t outer, extent, inner;
};
ScanExtents scan_extents(const Type &type, int dimension);

}  // namespace samite::ir
