// Pictures in colour: grey images, lines and dots on a canvas.
#pragma once

#include "shared/image.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace examples {

using Colour = std::array<float, 3>;  // red, green, blue from 0 to 1

// Pixels from the top left; a point (x, y) may lie between pixels, or outside, where nothing is drawn.
class Drawing {
 public:
  Drawing(int width, int height, Colour background = {1, 1, 1});

  int width() const { return width_; }
  int height() const { return height_; }

  // Blends `ink` into the pixel; it covers the fraction `share`, from 0 to 1.
  void blend(int x, int y, Colour ink, float share);

  void disc(double x, double y, double radius, Colour ink);
  void line(double x0, double y0, double x1, double y1, double width, Colour ink);

  // Each pixel as a square of `scale` × `scale`, its top left at (x, y), from `low` at 0 to `high` at 1.
  void image(int x, int y, const Image &image, int scale, Colour low, Colour high);

  // A PNG; std::runtime_error if it cannot be written.
  void write(const std::filesystem::path &path) const;

 private:
  int width_, height_;
  std::vector<float> pixels_;
};

}  // namespace examples
