#include "shared/image.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace examples {

Image read_grey(const std::filesystem::path &path) {
  Image image;
  int channels = 0;
  std::unique_ptr<stbi_uc, void (*)(void *)> bytes(stbi_load(path.c_str(), &image.width, &image.height, &channels, 1),
                                                   stbi_image_free);
  if (!bytes) throw std::runtime_error("cannot read the image " + path.string() + ": " + stbi_failure_reason());
  image.pixels.resize(static_cast<std::size_t>(image.width) * image.height);
  std::transform(bytes.get(), bytes.get() + image.pixels.size(), image.pixels.begin(),
                 [](stbi_uc byte) { return static_cast<float>(byte) / 255; });
  return image;
}

void write_side_by_side(const std::filesystem::path &path, const std::vector<Image> &images) {
  constexpr int gap = 8;
  const int height = images.front().height, width = images.front().width, count = static_cast<int>(images.size());
  const int row = count * (width + gap) - gap;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(row) * height, 255);
  for (int i = 0; i < count; ++i)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const float value = std::clamp(images[i].at(y, x), 0.0f, 1.0f);
        bytes[static_cast<std::size_t>(y) * row + static_cast<std::size_t>(i) * (width + gap) + x] =
            static_cast<std::uint8_t>(std::lround(value * 255));
      }
  if (!stbi_write_png(path.c_str(), row, height, 1, bytes.data(), row))
    throw std::runtime_error("cannot write " + path.string());
}

Image middle(const Image &image, int size) {
  Image crop{std::min(size, image.width), std::min(size, image.height), {}};
  const int top = (image.height - crop.height) / 2, left = (image.width - crop.width) / 2;
  for (int y = 0; y < crop.height; ++y)
    for (int x = 0; x < crop.width; ++x) crop.pixels.push_back(image.at(top + y, left + x));
  return crop;
}

double psnr(const Image &image, const Image &reference) {
  double sum = 0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const double difference = static_cast<double>(image.pixels[i]) - reference.pixels[i];
    sum += difference * difference;
  }
  return -10 * std::log10(sum / static_cast<double>(image.pixels.size()));
}

}  // namespace examples
