// Sparse products, conjugate gradients, scans, sums, sorts and Adam's step on the CPU, beside Eigen, oneTBB, the
// standard library's parallel sort and a loop by hand. Arguments: the power of two of elements to sort and scan, and
// the points of a grid's side.
#include "bench/peers/solve.h"
#include "bench/support/alternate.h"
#include "bench/support/grid_matrices.h"
#include "bench/support/report.h"
#include "samite/samite.h"
#include "samite/solve.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>

using namespace samite;

namespace {

// Compressed rows of numbers, of a matrix of blocks.
template <class T>
struct Rows {
  std::vector<std::int32_t> offsets{0}, indices;
  std::vector<T> values;

  explicit Rows(const bench::GridMatrix &grid) {
    const auto size = static_cast<std::size_t>(grid.block);
    for (std::size_t row = 0; row < static_cast<std::size_t>(grid.rows); ++row) {
      const std::size_t of = row / size, i = row % size;
      for (auto k = static_cast<std::size_t>(grid.offsets[of]); k < static_cast<std::size_t>(grid.offsets[of + 1]); ++k)
        for (std::size_t j = 0; j < size; ++j) {
          indices.push_back(grid.indices[k] * grid.block + static_cast<std::int32_t>(j));
          values.push_back(static_cast<T>(grid.values[(k * size + i) * size + j]));
        }
      offsets.push_back(static_cast<std::int32_t>(indices.size()));
    }
  }

  auto view() const {
    using View = std::conditional_t<std::same_as<T, float>, PeerMatrixF32, PeerMatrixF64>;
    return View{static_cast<long>(offsets.size()) - 1, static_cast<long>(indices.size()), offsets.data(),
                indices.data(), values.data()};
  }
};

void peer_product(const Rows<float> &a, const float *x, float *y) {
  const auto view = a.view();
  peer_sparse_product_f32(&view, x, y);
}
void peer_product(const Rows<double> &a, const double *x, double *y) {
  const auto view = a.view();
  peer_sparse_product_f64(&view, x, y);
}
void peer_solve(const Rows<float> &a, const float *b, float *x, long iterations) {
  const auto view = a.view();
  peer_conjugate_gradients_f32(&view, b, x, iterations);
}
void peer_solve(const Rows<double> &a, const double *b, double *x, long iterations) {
  const auto view = a.view();
  peer_conjugate_gradients_f64(&view, b, x, iterations);
}

template <class T>
std::vector<T> mixed_numbers(std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (T &value : values) value = static_cast<T>((state = state * 1664525U + 1013904223U) >> 8);
  return values;
}

template <class T>
void product(bench::Report &report, const bench::GridMatrix &grid, const std::string &name) {
  const Device cpu = Device::cpu();
  const solvers::SparseMatrix a = grid.on<T>(cpu);
  const Rows<T> rows(grid);
  std::vector<T> numbers = mixed_numbers<T>(grid.rows), expected(numbers.size());
  for (T &number : numbers) number = number / T(1 << 24) - T(0.5);
  const Buffer<T> x(cpu, {grid.rows}, numbers), y(cpu, {grid.rows});
  solvers::multiply(a, x, y);
  peer_product(rows, numbers.data(), expected.data());
  for (std::int64_t i = 0; i < grid.rows; i += 997)
    bench::require_close(static_cast<double>(y.at(i)), static_cast<double>(expected[static_cast<std::size_t>(i)]),
                         sizeof(T) == 4 ? 1e-4 : 1e-12, name);
  const bench::Outcome outcome = bench::alternate(
      {.rounds = 15}, [&] { solvers::multiply(a, x, y); },
      [&] { peer_product(rows, numbers.data(), expected.data()); });
  const double bytes = static_cast<double>(a.entries()) * (grid.block * grid.block * double(sizeof(T)) + 4) +
                       static_cast<double>(grid.rows) * (2.0 * sizeof(T) + 4.0 / grid.block);
  report.add({name, "time of a product", outcome.ours * 1e3, "ms", "Eigen, CSR, 2 threads", outcome.peer * 1e3,
              fmt::format("{:.1f} GB/s", bytes / outcome.ours * 1e-9)},
             {.ratio_at_least = 1.5});
}

template <class T>
void conjugate_gradients(bench::Report &report, int extent, int iterations, const char *type) {
  const Device cpu = Device::cpu();
  const bench::GridMatrix grid = bench::laplacian(extent);
  const solvers::SparseMatrix a = grid.on<T>(cpu);
  const Rows<T> rows(grid);
  const std::vector<T> ones(static_cast<std::size_t>(grid.rows), T(1));
  std::vector<T> theirs(ones.size());
  const Buffer<T> b(cpu, {grid.rows}, ones);
  Buffer<T> x(cpu, {grid.rows});
  const auto ours = [&] {
    x.fill(T(0));
    solvers::conjugate_gradients(a, b, x, {.tolerance = 1e-30, .iterations = iterations});
  };
  const auto peer = [&] { peer_solve(rows, ones.data(), theirs.data(), iterations); };
  ours(), peer();
  const std::string name = fmt::format("conjugate gradients, {0} x {0} x {0}, {1}", extent, type);
  bench::require_close(static_cast<double>(x.at(grid.rows / 2)), static_cast<double>(theirs[theirs.size() / 2]),
                       1e-3 * std::abs(static_cast<double>(theirs[theirs.size() / 2])), name);
  const bench::Outcome outcome = bench::alternate({.rounds = 5}, ours, peer);
  report.add({name, "time of an iteration", outcome.ours * 1e3 / iterations, "ms", "Eigen, 2 threads",
              outcome.peer * 1e3 / iterations},
             {.ratio_at_least = 1});
}

void primitives(bench::Report &report, int power) {
  const Device cpu = Device::cpu();
  const std::int64_t count = std::int64_t{1} << power;
  const std::vector<std::int32_t> numbers = mixed_numbers<std::int32_t>(count);
  const Buffer<std::int32_t> x(cpu, {count}, numbers), sums(cpu, {count}), total(cpu, {1});
  const auto name = [&](const char *what) { return fmt::format("{}, 2^{}, int32", what, power); };
  std::vector<std::int32_t> expected(numbers.size());
  solvers::scan(x, sums);
  peer_scan(numbers.data(), expected.data(), count);
  bench::require_close(sums.at(count - 1), expected.back(), 0, name("scan"));
  bench::Outcome outcome = bench::alternate(
      {.rounds = 9}, [&] { solvers::scan(x, sums); }, [&] { peer_scan(numbers.data(), expected.data(), count); });
  report.add({name("scan"), "time of a call", outcome.ours * 1e3, "ms", "oneTBB, parallel_scan", outcome.peer * 1e3},
             {.ratio_at_least = 1});
  solvers::reduce(x, total);
  std::int32_t sum = peer_total(numbers.data(), count);
  bench::require_close(total.at(0), sum, 0, name("reduce"));
  outcome = bench::alternate(
      {.rounds = 9}, [&] { solvers::reduce(x, total); }, [&] { sum += peer_total(numbers.data(), count); });
  report.add(
      {name("reduce"), "time of a call", outcome.ours * 1e3, "ms", "oneTBB, parallel_reduce", outcome.peer * 1e3},
      {.ratio_at_least = 1});

  const Buffer<std::int32_t> keys(cpu, {count}), places(cpu, {count});
  std::vector<PeerPair> pairs(numbers.size());
  const auto fill = [&] {
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {numbers[i], static_cast<std::int32_t>(i)};
  };
  outcome = bench::alternate(
      {.rounds = 3, .prepare = fill}, [&] { solvers::sort(x, sums, keys, places); },
      [&] { peer_sort(pairs.data(), count); });
  for (std::int64_t i = 0; i < count; i += 1 + count / 1000)
    bench::require_close(keys.at(i), pairs[static_cast<std::size_t>(i)].key, 0, name("sort of pairs"));
  report.add({name("sort of pairs"), "time of a call", outcome.ours * 1e3, "ms", "std::sort, std::execution::par",
              outcome.peer * 1e3},
             {.ratio_at_least = 1.5});
}

void adam(bench::Report &report, int buffers, std::int64_t each) {
  const auto parameters =
      solvers::parameter_block(Device::cpu(), ScalarType::Float32, std::vector<Extents>(buffers, Extents{each}));
  solvers::Optimiser optimiser(parameters, solvers::Adam{});
  const std::int64_t count = buffers * each;
  std::vector<float> x(static_cast<std::size_t>(count)), gradient(x), first(x), second(x);
  const PeerAdam options{1e-3F, 0.9F, 0.999F, 1e-8F, 10, 1000};
  const bench::Outcome outcome = bench::alternate(
      {.rounds = 15}, [&] { optimiser.step(); },
      [&] { peer_adam(x.data(), gradient.data(), first.data(), second.data(), count, &options); });
  report.add({fmt::format("Adam, {} x {}, float", buffers, each), "time of a step", outcome.ours * 1e3, "ms",
              "OpenMP, parallel for simd", outcome.peer * 1e3},
             {.ratio_at_least = 0.95});
}

}  // namespace

int main(int argc, char **argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const int power = argument(1, 26), extent = argument(2, 256);
  return bench::run("solve", [&](bench::Report &report) {
    const auto cube = [](int n) { return fmt::format("{0} x {0} x {0}", n); };
    const bench::GridMatrix laplacian = bench::laplacian(extent), elasticity = bench::elasticity(extent / 4);
    product<float>(report, laplacian, "product with a Laplacian, " + cube(extent) + ", float");
    product<double>(report, laplacian, "product with a Laplacian, " + cube(extent) + ", double");
    product<float>(report, elasticity, "product with 3 x 3 blocks, " + cube(extent / 4) + ", float");
    product<double>(report, elasticity, "product with 3 x 3 blocks, " + cube(extent / 4) + ", double");
    conjugate_gradients<float>(report, extent / 2, 30, "float");
    conjugate_gradients<double>(report, extent / 2, 30, "double");
    primitives(report, power);
    adam(report, 100, 100000);
  });
}
