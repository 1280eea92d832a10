#include "samite/passes/accesses.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <cstdlib>

namespace samite::passes {

using namespace ir;

namespace {

Shift moved(Shift shift, const Value &by, std::int64_t sign) {
  if (shift.offset && by.is_constant())
    *shift.offset += sign * by.as_int();
  else
    shift.offset.reset();
  return shift;
}

Shift scaled(Shift shift, const Value &by) {
  if (!by.is_constant() || by.as_int() <= 0) return {};
  shift.scale *= by.as_int();
  if (shift.offset) *shift.offset *= by.as_int();
  return shift;
}

// Of a tile, or of an element, along a dimension of an array with so many of them.
std::int64_t extent_along(const Type &element, std::size_t dimension, std::size_t rank) {
  const TileShape shape = element.shape();
  const auto from_last = static_cast<int>(rank - dimension);
  return from_last <= shape.rank() ? shape[shape.rank() - from_last] : 1;
}

}  // namespace

ShiftAnalysis::ShiftAnalysis(const Kernel &kernel, const For *loop)
    : shifts_(kernel.local_count), tiles_(is_tile_kernel(kernel)) {
  if (loop) shifts_[loop->index] = {Shift::Kind::Thread, kernel.launch_rank, 0};
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (auto *let = stmt.as<Let>()) shifts_[let->local] = shift(let->value);
  });
}

Shift ShiftAnalysis::shift(const Operation &operation) const {
  if (operation.op == Op::ThreadIndex) return {Shift::Kind::Thread, operation.attribute, 0};
  if (operation.op == Op::Extent) return {Shift::Kind::Invariant};
  if (!info(operation.op).pure || operation.operands.empty()) return {};
  bool invariant = std::all_of(operation.operands.begin(), operation.operands.end(),
                               [&](const Value &operand) { return (*this)(operand).kind == Shift::Kind::Invariant; });
  if (invariant) return {Shift::Kind::Invariant};
  // Where a tile begins does not wrap round: it would be outside of its array.
  if (operation.op == Op::Mul && tiles_ && is_integer(operation.type) && !operation.type.is_tile()) {
    const Value &x = operation.operands[0], &y = operation.operands[1];
    if ((*this)(x).kind == Shift::Kind::Thread) return scaled((*this)(x), y);
    if ((*this)(y).kind == Shift::Kind::Thread) return scaled((*this)(y), x);
  }
  bool is_sum = operation.op == Op::Add || operation.op == Op::Sub || operation.op == Op::Cast;
  // Integers wrap, and different ones stay different; floating numbers are rounded, and may become one.
  if (!is_sum || !is_integer(operation.type) || !is_integer(operation.operands[0].type())) return {};
  // Only widening casts keep different indices different.
  if (operation.op == Op::Cast)
    return size_of(operation.type) >= size_of(operation.operands[0].type()) ? (*this)(operation.operands[0]) : Shift{};
  Shift a = (*this)(operation.operands[0]), b = (*this)(operation.operands[1]);
  if (a.kind == Shift::Kind::Thread && b.kind == Shift::Kind::Invariant)
    return moved(a, operation.operands[1], operation.op == Op::Add ? 1 : -1);
  if (operation.op == Op::Add && a.kind == Shift::Kind::Invariant && b.kind == Shift::Kind::Thread)
    return moved(b, operation.operands[0], 1);
  if (operation.op == Op::Sub && a.kind == Shift::Kind::Invariant && b.kind == Shift::Kind::Thread) {
    b.scale = -b.scale;
    if (b.offset) b.offset = -*b.offset;
    return moved(b, operation.operands[0], 1);
  }
  return {};
}

void Accesses::add(const std::vector<Value> &indices, const Type &element, const ShiftAnalysis &shift) {
  const bool gather = is_gather(indices);
  const bool first = places_.empty();
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (first) places_.push_back({indices[d], shift(indices[d]), true});
    const std::int64_t extent = gather ? 1 : extent_along(element, d, indices.size());
    places_[d].extent = std::max(places_[d].extent, extent);
    // Two elements of one tile may meet.
    if (gather) places_[d].shift.kind = Shift::Kind::Unknown;
  }
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (same(places_[d], {indices[d], shift(indices[d]), true})) continue;
    places_[d].shift.kind = Shift::Kind::Unknown;
    places_[d].fixed = false;
  }
}

bool Accesses::one_to_one(int launch_rank) const {
  for (int dimension = 0; dimension < launch_rank; ++dimension)
    if (std::none_of(places_.begin(), places_.end(), [&](const Place &place) {
          return place.shift.kind == Shift::Kind::Thread && place.shift.dimension == dimension &&
                 std::abs(place.shift.scale) >= place.extent;
        }))
      return false;
  return true;
}

bool Accesses::same(const Place &a, const Place &b) {
  if (a.index == b.index) return true;
  return a.shift.kind == Shift::Kind::Thread && b.shift.kind == Shift::Kind::Thread &&
         a.shift.dimension == b.shift.dimension && a.shift.offset && a.shift.offset == b.shift.offset &&
         a.shift.scale == b.shift.scale;
}

}  // namespace samite::passes
