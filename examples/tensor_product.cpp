// A sparse convolution under two schedules, whose loops are printed; both are compared with loops of the host.
#include "pipelines/tensor_product_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  const int points = 150, pairs = 200, channels = 64;
  std::vector<float> x(points * channels), w(27 * channels * channels), expected(points * channels);
  std::vector<std::int32_t> from(27 * pairs), to(27 * pairs);
  for (int i = 0; i < static_cast<int>(x.size()); ++i) x[i] = static_cast<float>(i * 7 % 101) / 101;
  for (int i = 0; i < static_cast<int>(w.size()); ++i) w[i] = static_cast<float>(i * 11 % 97) / 97 - 0.5f;
  for (int i = 0; i < 27 * pairs; ++i) from[i] = i * 17 % points, to[i] = i * 29 % points;
  for (int i = 0; i < 27 * pairs; ++i)
    for (int k = 0; k < channels; ++k)
      for (int m = 0; m < channels; ++m)
        expected[to[i] * channels + m] += x[from[i] * channels + k] * w[(i / pairs * channels + k) * channels + m];

  Device device = Device::preferred();
  Buffer<float> input{device, {points, channels}, x}, weight{device, {27, channels, channels}, w};
  Buffer<std::int32_t> input_map{device, {27, pairs}, from}, output_map{device, {27, pairs}, to};
  auto product = pipelines::tensor_product_steps();
  bool right = true;
  for (const char *schedule : {"first", "tiled"}) {
    std::printf("%s", product.loop_nest(Device::cuda(0), schedule).c_str());
    Buffer<float> result{device, {points, channels}};

    product.launch({.schedule = schedule}, result, input, weight, input_map, output_map);

    float largest = 0;
    std::vector<float> sums = result.to_vector();
    for (std::size_t i = 0; i < sums.size(); ++i) largest = std::max(largest, std::abs(sums[i] - expected[i]));
    std::printf("schedule '%s': largest error %.1e on %s\n", schedule, largest, device.to_string().c_str());
    right = right && largest < 1e-2;
  }
  return right ? 0 : 1;
}
