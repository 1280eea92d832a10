#include "bench/peers/axpy.h"

void peer_axpy(float *__restrict y, const float *__restrict x, float a, long count) {
#pragma omp parallel for simd schedule(static)
  for (long i = 0; i < count; ++i) y[i] += a * x[i];
}
