// Gravity among bodies, all pairs, and its gradient, hand-written. In several forms: the fastest one depends on machine
// and compiler, and is the benchmark's peer.
//
// Accelerations, with d = x_j − x_i and r² = |d|² + softening²:
//   a_i = Σ_j m_j d / r³
// Their adjoint, for g the gradient of the accelerations. Each pair is seen from both of its ends, so that only body i
// writes its own results, without atomics:
//   x̄_i = Σ_j (h − 3 d (d·h) / r²) / r³,  h = m_i g_j − m_j g_i
//   m̄_i = −Σ_j d·g_j / r³
#pragma once

struct Bodies {
  int count;  // the forms in blocks need a multiple of 32
  float softening;
  const float *x, *y, *z, *mass;
};

struct Vectors {
  float *x, *y, *z;
};

// Body i's loop over j is a reduction, vectorised; or the bodies i are vectorised in blocks, inside the loop over j.
// The inverse of r is rounded, or estimated and refined (peers/inverse_root.h).
extern "C" {
void peer_nbody_reduction(const Bodies &bodies, const Vectors &acceleration);
void peer_nbody_reduction_estimated(const Bodies &bodies, const Vectors &acceleration);
void peer_nbody_blocks_16(const Bodies &bodies, const Vectors &acceleration);
void peer_nbody_blocks_16_estimated(const Bodies &bodies, const Vectors &acceleration);
void peer_nbody_blocks_32(const Bodies &bodies, const Vectors &acceleration);
void peer_nbody_blocks_32_estimated(const Bodies &bodies, const Vectors &acceleration);

// These add to `position` and `mass`; g is read only.
void peer_nbody_adjoint_reduction(const Bodies &bodies, const Vectors &g, const Vectors &position, float *mass);
void peer_nbody_adjoint_reduction_estimated(const Bodies &bodies, const Vectors &g, const Vectors &position,
                                            float *mass);
void peer_nbody_adjoint_blocks_16(const Bodies &bodies, const Vectors &g, const Vectors &position, float *mass);
void peer_nbody_adjoint_blocks_16_estimated(const Bodies &bodies, const Vectors &g, const Vectors &position,
                                            float *mass);
void peer_nbody_adjoint_blocks_32(const Bodies &bodies, const Vectors &g, const Vectors &position, float *mass);
void peer_nbody_adjoint_blocks_32_estimated(const Bodies &bodies, const Vectors &g, const Vectors &position,
                                            float *mass);
}
