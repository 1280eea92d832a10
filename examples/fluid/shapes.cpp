#include "shapes.h"

#include <algorithm>
#include <cmath>

namespace fluid {
namespace {

using examples::Image;

// A soft edge, three cells wide: inside, the distance is negative.
float soft(double distance) { return static_cast<float>(std::clamp(0.5 - distance / 3, 0.0, 1.0)); }

// `distance` in cells, of a point in cells from the middle.
template <class Distance>
Image draw(int size, const Distance &distance) {
  Image image{size, size, {}};
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) image.pixels.push_back(soft(distance(x - (size - 1) / 2.0, y - (size - 1) / 2.0)));
  return image;
}

// From three quarters of a circle: the quarter with positive x and y is missing.
double bow(double x, double y, double radius) {
  if (x <= 0 || y <= 0) return std::abs(std::hypot(x, y) - radius);
  return std::min(std::hypot(x - radius, y), std::hypot(x, y - radius));
}

}  // namespace

Image cloud(int size) {
  return draw(size, [&](double x, double y) { return std::hypot(x, y) - 0.22 * size; });
}

Image letter(int size) {
  const double radius = 0.14 * size, half_width = 0.055 * size;
  return draw(size, [&](double x, double y) {
    return std::min(bow(x, y + radius, radius), bow(-x, radius - y, radius)) - half_width;
  });
}

}  // namespace fluid
