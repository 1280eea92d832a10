// Lesson 19. Shipping ahead of time: a run leaves its kernels in an archive, and the next one needs no compiler.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

int main() {
  Kernel cooling{"cooling",
                 {"end", "begin", "rate"},
                 [](Array<double, 1> end, Array<const double, 1> begin, Array<const double, 1> rate) {
                   Int i = thread_index();
                   end(i) = 20 + (begin(i) - 20) * exp(-rate(i));
                 }};

  Device device = Device::preferred();
  Buffer<double> begin{device, {3}, {90, 80, 70}, Gradient::tracked}, end{device, {3}, Gradient::tracked};
  Buffer<double> rate{device, {3}, {0.1, 0.2, 0.3}, Gradient::tracked};

  try {
    cooling.launch({3}, end, begin, rate);
    end.gradient().fill(1);
    cooling.launch({3}, {.direction = Direction::adjoint}, end, begin, rate);
  } catch (const Error &error) {  // neither a compiler nor an archive that has the kernel
    std::printf("cannot run: %s\n", error.what());
    return 1;
  }
  for (int i = 0; i < 3; ++i) std::printf("%.2f degrees, by rate %.2f\n", end.at(i), rate.gradient().at(i));
}
