// The derivative rules, as one table.
//
// A rule gives the change of an operation's result when one of its operands changes, as a linear map, so that the same
// row pulls a cotangent back in reverse mode and pushes a tangent forward. Formulas: M. Abramowitz, I. Stegun, Handbook
// of Mathematical Functions (1964), 3.3, 4.3, 4.4, 4.5, 4.6, 6.3, 6.4, 7.1.
//
// Formulas neither overflow nor lose digits where the derivative itself does not: they avoid squares of operands of any
// size and differences of almost equal numbers. docs/functions.md lists the errors. Derivatives of 16-bit functions are
// computed in f32 and rounded once.
//
// At a kink the derivative is one of the one-sided ones or between them: abs has 0 at 0; min and max follow their first
// operand if both are equal; floor, ceil, round and trunc have 0 everywhere; hypot has 0 at (0, 0); pow has 0 with
// respect to the exponent at a base of 0.
#pragma once

#include "samite/passes/simplify/builder.h"

#include <vector>

namespace samite::autodiff {

// The type of gradients and tangents of values of the type. For 8-bit values it is f32, since 8 bits suit only the
// values.
inline ir::Type gradient_type(const ir::Type &type) { return is_float8(type) ? type.of(ScalarType::Float32) : type; }

// d(result) / d(operand) as a linear map on a value of the result's or the operand's type.
struct Partial {
  enum class Kind : std::uint8_t {
    Zero,  // does not depend on it
    One,   // passes it on (with a cast if the types differ)
    MinusOne,
    Scale,  // times `value`, then times `coefficient`, which can be merged with the next constant
    Twice,  // times 2, then times `value`: computes the common part of several squares once
    Gate,   // passes it on if the bool `value` holds; otherwise zero, without a multiplication by 0
  };
  Kind kind = Kind::Zero;
  ir::Value value = ir::Value::boolean(false);
  double coefficient = 1;
  // Whether `value` may be infinite or NaN for finite operands. A tangent of zero then stays zero, like a cotangent
  // that a gate stops.
  bool unbounded = false;
};

// The partials of `operation` with respect to each of its operands, in order. `result` is its value; `builder` emits
// the formulas. Memory operations and control flow have no rows: the adjoint handles them itself.
std::vector<Partial> partials(passes::Builder &builder, const ir::Operation &operation, ir::Value result);

// Whether `op` has a row. Every operation on floating values must have one.
bool has_rule(ir::Op op);

// The linear map applied to `x`, as a value of type `type`.
ir::Value apply(passes::Builder &builder, const Partial &partial, ir::Value x, ir::Type type);
// The same for a tangent: zero if `tangent` is zero and the derivative is not finite.
ir::Value apply_to_tangent(passes::Builder &builder, const Partial &partial, ir::Value tangent, ir::Type type);
// `product` of `tangent` and a derivative that may be infinite or NaN; zero if it is not finite and the tangent is
// zero.
ir::Value zero_of_zero_tangent(passes::Builder &builder, ir::Value tangent, ir::Value product);

}  // namespace samite::autodiff
