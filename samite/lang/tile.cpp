#include "samite/lang/tile.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"
#include "samite/lang/trace.h"

#include <algorithm>

namespace samite {
namespace lang {
namespace {

[[noreturn]] void refuse_extents(const ir::TileShape &a, const ir::TileShape &b, SourceLocation where) {
  throw UserError(where, "tiles of extents " + a.to_string() + " and " + b.to_string() +
                             " do not fit each other; extents must be equal, or 1 where they are to be repeated "
                             "(tile::reshape puts in a 1)");
}

Trace &tile_trace(SourceLocation where) {
  Trace &trace = Trace::current(where);
  if (!trace.tiles())
    throw UserError(
        where,
        "a tile in a Kernel, whose function is about one thread; tiles are for a TileKernel, whose function "
        "is about a block of threads");
  return trace;
}

}  // namespace

ir::TileShape shape_of_both(const ir::TileShape &a, const ir::TileShape &b, SourceLocation where) {
  if (a.rank() == 0) return b;
  if (b.rank() == 0) return a;
  if (a.rank() != b.rank()) refuse_extents(a, b, where);
  std::vector<std::int64_t> extents;
  for (int d = 0; d < a.rank(); ++d) {
    if (a[d] != b[d] && a[d] != 1 && b[d] != 1) refuse_extents(a, b, where);
    extents.push_back(std::max(a[d], b[d]));
  }
  return ir::TileShape(extents);
}

ir::Type tile_type(ScalarType element, TileExtents extents, SourceLocation where) {
  const bool positive = std::ranges::all_of(extents, [](std::int64_t extent) { return extent > 0; });
  std::string text;
  for (std::int64_t extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  if (extents.size() < 1 || extents.size() > ir::maximum_tile_rank || !positive)
    throw UserError(where, "a tile of extents {" + text + "}; a tile has one to four, each at least 1");
  std::int64_t count = 1;
  constexpr std::int64_t most = std::int64_t{1} << 28;
  for (std::int64_t extent : extents) count = extent > most / count ? most + 1 : count * extent;
  if (count > most)
    throw UserError(where, "a tile of extents " + text +
                               " has more than 2^28 elements; make it smaller, and go over "
                               "the array in a loop or by more blocks");
  return {element, ir::TileShape(std::vector<std::int64_t>(extents.begin(), extents.end()))};
}

ir::Value record_tile(ir::Operation operation, SourceLocation where) {
  const std::string error = ir::tile_type_error(operation);
  if (!error.empty()) throw UserError(where, std::string(ir::info(operation.op).name) + ": " + error);
  return tile_trace(where).let(std::move(operation), where);
}

ir::Value record_on_tiles(ir::Op op, ScalarType result, std::vector<ir::Value> operands, SourceLocation where) {
  ir::TileShape shape;
  for (const ir::Value &operand : operands) shape = shape_of_both(shape, operand.type().shape(), where);
  for (ir::Value &operand : operands) {
    const ir::Type whole(operand.type().element(), shape);
    if (operand.type() == whole) continue;
    operand = operand.is_constant() ? ir::Value::from_bits(whole, operand.bits())
                                    : record_tile({ir::Op::Broadcast, whole, {operand}}, where);
  }
  if (op == ir::Op::Cast && operands[0].type().element() == result) op = ir::Op::Copy;
  return record_tile({op, {result, shape}, std::move(operands)}, where);
}

namespace {

bool can_repeat(const ir::TileShape &from, const ir::TileShape &to) {
  if (from.rank() != to.rank()) return false;
  for (int d = 0; d < from.rank(); ++d)
    if (from[d] != 1 && from[d] != to[d]) return false;
  return true;
}

// As a program would call it: tile::broadcast<float>(…, {8, 8}).
std::string broadcast_text(const ir::Type &type) {
  std::string extents;
  for (const std::int64_t extent : type.shape()) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return "tile::broadcast<" + std::string(cpp_name(type.element())) + ">(…, {" + extents + "})";
}

}  // namespace

void assign_tile(LocalHandle &target, const ir::Type &type, ir::Value value, SourceLocation where) {
  if (!value.type().is_tile())
    value = value.is_constant() ? ir::Value::from_bits(type, value.bits())
                                : record_tile({ir::Op::Broadcast, type, {value}}, where);
  if (value.type() != type)
    throw UserError(where, "a tile of extents " + value.type().shape().to_string() + " is assigned to one of extents " +
                               type.shape().to_string() + ", which a tile keeps; " +
                               (can_repeat(value.type().shape(), type.shape()) ? "repeat it by " + broadcast_text(type)
                                                                               : "declare another one"));
  target.assign(type, value, where);
}

int tile_dimension(int dimension, const ir::Type &type, SourceLocation where) {
  const int rank = type.shape().rank();
  if (dimension < -rank || dimension >= rank)
    throw UserError(where, "an operation along dimension " + std::to_string(dimension) + " of a tile of extents " +
                               type.shape().to_string() + "; dimensions are 0 to " + std::to_string(rank - 1) +
                               ", or from the last one backwards -1 to " + std::to_string(-rank));
  return dimension < 0 ? dimension + rank : dimension;
}

ir::Value element_of_tile(const ir::Value &tile, std::initializer_list<Index> at, SourceLocation where) {
  const ir::Type type = tile.type();
  if (static_cast<int>(at.size()) != type.shape().rank())
    throw UserError(where, "an element at " + std::to_string(at.size()) + " indices of a tile of extents " +
                               type.shape().to_string() + "; there is an index for each dimension");
  const std::vector<std::int64_t> ones(at.size(), 1);
  const ir::Type one(type.element(), ir::TileShape(ones));
  ir::Operation window{ir::Op::Window, one, {tile}};
  for (const Index &index : at) window.operands.push_back(index.value());
  ir::Value found = record_tile(std::move(window), where);
  const bool truth = type.element() == ScalarType::Bool;
  const ScalarType added = truth ? ScalarType::Int32 : type.element();
  if (truth) found = record_tile({ir::Op::Cast, one.of(added), {found}}, where);
  const ir::Value number = record_tile({ir::Op::ReduceAdd, added, {found}}, where);
  return truth ? record(ir::Op::NotEqual, ScalarType::Bool, {number, ir::Value::zero(added)}, where) : number;
}

Int record_block_index(int dimension, int rank, SourceLocation where) {
  Trace &trace = Trace::current(where);
  if (!trace.tiles())
    throw UserError(where,
                    "block_index in a Kernel, whose function is about one thread: use thread_index, or make it "
                    "a TileKernel");
  trace.require_launch_rank(rank, where);
  return Int::adopt(trace.let({ir::Op::ThreadIndex, ScalarType::Int32, {}, 0, dimension}, where));
}

}  // namespace lang

Int block_index(SourceLocation where) { return lang::record_block_index(0, 1, where); }

}  // namespace samite
