// Lesson 20. Profiling: where the time goes, and what was compiled.
#include <samite/samite.h>

#include <cstdio>
#include <iostream>

using namespace samite;

int main() {
  Kernel smooth{"smooth", {"next", "now"}, [](Array<float, 2> next, Array<const float, 2> now) {
                  auto [y, x] = thread_index<2>();
                  auto at = [&](const Int &row, const Int &column) {
                    return now(clamp(row, 0, now.extent(0) - 1), clamp(column, 0, now.extent(1) - 1));
                  };
                  next(y, x) = (at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1)) / 4;
                }};
  Kernel energy{"energy", {"sum", "field"}, [](Array<float, 1> sum, Array<const float, 2> field) {
                  auto [y, x] = thread_index<2>();
                  atomic_add(sum(0), field(y, x) * field(y, x));
                }};

  Device device = Device::cpu();  // as on the page; a report for a GPU has registers, too
  const int n = 512;
  Buffer<float> a{device, {n, n}, Gradient::tracked}, b{device, {n, n}, Gradient::tracked};
  Buffer<float> sum{device, {1}, Gradient::tracked};

  trace("lesson20.json");  // or SAMITE_TRACE=lesson20.json in the environment
  for (int i = 0; i < 50; ++i) {
    Tape tape;
    tape.record([&] {
      smooth.launch({n, n}, b, a);
      energy.launch({n, n}, sum, b);
    });
    tape.backward(sum);
  }
  end_trace();
  std::cout << trace_summary() << '\n' << report(smooth) << '\n';
}
