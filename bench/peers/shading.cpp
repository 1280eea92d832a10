#include "bench/peers/shading.h"

#include <cmath>

// Compiled in; the benchmark of compile times sets other values, so that no compile repeats another.
#ifndef AMBIENT
#define AMBIENT 0.125f
#endif

void peer_shading(float *light, const float *x, const float *y, const Lamps &lamps, float absorption, float exposure,
                  int begin, int end) {
  for (int i = begin; i < end; ++i) {
    float px = x[i], py = y[i];
    float height = 1.5f + 0.25f * std::sin(px) * std::cos(py);
    float total = AMBIENT;
    for (int lamp = 0; lamp < lamps.count; ++lamp) {
      float dx = lamps.x[lamp] - px;
      float dy = lamps.y[lamp] - py;
      float distance2 = dx * dx + dy * dy + height * height;
      float distance = std::sqrt(distance2);
      float cosine = height / distance;
      float gloss = std::pow(cosine, 8.0f);
      float fade = std::exp(-absorption * distance);
      total += lamps.power[lamp] * fade * (cosine + gloss) / distance2;
    }
    if (total > 1)
      total = 1 + std::log(total);
    else
      total = total * (2 - total);
    light[i] = std::tanh(exposure * total);
  }
}
