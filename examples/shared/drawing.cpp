#include "shared/drawing.h"

#include <stb/stb_image_write.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace examples {
namespace {

// The part of a pixel inside an edge, by the distance of its middle: inside is negative.
float coverage(double distance) { return static_cast<float>(std::clamp(0.5 - distance, 0.0, 1.0)); }

}  // namespace

Drawing::Drawing(int width, int height, Colour background) : width_(width), height_(height) {
  for (int i = 0; i < width * height; ++i) pixels_.insert(pixels_.end(), background.begin(), background.end());
}

void Drawing::blend(int x, int y, Colour ink, float share) {
  if (x < 0 || x >= width_ || y < 0 || y >= height_) return;
  float *pixel = pixels_.data() + (static_cast<std::size_t>(y) * width_ + x) * 3;
  for (std::size_t c = 0; c < 3; ++c) pixel[c] += share * (ink[c] - pixel[c]);
}

void Drawing::disc(double x, double y, double radius, Colour ink) { line(x, y, x, y, 2 * radius, ink); }

void Drawing::line(double x0, double y0, double x1, double y1, double width, Colour ink) {
  const double margin = width / 2 + 1, dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy;
  // Clamped before they become integers: a point may be anywhere.
  auto bound = [](double value, int end) { return static_cast<int>(std::clamp(value, -1.0, double(end))); };
  const int left = bound(std::min(x0, x1) - margin, width_), right = bound(std::max(x0, x1) + margin, width_);
  const int top = bound(std::min(y0, y1) - margin, height_), bottom = bound(std::max(y0, y1) + margin, height_);
  for (int y = top; y <= bottom; ++y)
    for (int x = left; x <= right; ++x) {
      const double along = length == 0 ? 0 : std::clamp(((x - x0) * dx + (y - y0) * dy) / length, 0.0, 1.0);
      const double distance = std::hypot(x - x0 - along * dx, y - y0 - along * dy);
      blend(x, y, ink, coverage(distance - width / 2));
    }
}

void Drawing::image(int x, int y, const Image &image, int scale, Colour low, Colour high) {
  for (int row = 0; row < image.height * scale; ++row)
    for (int column = 0; column < image.width * scale; ++column) {
      const float value = std::clamp(image.at(row / scale, column / scale), 0.0f, 1.0f);
      blend(x + column, y + row, low, 1);
      blend(x + column, y + row, high, value);
    }
}

void Drawing::write(const std::filesystem::path &path) const {
  std::vector<std::uint8_t> bytes;
  for (float value : pixels_)
    bytes.push_back(static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0f, 1.0f) * 255)));
  if (!stbi_write_png(path.c_str(), width_, height_, 3, bytes.data(), width_ * 3))
    throw std::runtime_error("cannot write " + path.string());
}

}  // namespace examples
