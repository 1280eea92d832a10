#include "samite/passes/analysis/loop_iterations.h"

#include <cstdlib>

namespace samite::passes {

using namespace ir;

namespace {

Value wide(Builder &build, const Value &value) { return build.cast(ScalarType::Int64, value); }
Value wide(std::int64_t value) { return Value::constant(ScalarType::Int64, value); }

}  // namespace

Value count_iterations(const For &loop, Builder &build) {
  const std::int64_t step = loop.step.as_int(), size = std::abs(step);
  const Value &first = step > 0 ? loop.begin : loop.end, &last = step > 0 ? loop.end : loop.begin;
  const Value distance = build(Op::Sub, {wide(build, last), wide(build, first)});
  const Value whole = build(Op::Div, {build(Op::Add, {distance, wide(size - 1)}), wide(size)});
  return build.cast(ScalarType::Int32, build(Op::Max, {whole, wide(0)}));
}

Operation index_in(const For &loop, const Value &iteration, Builder &build) {
  const Value step = build(Op::Mul, {wide(build, iteration), wide(loop.step.as_int())});
  return {Op::Cast, loop.type, {build(Op::Add, {wide(build, loop.begin), step})}};
}

void CopiesForIndex::copy(const Let &let) {
  Operation operation = let.value;
  for (Value &operand : operation.operands) operand = (*this)(operand);
  values_.insert_or_assign(let.local, build_.operation(std::move(operation)));
}

Value CopiesForIndex::operator()(const Value &value) const {
  const auto known = value.is_local() ? values_.find(value.id()) : values_.end();
  return known == values_.end() ? value : known->second;
}

std::vector<Value> CopiesForIndex::operator()(std::vector<Value> values) const {
  for (Value &value : values) value = (*this)(value);
  return values;
}

}  // namespace samite::passes
