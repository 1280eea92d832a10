#include "throw.h"

namespace cloth {
namespace {

template <class Place>
std::vector<double> lay_out(const Cloth &cloth, const Place &place) {
  std::vector<double> values;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (int row = 0; row < cloth.side; ++row)
      for (int column = 0; column < cloth.side; ++column)
        values.push_back(place(row * cloth.spacing(), column * cloth.spacing())[axis]);
  return values;
}

using Place = std::array<double, 3>;

}  // namespace

std::vector<double> held(const Cloth &cloth) {
  return lay_out(cloth, [](double down, double along) { return Place{along, 2 - down, 0}; });
}

std::vector<double> target(const Cloth &cloth) {
  return lay_out(cloth, [](double down, double along) { return Place{3.5, 2 - down, 0.5 - along}; });
}

}  // namespace cloth
