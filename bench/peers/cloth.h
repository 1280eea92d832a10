// One time step of a cloth of springs and masses and its gradient, hand-written: examples/cloth/cloth_kernels.h in C++
// with OpenMP. Loops over a row are vectorised, inside the loops over springs, so that they test no bounds.
//
// The adjoint, for g_x and g_v the gradients of x' and v', with h = Δt (g_v + Δt g_x) the gradient of the acceleration:
//   x̄_i = g_x + Σ_j K_ij (h_j − h_i),  K_ij = k ((1 − L / |d|) I + L d dᵀ / |d|³),  d = x_j − x_i
//   v̄_i = g_v + Δt g_x − drag h
// A spring pulls equally at both of its ends, so that only particle i writes its own results, without atomics.
#pragma once

// Arrays (3, rows, columns), as the example's.
struct ClothStep {
  int rows, columns;
  float spacing, stiffness, drag, dt;
  const float *x, *v;
};

extern "C" {
void peer_cloth(const ClothStep &step, float *next_x, float *next_v);
void peer_cloth_estimated(const ClothStep &step, float *next_x, float *next_v);

// Adds to x_gradient and v_gradient, and sets the others to zero, as an adjoint launch does.
void peer_cloth_adjoint(const ClothStep &step, float *next_x_gradient, float *next_v_gradient, float *x_gradient,
                        float *v_gradient);
void peer_cloth_adjoint_estimated(const ClothStep &step, float *next_x_gradient, float *next_v_gradient,
                                  float *x_gradient, float *v_gradient);
}
