#include "samite/base/error.h"
#include "samite/lang/array.h"
#include "samite/lang/trace.h"

namespace samite::lang {
namespace {

const ir::Value none = ir::Value::boolean(false);

bool is_zero(const ir::Value &value) { return value.is_constant() && value.as_int() == 0; }

// The two as values of one type: i32 if that holds both.
std::array<ir::Value, 2> of_one_type(ir::Value a, ir::Value b, SourceLocation where) {
  for (ir::Value *value : {&a, &b}) {
    const ir::Value narrow =
        value->is_constant() ? ir::Value::constant(ScalarType::Int32, value->as_int()) : ir::Value::boolean(false);
    if (value->is_constant() && narrow.as_int() == value->as_int()) *value = narrow;
  }
  if (a.type() != b.type())
    for (ir::Value *value : {&a, &b}) {
      if (value->is_constant())
        *value = ir::Value::constant(ScalarType::Int64, value->as_int());
      else if (value->type() != ScalarType::Int64)
        *value = record_cast(ScalarType::Int64, *value, where);
    }
  return {a, b};
}

// The sum or the difference.
ir::Value computed(ir::Op op, const ir::Value &a, const ir::Value &b, SourceLocation where) {
  const auto [x, y] = of_one_type(a, b, where);
  if (x.is_constant() && y.is_constant())
    return ir::Value::constant(x.type(), op == ir::Op::Add ? x.as_int() + y.as_int() : x.as_int() - y.as_int());
  return record(op, x.type().element(), {x, y}, where);
}

}  // namespace

ArrayView::ArrayView(std::uint32_t serial, std::uint32_t parameter, int rank)
    : serial_(serial),
      parameter_(parameter),
      rank_(rank),
      dimensions_{{{false, none, none}, {false, none, none}, {false, none, none}, {false, none, none}}} {}

void ArrayView::check(SourceLocation where) const {
  if (serial_ != Trace::current(where).serial())
    throw UserError(where, "an array of one kernel is used in another kernel; declare it as a parameter of this one");
}

std::size_t ArrayView::place(int dimension) const {
  std::size_t at = 0;
  for (;; ++at)
    if (!dimensions_[at].fixed && dimension-- == 0) return at;
}

Access ArrayView::access(std::initializer_list<Index> indices) const {
  const SourceLocation where = indices.begin()->where();
  AccessIndices given = index_values_now(indices);
  if (whole_) return {serial_, parameter_, given, static_cast<int>(indices.size()), where};
  AccessIndices all = no_indices();
  auto next = given.begin();
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank_); ++d) {
    const Dimension &dimension = dimensions_[d];
    if (dimension.fixed)
      all[d] = dimension.begin;
    else if (dimension.begin == none || is_zero(dimension.begin))
      all[d] = *next++;
    else
      all[d] = computed(ir::Op::Add, *next++, dimension.begin, where);
  }
  return {serial_, parameter_, all, rank_, where};
}

ir::Value ArrayView::extent(int dimension, int rank, SourceLocation where) const {
  check(where);
  if (dimension < 0 || dimension >= rank)
    throw UserError(where, "extent(" + std::to_string(dimension) + ") of an array of rank " + std::to_string(rank) +
                               "; dimensions are 0 to " + std::to_string(rank - 1));
  const std::size_t at = place(dimension);
  if (dimensions_[at].extent != none) return record(ir::Op::Copy, ScalarType::Int32, {dimensions_[at].extent}, where);
  return Trace::current(where).let({ir::Op::Extent, ScalarType::Int32, {}, parameter_, static_cast<std::int32_t>(at)},
                                   where);
}

ArrayView ArrayView::fixed(int dimension, const Index &index) const {
  check(index.where());
  ArrayView view = *this;
  Dimension &left_out = view.dimensions_[place(dimension)];
  const ir::Value now = index_values_now({index})[0];
  const ir::Value at = left_out.begin == none || is_zero(left_out.begin)
                           ? now
                           : computed(ir::Op::Add, now, left_out.begin, index.where());
  left_out = {true, at, none};
  view.whole_ = false;
  return view;
}

ArrayView ArrayView::slice(int dimension, int rank, const Index &begin, const Index &end) const {
  const SourceLocation where = begin.where();
  check(where);
  if (dimension < 0 || dimension >= rank)
    throw UserError(where, "slice(" + std::to_string(dimension) + ", …) of an array of rank " + std::to_string(rank) +
                               "; dimensions are 0 to " + std::to_string(rank - 1));
  ArrayView view = *this;
  Dimension &part = view.dimensions_[place(dimension)];
  const ir::Value first = index_values_now({begin})[0];
  ir::Value size = computed(ir::Op::Sub, end.value(), first, where);
  if (size.type() != ScalarType::Int32) size = record_cast(ScalarType::Int32, size, where);
  part.extent = size;
  part.begin = part.begin == none || is_zero(part.begin) ? first : computed(ir::Op::Add, first, part.begin, where);
  view.whole_ = false;
  return view;
}

std::uint32_t ArrayView::parameter(SourceLocation where) const {
  check(where);
  if (!whole_)
    throw UserError(where,
                    "a whole array is needed here, and a row or slice of one is given: give the parameter itself, and "
                    "the indices of the part");
  return parameter_;
}

}  // namespace samite::lang
