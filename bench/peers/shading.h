// Light from lamps at points of a rough surface, and its gradient, hand-written: a kernel of about 20 lines whose
// compile time is measured. Each function handles points [begin, end).
#pragma once

struct Lamps {
  int count;
  const float *x, *y, *power;
};

extern "C" {
void peer_shading(float *light, const float *x, const float *y, const Lamps &lamps, float absorption, float exposure,
                  int begin, int end);

struct ShadingGradients {
  float *light, *x, *y, *lamp_x, *lamp_y, *lamp_power;
};
void peer_shading_adjoint(const ShadingGradients &gradients, const float *x, const float *y, const Lamps &lamps,
                          float absorption, float exposure, int begin, int end);
}
