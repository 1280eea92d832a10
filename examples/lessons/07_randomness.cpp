// Lesson 7. Randomness: the expected price of a choice that depends on chance, and its gradient.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

int main() {
  // A newsagent buys `order` papers at 1 and sells min(order, demand) of them at 3. The demand is normally distributed.
  Kernel profit{
      "profit", {"mean", "order", "seed"}, [](Array<double, 1> mean, Array<const double, 1> order, UInt64 seed) {
        Random random{seed, thread_index()};  // each instance has a stream of its own
        Double demand = 100 + 20 * random.normal<double>();
        atomic_add(mean(0), (3 * min(order(0), demand) - order(0)) / 100'000);
      }};

  Device device = Device::preferred();
  const int samples = 100'000;
  Buffer<double> order{device, {1}, {80}, Gradient::tracked}, mean{device, {1}, Gradient::tracked};

  for (int step = 0; step <= 60; ++step) {
    mean.fill(0);
    auto [forward, adjoint] = profit.record_with_adjoint({samples}, mean, order, std::uint64_t{1});
    forward.launch();
    mean.gradient().fill(1);
    adjoint.launch();  // draws the same numbers again
    if (step % 20 == 0)
      std::printf("order %6.1f: profit %.1f, gradient %6.3f\n", order.at(0), mean.at(0), order.gradient().at(0));
    order.set({0}, order.at(0) + 3 * order.gradient().at(0));
    order.zero_gradient();
  }

  HostRandom host{1, 0};
  std::printf("the first demand: %.4f\n", 100 + 20 * host.normal<double>());
}
