// The derivatives of Cholesky factors and of solutions of triangular systems. They consist of products of matrices and
// solutions of triangular systems.
//
// Of A = L Lᵀ (I. Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527, 2016, eq. 9 and 10): with Φ
// the lower half of a matrix and half of its diagonal, dL = L Φ(L⁻¹ dA L⁻ᵀ), and Ā = Φ(L⁻ᵀ (P + Pᵀ) L⁻¹) with
// P = Φ(Lᵀ L̄); as the lower half of A alone is read, it has all of the gradient.
// Of A X = B (M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
// 2008, 2.3.1): dX = A⁻¹ (dB - dA X), B̄ = A⁻ᵀ X̄, and Ā = -B̄ Xᵀ in the half that is read.
#pragma once

#include "samite/passes/builder.h"

#include <vector>

namespace samite::autodiff {

ir::Value cholesky_gradient(passes::Builder &builder, ir::Value factor, ir::Value seed);
ir::Value cholesky_tangent(passes::Builder &builder, ir::Value factor, ir::Value tangent);

ir::Value solve_gradient(passes::Builder &builder, const ir::Operation &solve, ir::Value result, ir::Value seed,
                         std::size_t i);
ir::Value solve_tangent(passes::Builder &builder, const ir::Operation &solve, ir::Value result,
                        const std::vector<ir::Value> &tangents);

}  // namespace samite::autodiff
