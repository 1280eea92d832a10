// Lesson 16. Second derivatives: Newton's method finds the shape of a hanging chain of springs in a few steps.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>

using namespace samite;

int main() {
  const int n = 8;  // heights of the joints; the chain's ends are fixed at height 0, one unit apart
  Kernel chain{"chain", {"energy", "height"}, [](Array<double, 1> energy, Array<const double, 1> height) {
                 Int i = thread_index();
                 Int last = height.extent(0);
                 Double left = select(i == 0, 0, height(max(i - 1, 0)));
                 Double right = select(i == last, 0, height(min(i, last - 1)));
                 Double stretch = hypot(right - left, 1.0 / 9) - 0.1;
                 atomic_add(energy(0), 500 * stretch * stretch + 0.25 * (left + right));
               }};

  Device device = Device::preferred();
  Buffer<double> height{device, {n}, std::vector<double>(n, -0.1), Gradient::tracked};
  Buffer<double> energy{device, {1}, Gradient::tracked};

  for (int round = 0; round < 6; ++round) {
    // A row of the Hessian for each unit vector; the gradient comes along.
    double hessian[n][n + 1];
    for (int j = 0; j < n; ++j) {
      std::vector<double> direction(n);
      direction[j] = 1;
      energy.fill(0);
      auto h = hessian_vector_product([&] { chain.launch({n + 1}, energy, height); }, {height}, {direction}, energy);
      for (int i = 0; i < n; ++i) hessian[j][i] = h.product[0][i];
      hessian[j][n] = h.gradient[0][j];
    }
    double size = 0;
    for (int i = 0; i < n; ++i) size = std::max(size, std::abs(hessian[i][n]));
    std::printf("round %d: largest element of the gradient %.1e\n", round, size);
    // Gauss's elimination of the symmetric, positive definite system.
    for (int i = 0; i < n; ++i)
      for (int row = 0; row < n; ++row)
        for (int column = n; row != i && column >= i; --column)
          hessian[row][column] -= hessian[row][i] / hessian[i][i] * hessian[i][column];
    for (int i = 0; i < n; ++i) height.set({i}, height.at(i) - hessian[i][n] / hessian[i][i]);
  }
  std::printf("lowest at %.4f\n", height.at(n / 2));
}
