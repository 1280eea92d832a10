#include "bench/support/grid_matrices.h"

#include <array>

namespace samite::bench {
namespace {

// A row of blocks for each point; `coefficients` appends the block between a point and its neighbour.
template <class Neighbours, class Coefficients>
GridMatrix on_grid(int extent, int block, const Neighbours &is_neighbour, const Coefficients &coefficients) {
  GridMatrix matrix{.rows = std::int64_t{extent} * extent * extent * block, .block = block};
  const auto is_inside = [&](int i) { return i >= 0 && i < extent; };
  for (int z = 0; z < extent; ++z)
    for (int y = 0; y < extent; ++y)
      for (int x = 0; x < extent; ++x) {
        for (int dz = -1; dz <= 1; ++dz)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
              if (!is_neighbour(dz, dy, dx) || !is_inside(z + dz) || !is_inside(y + dy) || !is_inside(x + dx)) continue;
              matrix.indices.push_back(((z + dz) * extent + y + dy) * extent + x + dx);
              coefficients(matrix.values, std::array{dz, dy, dx});
            }
        matrix.offsets.push_back(static_cast<std::int32_t>(matrix.indices.size()));
      }
  return matrix;
}

}  // namespace

double GridMatrix::sum_of_row(std::int64_t i) const {
  const auto of = static_cast<std::size_t>(i / block), inner = static_cast<std::size_t>(i % block);
  const auto size = static_cast<std::size_t>(block);
  double sum = 0;
  for (auto k = static_cast<std::size_t>(offsets[of]); k < static_cast<std::size_t>(offsets[of + 1]); ++k)
    for (std::size_t j = 0; j < size; ++j) sum += values[(k * size + inner) * size + j];
  return sum;
}

GridMatrix laplacian(int extent) {
  return on_grid(
      extent, 1, [](int dz, int dy, int dx) { return dz * dz + dy * dy + dx * dx <= 1; },
      [](std::vector<double> &values, const std::array<int, 3> &d) {
        values.push_back(d == std::array<int, 3>{} ? 6.0 : -1.0);
      });
}

// Springs to all neighbours, along the line between the two points, and 1 on the diagonal, which makes it definite.
GridMatrix elasticity(int extent) {
  const auto stiffness = [](const std::array<int, 3> &d, std::size_t i, std::size_t j) {
    const int square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    return square == 0 ? 0.0 : static_cast<double>(d[i] * d[j]) / square;
  };
  std::array<double, 9> diagonal{1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        for (std::size_t i = 0; i < 3; ++i)
          for (std::size_t j = 0; j < 3; ++j) diagonal[3 * i + j] += stiffness({dz, dy, dx}, i, j);
  return on_grid(
      extent, 3, [](int, int, int) { return true; },
      [&](std::vector<double> &values, const std::array<int, 3> &d) {
        for (std::size_t i = 0; i < 3; ++i)
          for (std::size_t j = 0; j < 3; ++j)
            values.push_back(d == std::array<int, 3>{} ? diagonal[3 * i + j] : -stiffness(d, i, j));
      });
}

}  // namespace samite::bench
