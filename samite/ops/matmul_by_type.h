// Matrix products with types chosen at run time, with the epilogues of a network's layers:
//
//   c = activation(a b + bias) + residual
//
// for bindings to other languages. ops/matmul.h is for C++, where an epilogue is any function.
#pragma once

#include "samite/ops/matmul_plan.h"
#include "samite/ops/planned_launch.h"
#include "samite/ops/scales.h"

#include <optional>
#include <string_view>

namespace samite::ops {

enum class Activation : std::uint8_t { none, relu, silu, gelu, tanh, sigmoid };
std::optional<Activation> activation_named(std::string_view name);  // "relu"; "none"

// The computation of c from the sums.
struct LayerEpilogue {
  ScalarType result;
  Activation activation = Activation::none;  // only for floating results
  bool bias = false, residual = false;       // of c's type: a number for each column, and an array like c
};

// Factors of half or bfloat16 with results of their own type or of float; float; double; 8-bit integers with results of
// int32. Arguments (a, b, bias, residual, c), without absent ones, of two dimensions, or with `in_batches` of three,
// except for the bias.
struct MatmulByType {
  ScalarType factor;
  LayerEpilogue epilogue;
  tile::Transposes transposed = {};
  tile::Precision precision = tile::Precision::full;
  bool in_batches = false;
  bool differentiated = false;          // the plan is to suit the derived adjoint, too
  bool copied_where_that_pays = false;  // as in MatmulFactors
};
// UserError if there is no such product.
PlannedLaunch matmul_launch(const MatmulByType &kind, const MatmulShape &shape, const PlanDevice &device,
                            SourceLocation where = std::source_location::current());

// Factors of 8-bit floating types with scales (ops/scaled_matmul.h), results of float, half or bfloat16. Arguments (a,
// b, scale_a, scale_b, bias, residual, c), without absent ones.
struct ScaledMatmulByType {
  ScalarType a, b;
  ScaleGroups scales_of_a, scales_of_b;
  LayerEpilogue epilogue;
  tile::Transposes transposed = {};
  bool in_batches = false;
  ScalesLie scales = {};
  bool differentiated = false;
};
PlannedLaunch scaled_matmul_launch(const ScaledMatmulByType &kind, const MatmulShape &shape, const PlanDevice &device,
                                   SourceLocation where = std::source_location::current());

}  // namespace samite::ops
