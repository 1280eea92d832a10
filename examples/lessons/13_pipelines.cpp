// Lesson 13. Pipelines: what an image filter computes, without saying in which order. This one sharpens a picture.
#include "shared/image.h"

#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  Pipeline sharpen{
      "sharpen", {"out", "in", "amount"}, [](Array<float, 2> out, Array<const float, 2> in, Float amount) {
        Var y{"y"}, x{"x"};
        Func image = repeat_edge(in);  // may be called beyond the edge
        Func rows{"rows"}, blurred{"blurred"}, result{"result", out};
        rows(y, x) =
            (image(y, x - 2) + 4 * image(y, x - 1) + 6 * image(y, x) + 4 * image(y, x + 1) + image(y, x + 2)) / 16;
        blurred(y, x) =
            (rows(y - 2, x) + 4 * rows(y - 1, x) + 6 * rows(y, x) + 4 * rows(y + 1, x) + rows(y + 2, x)) / 16;
        result(y, x) = clamp(image(y, x) + amount * (image(y, x) - blurred(y, x)), 0, 1);
      }};

  // A picture of discs with soft edges.
  const int n = 128;
  examples::Image picture{n, n, std::vector<float>(n * n)};
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      const float dy = static_cast<float>(y % 32) - 16, dx = static_cast<float>(x % 32) - 16;
      picture.pixels[y * n + x] = std::clamp(0.8f - std::sqrt(dx * dx + dy * dy) / 20, 0.1f, 0.6f);
    }

  Device device = Device::preferred();
  Buffer<float> in{device, {n, n}, picture.pixels}, out{device, {n, n}};
  sharpen.launch(out, in, 4.0f);

  examples::Image sharpened{n, n, out.to_vector()};
  examples::write_side_by_side("sharpened.png", {picture, sharpened});
  auto [low, high] = std::ranges::minmax(sharpened.pixels);
  std::printf("brightness from %.2f to %.2f, before from 0.10 to 0.60\n", low, high);
  std::printf("%s", sharpen.loop_nest(Device::cpu()).c_str());
}
