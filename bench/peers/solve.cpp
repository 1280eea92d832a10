#include "bench/peers/solve.h"

#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <execution>
#include <limits>

namespace {

template <class T>
using Matrix = Eigen::SparseMatrix<T, Eigen::RowMajor, std::int32_t>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <class T, class M>
Eigen::Map<const Matrix<T>> view(const M *a) {
  return {a->rows, a->rows, a->entries, a->offsets, a->indices, a->values};
}

template <class T, class M>
void product(const M *a, const T *x, T *y) {
  Eigen::Map<Vector<T>>(y, a->rows).noalias() = view<T>(a) * Eigen::Map<const Vector<T>>(x, a->rows);
}

template <class T, class M>
void conjugate_gradients(const M *a, const T *b, T *x, long iterations) {
  // ConjugateGradient itself takes no matrix in the memory of others.
  Eigen::Map<Vector<T>> solution(x, a->rows);
  solution.setZero();
  Eigen::Index most = iterations;
  T tolerance = std::numeric_limits<T>::min();
  Eigen::internal::conjugate_gradient(view<T>(a), Eigen::Map<const Vector<T>>(b, a->rows), solution,
                                      Eigen::IdentityPreconditioner(), most, tolerance);
}

}  // namespace

void peer_sparse_product_f32(const PeerMatrixF32 *a, const float *x, float *y) { product(a, x, y); }
void peer_sparse_product_f64(const PeerMatrixF64 *a, const double *x, double *y) { product(a, x, y); }
void peer_conjugate_gradients_f32(const PeerMatrixF32 *a, const float *b, float *x, long iterations) {
  conjugate_gradients(a, b, x, iterations);
}
void peer_conjugate_gradients_f64(const PeerMatrixF64 *a, const double *b, double *x, long iterations) {
  conjugate_gradients(a, b, x, iterations);
}

void peer_scan(const std::int32_t *x, std::int32_t *sums, long count) {
  tbb::parallel_scan(
      tbb::blocked_range<long>(0, count), std::int32_t{0},
      [=](const tbb::blocked_range<long> &range, std::int32_t sum, bool is_final) {
        for (long i = range.begin(); i < range.end(); ++i) {
          sum += x[i];
          if (is_final) sums[i] = sum;
        }
        return sum;
      },
      [](std::int32_t left, std::int32_t right) { return left + right; });
}

std::int32_t peer_total(const std::int32_t *x, long count) {
  return tbb::parallel_reduce(
      tbb::blocked_range<long>(0, count), std::int32_t{0},
      [=](const tbb::blocked_range<long> &range, std::int32_t sum) {
        for (long i = range.begin(); i < range.end(); ++i) sum += x[i];
        return sum;
      },
      [](std::int32_t left, std::int32_t right) { return left + right; });
}

void peer_sort(PeerPair *pairs, long count) {
  std::sort(std::execution::par, pairs, pairs + count,
            [](const PeerPair &a, const PeerPair &b) { return a.key < b.key; });
}

void peer_adam(float *__restrict x, const float *__restrict gradient, float *__restrict first, float *__restrict second,
               long count, const PeerAdam *options) {
  const PeerAdam of = *options;
#pragma omp parallel for simd schedule(static)
  for (long i = 0; i < count; ++i) {
    const float g = gradient[i];
    const float m = of.beta1 * first[i] + (1 - of.beta1) * g, v = of.beta2 * second[i] + (1 - of.beta2) * g * g;
    first[i] = m, second[i] = v;
    x[i] -= of.rate * m * of.first_correction / (std::sqrt(v * of.second_correction) + of.epsilon);
  }
}
