#include "bench/peers/shading.h"

#include <cmath>

#ifndef AMBIENT
#define AMBIENT 0.125f
#endif

void peer_shading_adjoint(const ShadingGradients &g, const float *x, const float *y, const Lamps &lamps,
                          float absorption, float exposure, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    float px = x[i], py = y[i];
    float height = 1.5f + 0.25f * std::sin(px) * std::cos(py);
    float sum = AMBIENT;
    for (int lamp = 0; lamp < lamps.count; ++lamp) {
      float dx = lamps.x[lamp] - px, dy = lamps.y[lamp] - py;
      float distance2 = dx * dx + dy * dy + height * height;
      float distance = std::sqrt(distance2);
      float cosine = height / distance;
      sum += lamps.power[lamp] * std::exp(-absorption * distance) * (cosine + std::pow(cosine, 8.0f)) / distance2;
    }
    float light = std::tanh(exposure * (sum > 1 ? 1 + std::log(sum) : sum * (2 - sum)));

    float sum_g = g.light[i] * (1 - light * light) * exposure * (sum > 1 ? 1 / sum : 2 - 2 * sum);
    g.light[i] = 0;
    float px_g = 0, py_g = 0, height_g = 0;
    for (int lamp = 0; lamp < lamps.count; ++lamp) {
      float dx = lamps.x[lamp] - px, dy = lamps.y[lamp] - py;
      float distance2 = dx * dx + dy * dy + height * height;
      float distance = std::sqrt(distance2);
      float cosine = height / distance;
      float gloss = std::pow(cosine, 8.0f);
      float fade = std::exp(-absorption * distance);
      float power = lamps.power[lamp];
      float cosine_g = sum_g * power * fade / distance2 * (1 + 8 * std::pow(cosine, 7.0f));
      float value = fade * (cosine + gloss) / distance2;
      float distance_g = -sum_g * power * value * absorption - cosine_g * cosine / distance;
      float distance2_g = -sum_g * power * value / distance2 + distance_g / (2 * distance);
      height_g += cosine_g / distance + 2 * height * distance2_g;
      float dx_g = 2 * dx * distance2_g, dy_g = 2 * dy * distance2_g;
      px_g -= dx_g, py_g -= dy_g;
#pragma omp atomic
      g.lamp_x[lamp] += dx_g;
#pragma omp atomic
      g.lamp_y[lamp] += dy_g;
#pragma omp atomic
      g.lamp_power[lamp] += sum_g * value;
    }
    g.x[i] += px_g + height_g * 0.25f * std::cos(px) * std::cos(py);
    g.y[i] += py_g - height_g * 0.25f * std::sin(px) * std::sin(py);
  }
}
