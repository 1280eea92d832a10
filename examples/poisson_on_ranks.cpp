// Heat flow through a plate with a badly conducting right half: a sparse system with rows cut among ranks, and the
// gradient of the plate's mean temperature with respect to its conductivities. `mpirun -n 4 poisson_on_ranks`, or four
// threads.
#include <samite/distributed.h>
#include <samite/samite.h>
#include <samite/solve.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace samite;

constexpr std::int64_t n = 48;  // cells in each direction; the temperature around them is 0

void solve(const Communicator &world) {
  // This rank's rows of cells, and the matrix's triplets: neighbouring cells exchange heat.
  const std::int64_t begin = n * world.rank() / world.size(), end = n * (world.rank() + 1) / world.size();
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  const auto conductivity = [](std::int64_t x) { return x < n / 2 ? 1.0 : 0.1; };
  for (std::int64_t y = begin; y < end; ++y)
    for (std::int64_t x = 0; x < n; ++x)
      for (const auto &[dy, dx] : {std::pair{-1, 0}, std::pair{1, 0}, std::pair{0, -1}, std::pair{0, 1}}) {
        const double flow =
            std::sqrt(conductivity(x) * conductivity(std::min(std::max(x + dx, std::int64_t{0}), n - 1)));
        const bool inside = y + dy >= 0 && y + dy < n && x + dx >= 0 && x + dx < n;
        rows.push_back(y * n + x), columns.push_back(y * n + x), values.push_back(flow);
        if (inside) rows.push_back(y * n + x), columns.push_back((y + dy) * n + x + dx), values.push_back(-flow);
      }

  const Device device = world.device();
  const std::int64_t own = (end - begin) * n, triplets = static_cast<std::int64_t>(rows.size());
  Buffer<double> heat{device, {own}}, temperature{device, {own}, Gradient::tracked};
  Buffer<double> flows{device, {triplets}, values, Gradient::tracked};
  heat.fill(1.0 / (n * n));
  Tape tape;
  solvers::SolveReport report;
  tape.record([&] {
    DistributedMatrix matrix{world, own, {device, {triplets}, rows}, {device, {triplets}, columns}, flows};
    report = conjugate_gradients(
        matrix.linear_operator(), heat, temperature,
        {.tolerance = 1e-10, .preconditioner = jacobi(matrix.own_block()), .sum_over_ranks = sum_over(world)});
  });
  if (!report.converged()) throw std::runtime_error(report.to_string());

  // The mean temperature is the sum of all ranks' parts, and so is its gradient.
  Buffer<double> weight{device, {own}};
  weight.fill(1.0 / (n * n));
  tape.backward({{temperature, weight}});
  std::vector<double> sums{0, 0, 0};
  for (const double value : temperature.to_vector()) sums[0] += value / (n * n);
  const std::vector<double> gradient = flows.gradient().to_vector();
  for (std::size_t i = 0; i < gradient.size(); ++i) sums[rows[i] % n < n / 2 ? 1 : 2] += gradient[i] * values[i];
  sum_over(world)(sums);
  if (world.rank() != 0) return;
  std::printf("%s\nmean temperature %.5f\n", report.to_string().c_str(), sums[0]);
  std::printf("1 %% more conductivity on the left: %+.2e, on the right: %+.2e\n", 0.01 * sums[1], 0.01 * sums[2]);
  // All conductivities times s: the temperature divided by s.
  if (std::abs(sums[1] + sums[2] + sums[0]) > 1e-8 * sums[0]) throw std::runtime_error("the gradient is wrong");
}

int main() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE")) {
    solve(Communicator::from_mpi());
  } else {
    std::vector<std::thread> threads;
    for (const Communicator &world : Communicator::of_threads(4)) threads.emplace_back([=] { solve(world); });
    for (std::thread &thread : threads) thread.join();
  }
}
