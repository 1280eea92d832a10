// Lesson 3. A tape: the gradient of many launches, here of 100 steps of a ball that flies through air.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  Kernel step{"step", {"next", "now"}, [](Array<double, 1> next, Array<const double, 1> now) {
                Double vx = now(2), vy = now(3), speed = hypot(vx, vy), dt = 0.02;
                next(0) = now(0) + dt * vx;
                next(1) = now(1) + dt * vy;
                next(2) = vx - dt * 0.1 * speed * vx;
                next(3) = vy - dt * (0.1 * speed * vy + 9.81);
              }};
  Kernel miss{"miss", [](Array<double, 1> loss, Array<const double, 1> end) {
                loss(0) = (end(0) - 6) * (end(0) - 6) + (end(1) - 1) * (end(1) - 1);
              }};

  Device device = Device::preferred();
  const int steps = 100;
  std::vector<Buffer<double>> state;  // x, y, and their velocities, at each time
  for (int i = 0; i <= steps; ++i) state.emplace_back(device, Extents{4}, Gradient::tracked);
  Buffer<double> loss{device, {1}, Gradient::tracked};

  double vx = 5, vy = 8;
  for (int round = 0; round <= 20; ++round) {
    state[0].copy_from({0, 0, vx, vy});
    Tape tape;
    tape.record([&] {
      for (int i = 0; i < steps; ++i) step.launch({1}, state[i + 1], state[i]);
      miss.launch({1}, loss, state[steps]);
    });
    tape.backward(loss);
    if (round % 5 == 0) std::printf("round %2d: misses the target by %.4f m\n", round, std::sqrt(loss.at(0)));
    vx -= 0.2 * state[0].gradient().at(2);
    vy -= 0.2 * state[0].gradient().at(3);
    tape.zero_gradients();
  }
  std::printf("throw it with %.3f m/s forwards and %.3f m/s upwards\n", vx, vy);
}
