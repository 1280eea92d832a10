// Lesson 6. Atomics and reductions: a histogram, a mean and the largest value, and the gradient of the mean.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  Kernel histogram{"histogram", [](Array<std::int32_t, 1> bins, Array<const float, 1> x) {
                     Int i = thread_index();
                     Int bin = clamp(cast<Int>(x(i) * bins.extent(0)), 0, bins.extent(0) - 1);
                     atomic_add(bins(bin), 1);  // bins(bin) += 1 would lose counts: another instance adds, too
                   }};
  Kernel mean{"mean", [](Array<float, 1> out, Array<const float, 1> x) {
                atomic_add(out(0), x(thread_index()) / x.extent(0));
              }};
  Kernel largest{"largest",
                 [](Array<float, 1> out, Array<const float, 1> x) { atomic_max(out(0), x(thread_index())); }};

  Device device = Device::preferred();
  const int n = 10'000;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = 0.5f + 0.5f * std::sin(0.01f * static_cast<float>(i));
  Buffer<float> x{device, {n}, values, Gradient::tracked}, sums{device, {1}, Gradient::tracked}, most{device, {1}};
  Buffer<std::int32_t> bins{device, {5}};

  histogram.launch({n}, bins, x);
  mean.launch({n}, sums, x);
  largest.launch({n}, most, x);
  std::printf("%d", bins.at(0));
  for (int bin = 1; bin < 5; ++bin) std::printf(" %d", bins.at(bin));
  std::printf("\nmean %.4f, largest %.4f\n", sums.at(0), most.at(0));

  sums.gradient().fill(1);
  mean.launch({n}, {.direction = Direction::adjoint}, sums, x);
  std::printf("d mean / d x(0) = %g\n", x.gradient().at(0));
}
