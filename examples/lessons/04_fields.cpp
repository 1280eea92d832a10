// Lesson 4. Fields and boundary conditions: heat in a plate with fixed, insulated and periodic edges.
#include "shared/image.h"

#include <samite/samite.h>

#include <cstdio>

using namespace samite;

int main() {
  auto mean_of = [](auto &&at, const Int &y, const Int &x) {
    return (at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1)) / 4;
  };
  Kernel fixed{"fixed", [&](Array<float, 2> next, Array<const float, 2> now) {
                 auto [y, x] = thread_index<2>();  // the edge keeps its values
                 if_(interior(now, y, x), [&] { next(y, x) = mean_of(now, y, x); });
               }};
  Kernel insulated{"insulated", [&](Array<float, 2> next, Array<const float, 2> now) {
                     auto [y, x] = thread_index<2>();  // beyond the edge the field goes on as at the edge
                     auto at = [&](const Int &row, const Int &column) {
                       return now(clamp(row, 0, now.extent(0) - 1), clamp(column, 0, now.extent(1) - 1));
                     };
                     next(y, x) = mean_of(at, y, x);
                   }};
  Kernel periodic{"periodic", [&](Array<float, 2> next, Array<const float, 2> now) {
                    auto [y, x] = thread_index<2>();  // beyond the edge the field begins again
                    Int h = now.extent(0), w = now.extent(1);
                    auto at = [&](const Int &row, const Int &column) { return now((row + h) % h, (column + w) % w); };
                    next(y, x) = mean_of(at, y, x);
                  }};

  Device device = Device::preferred();
  const int n = 64;
  std::vector<examples::Image> pictures;
  for (const auto &step : {fixed, insulated, periodic}) {
    Buffer<float> now{device, {n, n}}, next{device, {n, n}};
    now.slice(0, 2, 12).slice(1, 2, 12).fill(1);  // a warm square near one corner
    for (int i = 0; i < 150; ++i) {
      step.launch({n, n}, next, now);
      std::swap(now, next);
    }
    pictures.push_back({n, n, now.to_vector()});
    double heat = 0;
    for (float &pixel : pictures.back().pixels) heat += pixel, pixel *= 2;
    std::printf("%-9s: %.2f of the heat is left\n", step.name().c_str(), heat / 100);
  }
  examples::write_side_by_side("fields.png", pictures);
}
