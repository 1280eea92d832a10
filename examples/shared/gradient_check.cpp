#include "shared/gradient_check.h"

#include <algorithm>
#include <cmath>

namespace examples {

GradientCheck check_gradient(const std::function<double()> &objective, std::vector<samite::Buffer<double>> inputs,
                             double width, int components) {
  std::vector<double> gradients, differences;
  for (samite::Buffer<double> &input : inputs) {
    const std::vector<double> values = input.to_vector(), gradient = input.gradient().to_vector();
    const std::size_t stride = std::max<std::size_t>(1, values.size() / static_cast<std::size_t>(components));
    std::vector<double> moved = values;
    for (std::size_t i = 0; i < values.size(); i += stride) {
      auto objective_at = [&](double value) {
        moved[i] = value;
        input.copy_from(moved);
        return objective();
      };
      const double above = objective_at(values[i] + width), below = objective_at(values[i] - width);
      moved[i] = values[i];
      gradients.push_back(gradient[i]);
      differences.push_back((above - below) / (2 * width));
    }
    input.copy_from(values);
  }

  double largest = 0;
  for (double difference : differences) largest = std::max(largest, std::abs(difference));
  GradientCheck check{static_cast<int>(gradients.size()), 0};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double error = std::abs(gradients[i] - differences[i]) / std::max(std::abs(differences[i]), largest / 100);
    check.largest_error = std::isnan(error) ? HUGE_VAL : std::max(check.largest_error, error);
  }
  return check;
}

}  // namespace examples
