// Whole vectors, sparse products, conjugate gradients and an optimiser's step: on a GPU if there is one, and on the CPU
// in smaller sizes. Each is compared with a copy of as many bytes as it must move, measured in the same process. With
// --turns each is timed when bench/peers/against_cuda_solvers.py requests it, in turn with CUB, cuSPARSE, cuBLAS and
// torch.
#include "bench/support/beside_a_copy.h"
#include "bench/support/grid_matrices.h"
#include "bench/support/report.h"
#include "bench/support/turns.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"
#include "samite/solve.h"

#include <fmt/core.h>

#include <functional>

using namespace samite;

namespace {

using bench::Setting;

// `bytes` are moved `times` times in one call.
void measure(const Setting &setting, const std::string &what, const std::function<void()> &ours, std::int64_t bytes,
             int times = 1) {
  bench::measure_beside_a_copy(setting, what, ours, bytes,
                               {.rounds = setting.on_gpu() ? 7 : 3, .copies = times, .metric = "time of a call"});
}

template <class T>
Buffer<T> mixed_numbers(Device device, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (T &value : values) value = static_cast<T>((state = state * 1664525U + 1013904223U) >> 8);
  return {device, {count}, values};
}

void primitives(const Setting &setting, int power) {
  const std::int64_t count = std::int64_t{1} << power;
  const auto x = mixed_numbers<std::int32_t>(setting.device, count);
  const Buffer<std::int32_t> sums(setting.device, {count}), keys(setting.device, {count}),
      places(setting.device, {count});
  const auto name = [&](const char *what) { return fmt::format("{}, 2^{}, int32", what, power); };
  solvers::scan(x, sums);
  bench::require_close(sums.at(2), static_cast<double>(x.at(0) + x.at(1) + x.at(2)), 0.5, name("scan"));
  measure(setting, name("scan"), [&] { solvers::scan(x, sums); }, 8 * count);
  const Buffer<std::int32_t> total(setting.device, {1});
  solvers::reduce(x, total);
  bench::require_close(total.at(0), sums.at(count - 1), 0.5, name("reduce"));
  measure(setting, name("reduce"), [&] { solvers::reduce(x, total); }, 4 * count);
  solvers::sort(x, sums, keys, places);
  bench::require_close(keys.at(count / 2) <= keys.at(count / 2 + 1), 1, 0, name("sort of pairs"));
  // Four passes over keys of 32 bits, 8 bits at a time, and one to count.
  measure(setting, name("sort of pairs"), [&] { solvers::sort(x, sums, keys, places); }, (4 * 16 + 4) * count);
}

template <class T>
void product(const Setting &setting, const bench::GridMatrix &grid, const std::string &name) {
  const solvers::SparseMatrix a = grid.on<T>(setting.device);
  const Buffer<T> x(setting.device, {a.columns()}, std::vector<T>(static_cast<std::size_t>(a.columns()), T(1))),
      y(setting.device, {a.rows()});
  solvers::multiply(a, x, y);
  bench::require_close(static_cast<double>(y.at(a.rows() / 2 + 1)), grid.sum_of_row(a.rows() / 2 + 1), 1e-5, name);
  const auto size = static_cast<std::int64_t>(sizeof(T));
  measure(
      setting, name, [&] { solvers::multiply(a, x, y); },
      a.entries() * (a.block().rows * a.block().columns * size + 4) + a.rows() * 2 * size +
          a.rows() / a.block().rows * 4);
}

// A tolerance that is not reached, so that all iterations run.
template <class T>
void conjugate_gradients(const Setting &setting, int extent, int iterations, const char *type) {
  const solvers::SparseMatrix a = bench::laplacian(extent).on<T>(setting.device);
  const std::int64_t rows = a.rows(), size = sizeof(T);
  const Buffer<T> b(setting.device, {rows}, std::vector<T>(static_cast<std::size_t>(rows), T(1)));
  Buffer<T> x(setting.device, {rows});
  const auto solve = [&] {
    x.fill(T(0));
    const solvers::SolveReport report =
        solvers::conjugate_gradients(a, b, x, {.tolerance = 1e-30, .iterations = iterations});
    bench::require_close(static_cast<double>(report.iterations), iterations, 0, "iterations");
  };
  // A, and eleven vectors: the product reads p and writes q, a step reads x, r, p and q and writes x and r, the next
  // direction reads r and p and writes p. The products of vectors could be computed along the way.
  measure(setting,
          fmt::format("conjugate gradients, {} iterations, {} x {} x {}, {}", iterations, extent, extent, extent, type),
          solve, a.entries() * (size + 4) + rows * 4 + 11 * rows * size, iterations);
}

void adam(const Setting &setting, int buffers, std::int64_t each) {
  const auto parameters =
      solvers::parameter_block(setting.device, ScalarType::Float32, std::vector<Extents>(buffers, Extents{each}));
  solvers::Optimiser optimiser(parameters, solvers::Adam{});
  // Reads parameter, gradient and two moments, writes parameter and moments.
  measure(setting, fmt::format("Adam, {} x {}, float", buffers, each), [&] { optimiser.step(); }, buffers * each * 28);
}

}  // namespace

int main(int count, char **arguments) {
  return bench::run("cuda_solve", [=](bench::Report &report) {
    const bool on_gpu = CudaDevice::count() > 0;
    const Setting setting{report, on_gpu ? Device::cuda(0) : Device::cpu(), bench::asked_for_turns(count, arguments)};
    if (!on_gpu) report.note("There is no GPU here; on the CPU, in smaller sizes.");
    for (const int power : on_gpu ? std::vector{28, 24, 20} : std::vector{22}) primitives(setting, power);
    const int extent = on_gpu ? 256 : 64, of_blocks = on_gpu ? 64 : 16;
    const auto cube = [](int n) { return fmt::format("{} x {} x {}", n, n, n); };
    product<float>(setting, bench::laplacian(extent), "product with a Laplacian, " + cube(extent) + ", float");
    product<double>(setting, bench::laplacian(extent), "product with a Laplacian, " + cube(extent) + ", double");
    product<float>(setting, bench::elasticity(of_blocks), "product with 3 x 3 blocks, " + cube(of_blocks) + ", float");
    product<double>(setting, bench::elasticity(of_blocks),
                    "product with 3 x 3 blocks, " + cube(of_blocks) + ", double");
    conjugate_gradients<float>(setting, extent, 50, "float");
    conjugate_gradients<double>(setting, extent, 50, "double");
    adam(setting, 100, on_gpu ? 100000 : 10000);
  });
}
