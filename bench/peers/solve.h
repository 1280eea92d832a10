// Sparse products and conjugate gradients by Eigen, scans, sums and sorts by oneTBB and the standard library, and
// Adam's step by hand.
#pragma once

#include <cstdint>

extern "C" {
// A matrix by compressed rows.
struct PeerMatrixF32 {
  long rows, entries;
  const std::int32_t *offsets, *indices;
  const float *values;
};
struct PeerMatrixF64 {
  long rows, entries;
  const std::int32_t *offsets, *indices;
  const double *values;
};
struct PeerPair {
  std::int32_t key, value;
};

// y = A x.
void peer_sparse_product_f32(const PeerMatrixF32 *a, const float *x, float *y);
void peer_sparse_product_f64(const PeerMatrixF64 *a, const double *x, double *y);
// From zero, with a tolerance that is not reached.
void peer_conjugate_gradients_f32(const PeerMatrixF32 *a, const float *b, float *x, long iterations);
void peer_conjugate_gradients_f64(const PeerMatrixF64 *a, const double *b, double *x, long iterations);
void peer_scan(const std::int32_t *x, std::int32_t *sums, long count);
std::int32_t peer_total(const std::int32_t *x, long count);
void peer_sort(PeerPair *pairs, long count);
struct PeerAdam {
  float rate, beta1, beta2, epsilon, first_correction, second_correction;
};
void peer_adam(float *x, const float *gradient, float *first, float *second, long count, const PeerAdam *options);
}
