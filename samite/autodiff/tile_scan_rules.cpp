#include "samite/autodiff/tile_scan_rules.h"

namespace samite::autodiff {
namespace {

using namespace ir;

class ScanRules {
 public:
  ScanRules(passes::Builder &builder, const Operation &scan)
      : build_(builder),
        scan_(scan),
        type_(scan.type),
        dimension_(scan.attribute & scan_dimension),
        exclusive_(scan.attribute & scan_exclusive) {}

  Value gradient(const Value &result, const Value &seed, std::size_t i) const {
    const Value &x = scan_.operands[0];
    switch (scan_.op) {
      case Op::ScanAdd: return build_.operation({Op::ScanAdd, type_, {seed}, 0, scan_.attribute ^ scan_backwards});
      case Op::ScanMul: return build_(Op::Mul, {before(), back(x, seed)});
      case Op::ScanLinear: {
        const Value moved = back(x, seed);
        return i == 1 ? moved : build_(Op::Mul, {moved, shifted(result, 1)});
      }
      default: {
        const Value is_new = leads();
        const Value kept = build_.select(is_new, zero(), one());
        return build_.select(is_new, back(kept, seed), zero());
      }
    }
  }

  Value tangent(const Value &result, const std::vector<Value> &tangents) const {
    const Value &x = scan_.operands[0];
    switch (scan_.op) {
      case Op::ScanAdd: return build_.operation({Op::ScanAdd, type_, {tangents[0]}, 0, scan_.attribute});
      case Op::ScanMul: return within(recurrence(x, build_(Op::Mul, {tangents[0], before()}), false));
      case Op::ScanLinear: {
        const Value own = build_(Op::Add, {tangents[1], build_(Op::Mul, {tangents[0], shifted(result, 1)})});
        return recurrence(x, own, false);
      }
      default: {
        const Value is_new = leads();
        return within(
            recurrence(build_.select(is_new, zero(), one()), build_.select(is_new, tangents[0], zero()), false));
      }
    }
  }

 private:
  Value zero() const { return Value::zero(type_); }
  Value one() const { return Value::constant(type_, 1); }

  // Element i of the result is the element `distance` before it in scan order, or zero.
  Value shifted(const Value &x, int distance) const {
    Operation window{Op::Window, type_, {x}};
    for (int d = 0; d < type_.shape().rank(); ++d) {
      const int offset = d != dimension_ ? 0 : scan_.attribute & scan_backwards ? distance : -distance;
      window.operands.push_back(Value::constant(ScalarType::Int32, offset));
    }
    return build_.operation(std::move(window));
  }

  Value recurrence(const Value &a, const Value &b, bool against) const {
    const std::int32_t way = (scan_.attribute & scan_backwards) ^ (against ? scan_backwards : 0);
    return build_.operation({Op::ScanLinear, type_, {a, b}, 0, dimension_ | way});
  }

  // The sum of the cotangents of an element and of all after it, each scaled by the factors between.
  Value back(const Value &factor, const Value &seed) const {
    return recurrence(shifted(factor, -1), exclusive_ ? shifted(seed, -1) : seed, true);
  }

  // The tangent of this scan, from that of the inclusive scan.
  Value within(const Value &inclusive) const { return exclusive_ ? shifted(inclusive, 1) : inclusive; }

  // The scan of all elements before each element.
  Value before() const {
    return build_.operation({scan_.op, type_, {scan_.operands[0]}, 0, scan_.attribute | scan_exclusive});
  }

  // For each element: whether it is less (min) or greater (max) than all before it.
  Value leads() const {
    const Value &x = scan_.operands[0], all = before();
    const Op better = scan_.op == Op::ScanMin ? Op::Less : Op::Greater;
    const Value number = build_(Op::And, {build_(Op::NotEqual, {all, all}), build_(Op::Equal, {x, x})});
    const Type integers = type_.of(ScalarType::Int32);
    const std::int64_t first = scan_.attribute & scan_backwards ? type_.shape()[dimension_] - 1 : 0;
    const Value place = build_.operation({Op::Coordinate, integers, {}, 0, dimension_});
    const Value is_first = build_(Op::Equal, {place, Value::constant(integers, first)});
    return build_(Op::Or, {is_first, build_(Op::Or, {build_(better, {x, all}), number})});
  }

  passes::Builder &build_;
  const Operation &scan_;
  Type type_;
  int dimension_;
  bool exclusive_;
};

}  // namespace

Value scan_gradient(passes::Builder &builder, const Operation &scan, Value result, Value seed, std::size_t i) {
  return ScanRules(builder, scan).gradient(result, seed, i);
}

Value scan_tangent(passes::Builder &builder, const Operation &scan, Value result, const std::vector<Value> &tangents) {
  return ScanRules(builder, scan).tangent(result, tangents);
}

}  // namespace samite::autodiff
