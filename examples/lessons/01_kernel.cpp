// Lesson 1. A kernel: a swing that dies down, computed at many times at once.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

int main() {
  Kernel swing{"swing", [](Array<double, 1> angle, Array<const double, 1> time, Double damping) {
                 Int i = thread_index();
                 angle(i) = exp(-damping * time(i)) * cos(2 * time(i));
               }};

  Device device = Device::preferred();
  Buffer<double> time{device, {5}, {0, 1, 2, 3, 4}};
  Buffer<double> angle{device, {5}};

  swing.launch({5}, angle, time, 0.5);

  for (double value : angle.to_vector()) std::printf("%.4f\n", value);
}
