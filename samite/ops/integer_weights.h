// Products of floating-point factors with weights of 8 or 4 bits: layers of language models, which are bound by the
// memory traffic of their weights.
//
//   ops::quantise_weights(w, weights, scales);              // once
//   ops::integer_weight_matmul(a, weights, scales, c);      // c = a wᵀ
//
// Weights are int8 (columns, inner), or 4 bits, two to a byte: uint8 (columns, inner / 2) with the earlier number in
// the lower four bits. An 8-bit number q means q, a 4-bit number q means q - 8, from -8 to 7; with `zeros`, either
// means q minus its zero, with 4-bit q from 0 to 15. The result is multiplied by a scale: `scales` and `zeros` are
// (columns, groups), one for each group; groups divide the inner dimension equally.
//
// Weights are unpacked in the product's loop. Integers are exact in every type of a, and the sums of a group are scaled
// in float, so that weights are not rounded; a weight minus a non-integer zero is rounded to a's type.
#pragma once

#include "samite/ops/matmul_by_type.h"
#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

struct IntegerWeightOptions {
  AnyBuffer zeros = {};  // like the scales
  AnyBuffer bias = {};   // a number for each column, of c's type
  Activation activation = Activation::none;
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
};

// a (rows, inner) and c (rows, columns) are of half, bfloat16, float or double; scales and zeros of float, or of double
// if a is. c = activation(a wᵀ + bias). The size of a group is a multiple of 16, unless there is only one group. On a
// tape the gradients of a, of the scales and of the bias come from the derived adjoint. UserError if shapes or types do
// not match, DeviceError as for a launch.
void integer_weight_matmul(const AnyBuffer &a, const AnyBuffer &weights, const AnyBuffer &scales, const AnyBuffer &c,
                           const IntegerWeightOptions &options = {},
                           SourceLocation where = std::source_location::current());

// Writes weights, and scales such that the largest magnitude of a group is 127, or 7 in 4 bits; numbers are rounded to
// the nearest. The scale of a group of zeros is 1. w is (columns, inner) of half, bfloat16, float or double.
void quantise_weights(const AnyBuffer &w, const AnyBuffer &weights, const AnyBuffer &scales,
                      const std::optional<Stream> &stream = {}, SourceLocation where = std::source_location::current());

// The launches planned for that device: product (a, weights, scales, zeros, bias, c), where zeros and bias are any
// arrays of their types and ranks if they are not used, and quantisation (w, weights, scales).
struct IntegerWeightKind {
  ScalarType type;  // of a
  int bits = 8;     // of the weights: 8 or 4
  bool zeros = false, bias = false;
  Activation activation = Activation::none;
};
struct IntegerWeightShape {
  std::int64_t rows, columns, inner, groups = 1;
};
struct IntegerWeightLaunches {
  PlannedLaunch product, quantisation;
};
IntegerWeightLaunches integer_weight_launches(const IntegerWeightKind &kind, const IntegerWeightShape &shape,
                                              const PlanDevice &device,
                                              SourceLocation where = std::source_location::current());

}  // namespace samite::ops
