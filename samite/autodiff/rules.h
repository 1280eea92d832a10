// The derivative rules, as one table.
//
// A rule says how the result of an operation moves when one of its operands moves: as a linear map, so that the reverse
// mode can pull a cotangent back through it and the forward mode push a tangent through the same row. Formulas:
// M. Abramowitz, I. Stegun, Handbook of Mathematical Functions (1964), 3.3, 4.3, 4.4, 4.5, 4.6, 6.3, 6.4, 7.1.
//
// A formula is written so that it neither overflows nor loses digits where the derivative itself does not: no square of
// an operand of any size, no difference of numbers that are almost equal. docs/functions.md has the errors. Derivatives
// of functions of 16-bit numbers are computed in f32 and rounded once.
//
// At a kink the derivative is one of the one-sided ones or between them: abs has 0 at 0; min and max follow their first
// operand where both are equal; floor, ceil, round and trunc have 0 everywhere; hypot has 0 at (0, 0); pow has 0 with
// respect to the exponent at a base of 0.
#pragma once

#include "samite/passes/builder.h"

#include <vector>

namespace samite::autodiff {

// The type of gradients and tangents of values of the type: that of 8-bit values is f32, since the 8 bits were chosen
// for the values.
inline ir::Type gradient_type(const ir::Type &type) { return is_float8(type) ? type.of(ScalarType::Float32) : type; }

// d(result) / d(operand) as a linear map on a value of the result's or the operand's type.
struct Partial {
  enum class Kind : std::uint8_t {
    Zero,  // does not depend on it
    One,   // passes it on (a cast where the types differ)
    MinusOne,
    Scale,  // times `value`, then times `coefficient`, which can be merged with the next constant
    Twice,  // times 2, then times `value`: what several squares have in common is then computed once
    Gate,   // passes it on where the bool `value` holds; elsewhere zero, without a multiplication by 0
  };
  Kind kind = Kind::Zero;
  ir::Value value = ir::Value::boolean(false);
  double coefficient = 1;
  // Whether `value` may be infinite or NaN where the operands are finite. A tangent of zero stays zero there, as a
  // cotangent does that a gate stops on its way back.
  bool unbounded = false;
};

// The partials of `operation` with respect to each of its operands, in order. `result` is its value; the builder writes
// what the formulas need. Operations on memory and control flow are not here: the adjoint knows them itself.
std::vector<Partial> partials(passes::Builder &builder, const ir::Operation &operation, ir::Value result);

// Whether `op` has a row. The verifier of the table: every operation on floating values has one.
bool has_rule(ir::Op op);

// The linear map applied to `x`, as a value of type `type`.
ir::Value apply(passes::Builder &builder, const Partial &partial, ir::Value x, ir::Type type);
// The same for a tangent: zero where `tangent` is zero and the derivative is not finite.
ir::Value apply_to_tangent(passes::Builder &builder, const Partial &partial, ir::Value tangent, ir::Type type);
// `product`, of `tangent` and a derivative that may be infinite or NaN; zero where that is and the tangent is zero.
ir::Value zero_of_zero_tangent(passes::Builder &builder, ir::Value tangent, ir::Value product);

}  // namespace samite::autodiff
