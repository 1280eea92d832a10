// Derivatives of Cholesky factors and of solutions of triangular systems, as matrix products and triangular solves.
//
// For A = L Lᵀ (I. Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527, 2016, eq. 9 and 10): with Φ
// the lower half of a matrix and half of its diagonal, dL = L Φ(L⁻¹ dA L⁻ᵀ), and Ā = Φ(L⁻ᵀ (P + Pᵀ) L⁻¹) with P = Φ(Lᵀ
// L̄); since only the lower half of A is read, it gets the whole gradient. For A X = B (M. Giles, Collected matrix
// derivative results for forward and reverse mode algorithmic differentiation, 2008, 2.3.1): dX = A⁻¹ (dB - dA X), B̄ =
// A⁻ᵀ X̄, and Ā = -B̄ Xᵀ in the half that is read.
#pragma once

#include "samite/passes/simplify/builder.h"

#include <vector>

namespace samite::autodiff {

ir::Value cholesky_gradient(passes::Builder &builder, ir::Value factor, ir::Value seed);
ir::Value cholesky_tangent(passes::Builder &builder, ir::Value factor, ir::Value tangent);

ir::Value solve_gradient(passes::Builder &builder, const ir::Operation &solve, ir::Value result, ir::Value seed,
                         std::size_t i);
ir::Value solve_tangent(passes::Builder &builder, const ir::Operation &solve, ir::Value result,
                        const std::vector<ir::Value> &tangents);

}  // namespace samite::autodiff
