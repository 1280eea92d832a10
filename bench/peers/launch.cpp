#include "bench/peers/launch.h"

void peer_scale(float *y, const float *x, long i) { y[i] = 2 * x[i]; }

void peer_scale_adjoint(float *y_gradient, float *x_gradient, long i) {
  x_gradient[i] += 2 * y_gradient[i];
  y_gradient[i] = 0;
}

void peer_sum(float *y, const float *a, const float *b, const float *c, const float *d, const float *e, const float *f,
              const float *g, const float *h, long i) {
  y[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i];
}

void peer_sum_adjoint(float *y, float *a, float *b, float *c, float *d, float *e, float *f, float *g, float *h,
                      long i) {
  a[i] += y[i], b[i] += y[i], c[i] += y[i], d[i] += y[i];
  e[i] += y[i], f[i] += y[i], g[i] += y[i], h[i] += y[i];
  y[i] = 0;
}
