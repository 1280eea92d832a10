// A pipeline separate from its schedules: the mean of 3 x 3 pixels, in tiles on the CPU and in blocks on a GPU.
#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  Pipeline blur{"blur", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                  // The algorithm.
                  Var y{"y"}, x{"x"};
                  Func image = repeat_edge(in), rows{"rows"}, result{"result", out};
                  rows(y, x) = (image(y, x - 1) + image(y, x) + image(y, x + 1)) / 3;
                  result(y, x) = (rows(y - 1, x) + rows(y, x) + rows(y + 1, x)) / 3;

                  // The schedules.
                  Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
                  schedule_cpu([&] {
                    result.split(y, yo, yi, 32).parallel(yo).vectorize(x, 8);
                    rows.compute_at(result, yi).store_at(result, yo).vectorize(x, 8);
                  });
                  schedule_cuda([&] {
                    result.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
                    rows.compute_at(result, xo).store_in(Memory::shared);
                  });
                }};

  const int h = 300, w = 500;
  std::vector<float> pixels(h * w);
  for (int i = 0; i < h * w; ++i) pixels[i] = static_cast<float>(i * 7 % 101);
  Device device = Device::preferred();
  Buffer<float> in{device, {h, w}, pixels, Gradient::tracked}, out{device, {h, w}, Gradient::tracked};

  blur.launch(out, in);

  std::printf("%s", blur.loop_nest(device).c_str());
  auto pixel = [&](int y, int x) { return pixels[std::clamp(y, 0, h - 1) * w + std::clamp(x, 0, w - 1)]; };
  float largest = 0;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      float sum = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) sum += pixel(y + dy, x + dx);
      largest = std::max(largest, std::abs(out.at(y, x) - sum / 9));
    }
  std::printf("largest error on %s: %.1e\n", device.to_string().c_str(), largest);

  // Each pixel of the result is a mean: its gradient is distributed to the pixels that it averages.
  out.gradient().fill(1);
  blur.launch({.direction = Direction::adjoint}, out, in);
  double sum = 0;
  for (float gradient : in.gradient().to_vector()) sum += gradient;
  std::printf("sum of the gradients: %.2f for %d pixels\n", sum, h * w);
  return largest < 1e-4 && std::abs(sum - h * w) < 1 ? 0 : 1;
}
