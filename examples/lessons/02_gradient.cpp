// Lesson 2. Its gradient: how the distance that a ball flies depends on the angle and the speed of the throw.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

int main() {
  Kernel throws{"throws",
                {"distance", "angle", "speed"},
                [](Array<double, 1> distance, Array<const double, 1> angle, Array<const double, 1> speed) {
                  Int i = thread_index();
                  distance(i) = speed(i) * speed(i) * sin(2 * angle(i)) / 9.81;
                }};

  Device device = Device::preferred();
  Buffer<double> angle{device, {3}, {0.5, 0.7, 1.0}, Gradient::tracked};
  Buffer<double> speed{device, {3}, {10, 10, 10}, Gradient::tracked};
  Buffer<double> distance{device, {3}, Gradient::tracked};

  auto [forward, adjoint] = throws.record_with_adjoint({3}, distance, angle, speed);
  forward.launch();
  distance.gradient().fill(1);  // the objective is the sum of the distances
  adjoint.launch();             // adds to the gradients of angle and speed, and clears that of distance

  for (int i = 0; i < 3; ++i)
    std::printf("%.2f m, by angle %7.3f, by speed %.3f\n", distance.at(i), angle.gradient().at(i),
                speed.gradient().at(i));
}
