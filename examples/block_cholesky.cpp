// Solves symmetric systems A x = b of 64 unknowns by blocks of 16: a factor L of A = L Lᵀ with blocks that are
// products, Cholesky factors and triangular solutions of tiles (Golub, Van Loan, Matrix Computations, 4.2.9). Each
// block of the launch solves one system. Prints the largest error, and checks the gradient against differences.
#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace samite;

namespace {

constexpr int side = 16, blocks = 4, unknowns = side * blocks;

const TileKernel solve_systems{
    "solve_systems", [](Array<double, 2> x, Array<const double, 3> a, Array<const double, 2> b) {
      Int system = block_index();
      std::vector<std::vector<Tile<double>>> l(blocks);
      const auto of_a = [&](int i, int j) {
        return tile::reshape(tile::load(a, {system, i, j}, {1, side, side}), {side, side});
      };
      // Row by row. The loops are C++'s: capture unrolls them.
      for (int i = 0; i < blocks; ++i)
        for (int j = 0; j <= i; ++j) {
          Tile<double> rest = of_a(i, j);
          for (int k = 0; k < j; ++k) tile::matmul(-l[i][k], l[j][k], rest, {.b = true});
          // L[i][j] L[j][j]ᵀ = rest
          l[i].push_back(i == j ? tile::cholesky(rest)
                                : tile::transpose(tile::solve_triangular(l[j][j], tile::transpose(rest))));
        }
      std::vector<Tile<double>> y, solution;
      for (int i = 0; i < blocks; ++i) {
        Tile<double> rest = tile::reshape(tile::load(b, {system, i}, {1, side}), {side, 1});
        for (int k = 0; k < i; ++k) tile::matmul(-l[i][k], y[k], rest);
        y.push_back(tile::solve_triangular(l[i][i], rest));
      }
      for (int i = blocks - 1; i >= 0; --i) {
        for (int k = 0; k < blocks - 1 - i; ++k) tile::matmul(-l[blocks - 1 - k][i], solution[k], y[i], {.a = true});
        solution.push_back(tile::solve_triangular(l[i][i], y[i], {.transposed = true}));
        tile::store(x, {system, i}, tile::reshape(solution.back(), {1, side}));
      }
    }};

}  // namespace

int main() {
  const Device device = Device::preferred();
  const int systems = 3;
  std::vector<double> a, b, expected;
  for (int s = 0; s < systems; ++s) {
    const auto element = [&](int i, int j) {
      return std::exp(-0.1 * std::abs(i - j)) + (i == j ? 1 + 0.01 * i + s : 0);
    };
    for (int i = 0; i < unknowns; ++i) {
      double sum = 0;
      for (int j = 0; j < unknowns; ++j) {
        a.push_back(element(i, j));
        sum += element(i, j) * std::sin(j + s);
      }
      b.push_back(sum);
      expected.push_back(std::sin(i + s));
    }
  }
  Buffer<double> matrices{device, {systems, unknowns, unknowns}, a, Gradient::tracked};
  Buffer<double> right{device, {systems, unknowns}, b, Gradient::tracked};
  Buffer<double> x{device, {systems, unknowns}, Gradient::tracked};
  solve_systems.launch({systems}, x, matrices, right);

  double error = 0;
  const std::vector<double> solution = x.to_vector();
  for (std::size_t i = 0; i < expected.size(); ++i) error = std::max(error, std::abs(solution[i] - expected[i]));
  const GradientReport report = gradcheck(solve_systems, {systems}, x, matrices, right);
  std::printf("%d systems of %d unknowns: largest error %.1e, gradient %s\n", systems, unknowns, error,
              report.passed ? "as differences" : "WRONG");
  return error < 1e-12 && report.passed ? 0 : 1;
}
