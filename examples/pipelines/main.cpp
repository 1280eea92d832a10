// The image pipelines of this folder on one photograph: draws a sheet of their results.
//
// Exit code 0: noise went down and contrast went up as they should; 1: they did not; 2: the program could not run.
#include "bilateral_grid.h"
#include "blur.h"
#include "harris.h"
#include "histogram.h"
#include "local_laplacian.h"
#include "nl_means.h"
#include "shared/drawing.h"
#include "unsharp.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

namespace pipelines {
namespace {

namespace fs = std::filesystem;
using namespace samite;
using examples::Drawing, examples::Image, examples::psnr;

// A grey picture, also as three equal channels.
class Pictures {
 public:
  Pictures(Device device, const Image &of) : device_(device), height_(of.height), width_(of.width) {}

  Buffer<float> plane(const Image &image) const { return {device_, {height_, width_}, image.pixels}; }
  Buffer<float> empty_plane() const { return Buffer<float>{device_, {height_, width_}}; }
  template <class T = float>
  Buffer<T> channels(const Image &image, float white = 1) const {
    std::vector<T> values;
    for (int c = 0; c < 3; ++c)
      for (const float pixel : image.pixels) values.push_back(static_cast<T>(pixel * white));
    return {device_, {3, height_, width_}, values};
  }
  template <class T = float>
  Buffer<T> empty_channels() const {
    return Buffer<T>{device_, {3, height_, width_}};
  }

  // The first channel.
  template <class T>
  Image image(const Buffer<T> &buffer, float white = 1) const {
    Image made{width_, height_, {}};
    const std::vector<T> values = buffer.to_vector();
    for (std::size_t i = 0; i < static_cast<std::size_t>(width_) * height_; ++i)
      made.pixels.push_back(static_cast<float>(values[i]) / white);
    return made;
  }

 private:
  Device device_;
  int height_, width_;
};

Image with_noise(Image image) {
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.06f);
  for (float &pixel : image.pixels) pixel = std::clamp(pixel + noise(random), 0.0f, 1.0f);
  return image;
}

double contrast(const Image &image) {
  double sum = 0, squares = 0;
  for (const double pixel : image.pixels) sum += pixel, squares += pixel * pixel;
  const double count = static_cast<double>(image.pixels.size()), mean = sum / count;
  return std::sqrt(squares / count - mean * mean);
}

// The places where the response is a maximum, among the neighbours and against the strongest.
std::vector<std::pair<int, int>> corners(const std::vector<float> &response, int height, int width) {
  const auto at = [&](int y, int x) { return response[static_cast<std::size_t>(y) * width + x]; };
  const float strongest = *std::ranges::max_element(response);
  std::vector<std::pair<int, int>> found;
  for (int y = 2; y < height - 2; ++y)
    for (int x = 2; x < width - 2; ++x) {
      bool largest = at(y, x) > strongest / 40;
      for (int j = -2; j <= 2; ++j)
        for (int i = -2; i <= 2; ++i) largest = largest && at(y + j, x + i) <= at(y, x);
      if (largest) found.emplace_back(y, x);
    }
  return found;
}

int run(const fs::path &photograph, const fs::path &output) {
  const Device device = Device::preferred();
  const Image original = examples::read_grey(photograph), noisy = with_noise(original);
  const int height = original.height, width = original.width;
  fmt::print("{}: {} x {} pixels, on {} ({})\n", photograph.filename().string(), width, height, device.to_string(),
             device.name());
  const Pictures pictures(device, original);

  // Eight times, so that it shows.
  Buffer<float> once = pictures.plane(original), again = pictures.empty_plane();
  const auto mean = blur();
  for (int i = 0; i < 4; ++i) {
    mean.launch(again, once);
    mean.launch(once, again);
  }
  const Buffer<float> sharp = pictures.empty_channels(), detailed = pictures.empty_channels(),
                      clean = pictures.empty_channels(), smooth = pictures.empty_plane();
  unsharp().launch(sharp, pictures.channels(original));
  local_laplacian().launch(detailed, pictures.channels(original));
  nl_means().launch(clean, pictures.channels(noisy));
  bilateral_grid().launch(smooth, pictures.plane(original));
  const Buffer<std::uint8_t> even = pictures.empty_channels<std::uint8_t>();
  histogram().launch(even, pictures.channels<std::uint8_t>(original, 255));
  const Buffer<float> response{device, {height - 6, width - 6}};
  harris().launch(response, pictures.channels(original));

  const Image cleaned = pictures.image(clean), evened = pictures.image(even, 255);
  const std::vector<Image> all{original,
                               pictures.image(once),
                               pictures.image(sharp),
                               original,
                               pictures.image(smooth),
                               evened,
                               pictures.image(detailed),
                               cleaned};
  constexpr int columns = 4, gap = 8, harris_at = 3;
  Drawing sheet(columns * (width + gap) - gap, 2 * (height + gap) - gap);
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    const int left = i % columns * (width + gap), top = i / columns * (height + gap);
    const bool dark = i == harris_at;
    sheet.image(left, top, all[static_cast<std::size_t>(i)], 1, {0, 0, 0},
                dark ? examples::Colour{0.55f, 0.55f, 0.55f} : examples::Colour{1, 1, 1});
    if (dark)
      for (const auto &[y, x] : corners(response.to_vector(), height - 6, width - 6))
        sheet.disc(left + x + 3, top + y + 3, 2, {1, 0.55f, 0.1f});
  }
  // The input of the last one, in its left third.
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width / 3; ++x) {
      const int left = 3 * (width + gap), top = height + gap;
      const float pixel = noisy.at(y, x);
      sheet.blend(left + x, top + y, {pixel, pixel, pixel}, 1);
    }
  fs::create_directories(output);
  const fs::path path = output / "pipelines.png";
  sheet.write(path);

  const double before = psnr(noisy, original), after = psnr(cleaned, original);
  fmt::print("noise: {:.1f} dB, and {:.1f} dB after non-local means\n", before, after);
  fmt::print("contrast: {:.3f}, and {:.3f} after equalisation\n", contrast(original), contrast(evened));
  fmt::print("Wrote {}.\n", path.string());
  return after > before + 3 && std::abs(contrast(evened) - 1 / std::sqrt(12.0)) < 0.02 ? 0 : 1;
}

}  // namespace
}  // namespace pipelines

int main(int argc, char **argv) {
  std::filesystem::path image = std::filesystem::path(SAMITE_EXAMPLE_DIR) / "../inverse_heat/photograph.png",
                        output = "build/demo";
  CLI::App app{"Draws what the image pipelines make of a photograph"};
  app.add_option("--image", image, "PNG or JPEG, of 256 pixels or more along each side")->capture_default_str();
  app.add_option("--output", output, "folder for the picture")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return pipelines::run(image, output);
  } catch (const std::exception &error) {
    fmt::print(stderr, "pipelines: {}\n", error.what());
    return 2;
  }
}
