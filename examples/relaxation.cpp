// Solves Laplace's equation on a square with one warm side: a graph repeats its sweeps on the device until they change
// little, and the host reads the result once, at the end.
#include <samite/samite.h>

#include <array>
#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  Kernel sweep{"sweep", [](Array<float, 2> next, Array<const float, 2> now, Array<float, 1> change) {
                 auto [y, x] = thread_index<2>();
                 if_(interior(now, y, x), [&] {
                   Float mean = (now(y - 1, x) + now(y + 1, x) + now(y, x - 1) + now(y, x + 1)) / 4;
                   Float difference = mean - now(y, x);
                   atomic_add(change(0), difference * difference);
                   next(y, x) = mean;
                 });
               }};
  Kernel decide{"decide", [](Array<bool, 1> going, Array<std::int32_t, 1> rounds, Array<float, 1> change) {
                  Int i = thread_index();
                  going(i) = change(i) > 1e-10f;
                  rounds(i) += 1;
                  change(i) = 0;
                }};

  Device device = Device::preferred();
  Stream stream{device};
  const int n = 33;
  Buffer<float> a{device, {n, n}}, b{device, {n, n}}, change{device, {1}};
  Buffer<bool> going{device, {1}};
  Buffer<std::int32_t> rounds{device, {1}};
  for (Buffer<float> &side : std::array{a, b}) side.slice(0, 0, 1).fill(1);
  going.set({0}, true);

  Launch there = sweep.record({n, n}, {.stream = stream}, b, a, change);
  Launch back = sweep.record({n, n}, {.stream = stream}, a, b, change);
  Launch test = decide.record({1}, {.stream = stream}, going, rounds, change);
  Graph solve = capture(stream, [&] {
    capture_while(going, [&] {
      there.launch();
      back.launch();
      test.launch();
    });
  });

  PinnedArray<float> solution{device, {n, n}};
  PinnedArray<std::int32_t> count{device, {1}};
  solve.launch();
  a.copy_to(solution, stream);
  rounds.copy_to(count, stream);
  // Here the host could do other things. The values wait for their copies.

  double middle = solution.values()[n / 2 * n + n / 2];
  std::printf("%.4f in the middle after %d sweeps, on %s\n", middle, 2 * count.values()[0], device.to_string().c_str());
  return std::abs(middle - 0.25) < 1e-3 ? 0 : 1;
}
