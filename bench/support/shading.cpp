#include "bench/support/shading.h"

#include <random>

namespace samite::bench {

Shading shading(float ambient) {
  return Shading{"shading", [=](Array<float, 1> light, Array<const float, 1> x, Array<const float, 1> y,
                                Array<const float, 1> lamp_x, Array<const float, 1> lamp_y,
                                Array<const float, 1> lamp_power, Float absorption, Float exposure) {
                   Int i = thread_index();
                   Float px = x(i), py = y(i);
                   Float height = 1.5f + 0.25f * sin(px) * cos(py);
                   Float total = ambient;
                   for (Int lamp : range(lamp_x.extent(0))) {
                     Float dx = lamp_x(lamp) - px;
                     Float dy = lamp_y(lamp) - py;
                     Float distance2 = dx * dx + dy * dy + height * height;
                     Float distance = sqrt(distance2);
                     Float cosine = height / distance;
                     Float gloss = pow(cosine, 8.0f);
                     Float fade = exp(-absorption * distance);
                     total += lamp_power(lamp) * fade * (cosine + gloss) / distance2;
                   }
                   if_(total > 1, [&] { total = 1 + log(total); }, [&] { total = total * (2 - total); });
                   light(i) = tanh(exposure * total);
                 }};
}

Scene::Scene(int points, int lamps, Device device) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(0.0f, 4.0f);
  auto random = [&](int count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float &value : values) value = uniform(engine);
    return Buffer<float>(device, {count}, values, Gradient::tracked);
  };
  light = random(points), x = random(points), y = random(points);
  lamp_x = random(lamps), lamp_y = random(lamps), lamp_power = random(lamps);
}

Launch Scene::record(const Shading &kernel, Direction direction) const {
  return kernel.record({light.extent(0)}, {.direction = direction}, light, x, y, lamp_x, lamp_y, lamp_power, absorption,
                       exposure);
}

}  // namespace samite::bench
