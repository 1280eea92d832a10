#include "shared/adam.h"

#include <cmath>

namespace examples {

using namespace samite;

constexpr float mean_decay = 0.9f, square_decay = 0.999f;

Adam::Adam(const std::vector<Buffer<float>> &parameters) {
  const Kernel adam{"adam",
                    {"x", "gradient", "mean", "square", "rate", "scale"},
                    [](Array<float, 1> x, Array<float, 1> gradient, Array<float, 1> mean, Array<float, 1> square,
                       const Float &rate, const Float &scale) {
                      Int i = thread_index();
                      Float g = gradient(i);
                      Float m = mean_decay * mean(i) + (1 - mean_decay) * g;
                      Float v = square_decay * square(i) + (1 - square_decay) * g * g;
                      mean(i) = m;
                      square(i) = v;
                      x(i) -= rate * m / (sqrt(v * scale) + 1e-8f);
                      gradient(i) = 0;
                    }};
  for (const Buffer<float> &parameter : parameters) {
    const Extents count{parameter.count()};
    Buffer<float> mean(parameter.device(), count), square(parameter.device(), count);
    launches_.push_back(
        adam.record(count, parameter.reshape(count), parameter.gradient().reshape(count), mean, square, 0.0f, 0.0f));
  }
}

void Adam::step(float rate) {
  ++steps_;
  const double seen = 1 - std::pow(double(mean_decay), steps_),
               squares_seen = 1 - std::pow(double(square_decay), steps_);
  for (Launch &launch : launches_) {
    launch.set("rate", static_cast<float>(rate / seen));
    launch.set("scale", static_cast<float>(1 / squares_seen));
    launch.launch();
  }
}

}  // namespace examples
