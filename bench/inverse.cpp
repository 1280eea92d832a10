// The inverse of small matrices, which scales those whose cofactors would overflow or underflow, compared with plain
// cofactors. The matrices are well scaled. On the CPU, in cache.
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <random>

using namespace samite;

namespace {

template <int N>
Matrix<Float, N, N> loaded(const Array<const float, 2> &from, const Int &i) {
  return Matrix<Float, N, N>::generate([&](int row, int column) { return Float(from(row * N + column, i)); });
}

template <int N>
void store(const Array<float, 2> &to, const Int &i, const Matrix<Float, N, N> &matrix) {
  for (int row = 0; row < N; ++row)
    for (int column = 0; column < N; ++column) to(row * N + column, i) = matrix(row, column);
}

template <int N>
void inverses(bench::Report &report) {
  constexpr int count = 4096, calls = 20;
  Kernel any_size{"any_size", [](Array<float, 2> y, Array<const float, 2> x) {
                    Int i = thread_index();
                    store<N>(y, i, inverse(loaded<N>(x, i)));
                  }};
  Kernel cofactors{"cofactors", [](Array<float, 2> y, Array<const float, 2> x) {
                     Int i = thread_index();
                     store<N>(y, i, lang::inverse_by_cofactors(loaded<N>(x, i)));
                   }};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> element(-1.f, 1.f);
  std::vector<float> values(static_cast<std::size_t>(N * N * count));
  for (float &value : values) value = element(random);
  Buffer<float> x{Device::cpu(), {N * N, count}, values}, y{Device::cpu(), {N * N, count}},
      z{Device::cpu(), {N * N, count}};
  Launch ours = any_size.record({count}, y, x), peer = cofactors.record({count}, z, x);
  ours.launch();
  peer.launch();
  for (std::int64_t i = 0; i < y.count(); ++i) bench::require_close(y.data()[i], z.data()[i], 1e-4, "inverse");
  const bench::Outcome outcome =
      bench::alternate({.rounds = 51, .calls = calls}, [&] { ours.launch(); }, [&] { peer.launch(); });
  report.add({fmt::format("{0} inverses of {1} × {1} f32", count, N), "time of a launch", outcome.ours * 1e6, "µs",
              "plain cofactors", outcome.peer * 1e6},
             {.ratio_at_least = 1 / 1.3});
}

// Loops of the kernel, beside the same elimination as straight code, which takes much longer to compile.
void inverses_in_loops(bench::Report &report) {
  constexpr int size = 12, count = 1024;
  Kernel loops{"loops", [](Array<float, 2> y, Array<const float, 2> x) {
                 Int i = thread_index();
                 store<size>(y, i, inverse(loaded<size>(x, i)));
               }};
  Kernel straight{"straight", [](Array<float, 2> y, Array<const float, 2> x) {
                    Int i = thread_index();
                    store<size>(y, i, lang::inverse_of_any_size(loaded<size>(x, i)));
                  }};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> element(-1.f, 1.f);
  std::vector<float> values(static_cast<std::size_t>(size * size * count));
  for (float &value : values) value = element(random);
  Buffer<float> x{Device::cpu(), {size * size, count}, values}, y{Device::cpu(), {size * size, count}},
      z{Device::cpu(), {size * size, count}};
  Launch ours = loops.record({count}, y, x), peer = straight.record({count}, z, x);
  ours.launch();
  peer.launch();
  for (std::int64_t i = 0; i < y.count(); ++i) bench::require_close(y.data()[i], z.data()[i], 1e-2, "inverse");
  const bench::Outcome outcome =
      bench::alternate({.rounds = 51, .calls = 4}, [&] { ours.launch(); }, [&] { peer.launch(); });
  report.add({fmt::format("{0} inverses of {1} × {1} f32 in loops", count, size), "time of a launch",
              outcome.ours * 1e6, "µs", "straight code", outcome.peer * 1e6},
             {.ratio_at_least = 1});
}

}  // namespace

int main() {
  return bench::run("inverse", [](bench::Report &report) {
    inverses<2>(report);
    inverses<3>(report);
    inverses<4>(report);
    inverses_in_loops(report);
  });
}
