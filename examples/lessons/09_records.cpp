// Lesson 9. Records and graphs: a wave equation, launched without looking anything up.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  // now becomes the next state in `before`: the roles of the two swap with each step.
  Kernel step{"step",
              {"before", "now", "stiffness"},
              [](Array<double, 1> before, Array<const double, 1> now, Double stiffness) {
                Int i = thread_index();
                if_(interior(now, i),
                    [&] { before(i) = 2 * now(i) - before(i) + stiffness * (now(i - 1) - 2 * now(i) + now(i + 1)); });
              }};

  Device device = Device::preferred();
  Stream stream{device};
  const int n = 101;
  std::vector<double> bow(n);
  for (int i = 0; i < n; ++i) bow[i] = std::sin(3.14159265358979 * i / (n - 1));
  Buffer<double> a{device, {n}, bow}, b{device, {n}, bow};

  // Checked, compiled and laid out once.
  Launch there = step.record({n}, {.stream = stream}, a, b, 1.0);
  Launch back = step.record({n}, {.stream = stream}, b, a, 1.0);
  for (int i = 0; i < 25; ++i) {
    there.launch();
    back.launch();
  }
  std::printf("after  50 steps: %6.3f\n", b.at(50));

  Graph fifty = capture(stream, [&] {
    for (int i = 0; i < 25; ++i) {
      there.launch();
      back.launch();
    }
  });
  fifty.launch();
  std::printf("after 100 steps: %6.3f\n", b.at(50));

  there.set("stiffness", 0.25);  // a string of half the speed
  back.set("stiffness", 0.25);
  for (int i = 0; i < 50; ++i) fifty.set(i, i % 2 == 0 ? there : back);
  fifty.launch();
  std::printf("after  50 slow steps: %6.3f\n", b.at(50));
}
