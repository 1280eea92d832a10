// Fits the two parameters of a decay, y = p0 exp(-p1 t), to samples of it: a tape gives the gradient of the loss.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  Kernel squared_error{"squared_error", [](Array<double, 1> loss, Array<const double, 1> parameters,
                                           Array<const double, 1> time, Array<const double, 1> sample) {
                         Int i = thread_index();
                         Double model = parameters(0) * exp(-parameters(1) * time(i));
                         Double difference = model - sample(i);
                         atomic_add(loss(0), difference * difference / sample.extent(0));
                       }};

  Device device = Device::preferred();
  const int n = 100;
  Buffer<double> time{device, {n}}, sample{device, {n}};
  for (int i = 0; i < n; ++i) {
    time.set({i}, 0.03 * i);
    sample.set({i}, 2.5 * std::exp(-1.3 * 0.03 * i));
  }
  Buffer<double> parameters{device, {2}, {1, 1}, Gradient::tracked}, loss{device, {1}, Gradient::tracked};

  int step = 0;
  double error = 1;
  for (; error > 1e-12 && step < 2000; ++step) {
    Tape tape;
    loss.fill(0);
    tape.record([&] { squared_error.launch({n}, loss, parameters, time, sample); });
    tape.backward(loss);
    for (int j : {0, 1}) parameters.set({j}, parameters.at(j) - 0.5 * parameters.gradient().at(j));
    tape.zero_gradients();
    error = loss.at(0);
  }
  std::printf("y = %.5f exp(-%.5f t) after %d steps, loss %.1e\n", parameters.at(0), parameters.at(1), step, error);
  return error <= 1e-12 ? 0 : 1;
}
