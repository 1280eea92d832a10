#include "orbits.h"

#include <cmath>
#include <numbers>

namespace nbody {

Bodies disc(int count) {
  const auto size = static_cast<std::size_t>(count);
  Bodies bodies{std::vector<double>(3 * size), std::vector<double>(3 * size), std::vector<double>(size)};
  constexpr double middle = 2;
  bodies.mass[0] = middle;
  for (std::size_t i = 1; i < size; ++i) {
    // The golden angle spreads them evenly.
    const double k = static_cast<double>(i), angle = k * std::numbers::pi * (3 - std::sqrt(5.0));
    const double radius = 0.5 + 1.0 * std::sqrt(k / static_cast<double>(size)), speed = std::sqrt(middle / radius);
    bodies.mass[i] = 0.015 * (1.2 + std::sin(2.4 * k));
    bodies.x[i] = radius * std::cos(angle), bodies.x[size + i] = radius * std::sin(angle);
    bodies.x[2 * size + i] = 0.05 * std::sin(5 * k);
    bodies.v[i] = -speed * std::sin(angle), bodies.v[size + i] = speed * std::cos(angle);
  }
  return bodies;
}

}  // namespace nbody
