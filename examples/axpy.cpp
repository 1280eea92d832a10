// A kernel, a launch, the result: y = a x + y over a million numbers.
#include <samite/samite.h>

#include <algorithm>
#include <cstdio>

using namespace samite;

int main() {
  Kernel axpy{"axpy", [](Array<float, 1> y, Array<const float, 1> x, Float a) {
                Int i = thread_index();
                y(i) += a * x(i);
              }};

  Device device = Device::preferred();
  const int n = 1'000'000;
  Buffer<float> x{device, {n}}, y{device, {n}};
  x.fill(3);
  y.fill(1);

  axpy.launch({n}, y, x, 2.0f);

  std::vector<float> result = y.to_vector();
  bool right = std::all_of(result.begin(), result.end(), [](float value) { return value == 7; });
  std::printf("2 * 3 + 1 = %g in %s of %d places, on %s\n", result[0], right ? "all" : "not all", n,
              device.to_string().c_str());
  return right ? 0 : 1;
}
