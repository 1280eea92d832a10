// Grey images: reading, comparing, and writing side by side.
#pragma once

#include <filesystem>
#include <vector>

namespace examples {

struct Image {
  int width = 0, height = 0;
  std::vector<float> pixels;  // row by row from the top; 0 is black, 1 is white

  float at(int y, int x) const { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

// Any format that stb_image knows; colours become their luma. std::runtime_error with its reason if that fails.
Image read_grey(const std::filesystem::path &path);

// A PNG of the images, all of one size, from left to right with a thin gap. Values outside of 0 to 1 are clamped.
// std::runtime_error if it cannot be written.
void write_side_by_side(const std::filesystem::path &path, const std::vector<Image> &images);

// `size` × `size` pixels from the middle, or the whole image if it is smaller.
Image middle(const Image &image, int size);

// Peak signal-to-noise ratio in decibel, for a peak of 1.
double psnr(const Image &image, const Image &reference);

}  // namespace examples
