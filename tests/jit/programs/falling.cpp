// A kernel with lines in which a debugger stops.
#include "samite/samite.h"

#include <cstdio>

int main() {
  using namespace samite;
  Kernel fall{"fall", [](Array<float, 1> height, Array<const float, 1> speed, Float time) {
                Int i = thread_index();
                if_(height(i) > 0.f, [&] {
                  height(i) -= speed(i) * time;  // stops here
                });
              }};
  Buffer<float> height(Device::cpu(), {1000}, std::vector<float>(1000, 1.f));
  Buffer<float> speed(Device::cpu(), {1000}, std::vector<float>(1000, 5.f));
  fall.launch({1000}, height, speed, 0.1f);
  std::printf("height %g\n", static_cast<double>(height.at(0)));
}
