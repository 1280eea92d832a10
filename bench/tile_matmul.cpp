// Products of tiles on the CPU in one thread, compared with OpenBLAS's in the same process: a chain of products that
// are added up, each of two matrices loaded from arrays. Without OpenBLAS there is nothing to compare; it is found by
// the loader, or at the path in SAMITE_OPENBLAS.
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/base/dynamic_library.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <cstdlib>
#include <optional>
#include <random>

using namespace samite;

namespace {

constexpr int products = 32;

class OpenBlas {
 public:
  explicit OpenBlas(DynamicLibrary library) : library_(std::move(library)) {
    library_.function<void(int)>("openblas_set_num_threads")(1);
  }

  std::string name() const {
    return fmt::format("OpenBLAS, kernels for {}", library_.function<char *()>("openblas_get_corename")());
  }
  // C += A B, row by row.
  void multiply(int n, const float *a, const float *b, float *c) const {
    library_.function<Gemm<float>>("cblas_sgemm")(row_by_row, plain, plain, n, n, n, 1, a, n, b, n, 1, c, n);
  }
  void multiply(int n, const double *a, const double *b, double *c) const {
    library_.function<Gemm<double>>("cblas_dgemm")(row_by_row, plain, plain, n, n, n, 1, a, n, b, n, 1, c, n);
  }

 private:
  template <class T>
  using Gemm = void(int, int, int, int, int, int, T, const T *, int, const T *, int, T, T *, int);
  static constexpr int row_by_row = 101, plain = 111;

  DynamicLibrary library_;
};

std::optional<OpenBlas> find_openblas() {
  std::vector<std::string> names{"libopenblas.so.0", "libopenblas.so"};
  if (const char *own = std::getenv("SAMITE_OPENBLAS")) names.insert(names.begin(), own);
  for (const std::string &name : names) try {
      return OpenBlas(DynamicLibrary(name, Unloading::never));
    } catch (const DeviceError &) {
      continue;
    }
  return std::nullopt;
}

template <class T>
Buffer<T> random_buffer(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(rows * columns));
  for (T &value : values) value = uniform(engine);
  return {Device::cpu(), {rows, columns}, values};
}

template <class T>
void against_openblas(bench::Report &report, const std::optional<OpenBlas> &openblas, const char *type, int n,
                      double tolerance, double reach) {
  const TileKernel chain{"chain", [n](Array<const T, 2> a, Array<const T, 2> b, Array<T, 2> c) {
                           Tile<T> sum = tile::zeros<T>({n, n});
                           for (Int k : range(products))
                             tile::matmul(tile::load(a, {k, 0}, {n, n}), tile::load(b, {k, 0}, {n, n}), sum);
                           tile::store(c, {0, 0}, sum);
                         }};
  const Buffer<T> a = random_buffer<T>(products * n, n, 1), b = random_buffer<T>(products * n, n, 2);
  Buffer<T> c(Device::cpu(), {n, n});
  std::vector<T> theirs(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  Launch launch = chain.record({1}, a, b, c);
  launch.launch();
  for (const int i : {0, n / 3, n - 1})
    for (const int j : {1, n / 2, n - 1}) {
      double sum = 0;
      for (int k = 0; k < products * n; ++k)
        sum += static_cast<double>(a.at(k / n * n + i, k % n)) * static_cast<double>(b.at(k, j));
      bench::require_close(static_cast<double>(c.at(i, j)), sum, tolerance, type);
    }
  auto peer = [&] {
    if (!openblas) return;
    std::fill(theirs.begin(), theirs.end(), T(0));
    for (int k = 0; k < products; ++k) openblas->multiply(n, a.data() + k * n * n, b.data() + k * n * n, theirs.data());
  };
  const bench::Outcome outcome = bench::alternate({.rounds = 101}, [&] { launch.launch(); }, peer);
  const double operations = 2.0 * n * n * n * products;
  report.add({fmt::format("{}, {} products of {}³", type, products, n), "time of a launch", outcome.ours * 1e6, "µs",
              openblas ? fmt::format("{}, {:.1f} GFLOP/s", openblas->name(), operations / outcome.peer * 1e-9)
                       : "no OpenBLAS here",
              openblas ? outcome.peer * 1e6 : 0, fmt::format("{:.1f} GFLOP/s", operations / outcome.ours * 1e-9)},
             {.ratio_at_least = openblas ? reach : 0});
}

}  // namespace

int main() {
  return bench::run("tile_matmul", [](bench::Report &report) {
    const std::optional<OpenBlas> openblas = find_openblas();
    if (!openblas) report.note("There is no OpenBLAS here (libopenblas0-pthread); SAMITE_OPENBLAS may name its file.");
    for (const int n : {64, 128}) against_openblas<float>(report, openblas, "f32", n, 1e-3, 0.7);
    for (const int n : {64, 128}) against_openblas<double>(report, openblas, "f64", n, 1e-10, 0);
  });
}
