// The kernel of about 20 lines whose compile time is measured; bench/peers/shading.h has the hand-written one.
#pragma once

#include "samite/samite.h"

namespace samite::bench {

using Shading = Kernel<void(Array<float, 1>, Array<const float, 1>, Array<const float, 1>, Array<const float, 1>,
                            Array<const float, 1>, Array<const float, 1>, Float, Float)>;

inline constexpr float usual_ambient = 0.125f;  // the default of bench/peers/shading.cpp

// `ambient` is compiled in: another value is another kernel, whose code no cache has.
Shading shading(float ambient);

// Points and lamps; all arrays track gradients.
struct Scene {
  Scene(int points, int lamps, Device device = Device::cpu());

  Buffer<float> light, x, y, lamp_x, lamp_y, lamp_power;
  float absorption = 0.25f, exposure = 0.75f;

  Launch record(const Shading &kernel, Direction direction) const;
};

}  // namespace samite::bench
