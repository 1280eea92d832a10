// Products of matrices of 8-bit numbers with scales, compared with the same products of bfloat16. Without a GPU there
// is nothing to measure. With --turns each is timed when bench/peers/against_torch_scaled.py requests it, in turn with
// torch's.
#include "bench/support/alternate_on_device.h"
#include "bench/support/report.h"
#include "bench/support/turns.h"
#include "samite/ops/quantise.h"
#include "samite/ops/scaled_matmul.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <cmath>
#include <random>

using namespace samite;

namespace {

std::vector<float> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(uniform(engine));
  return values;
}

// A matrix in 8 bits with its scales, and in 16 bits.
struct Factor {
  Factor(std::int64_t rows, std::int64_t columns, const Extents &scales, unsigned seed)
      : quantised(Device::cuda(0), {rows, columns}),
        scale(Device::cuda(0), scales),
        half(Device::cuda(0), {rows, columns}) {
    const std::vector<float> values = random_numbers(rows * columns, seed);
    ops::quantise(Buffer<float>(Device::cuda(0), {rows, columns}, values), quantised, scale);
    std::vector<bfloat16> rounded;
    for (const float value : values) rounded.push_back(bfloat16(value));
    half.copy_from(rounded);
  }

  Buffer<f8e4m3> quantised;
  Buffer<float> scale;
  Buffer<bfloat16> half;
};

std::int64_t blocks(std::int64_t count) { return (count + ops::scale_block - 1) / ops::scale_block; }

struct Shape {
  std::int64_t rows, columns, inner;
};

// b is transposed, as the hardware takes it. Scales: of each row of a and column of b, or of 128 terms of a row of a
// and of 128 by 128 of b.
void measure(bench::Report &report, const Shape &s, bool by_blocks, bool in_turns) {
  const Factor a(s.rows, s.inner, {s.rows, by_blocks ? blocks(s.inner) : 1}, 1);
  const Factor b(s.columns, s.inner, {by_blocks ? blocks(s.columns) : s.columns, by_blocks ? blocks(s.inner) : 1}, 2);
  const Buffer<float> scale_b = b.scale.transpose().clone();  // as of (inner x columns)
  Buffer<bfloat16> c(Device::cuda(0), {s.rows, s.columns}), in_halves(Device::cuda(0), {s.rows, s.columns});
  const ops::ScaledMatmul product{
      "scaled", [](const ops::ScaledSums<f8e4m3> &sums) { return tile::cast<bfloat16>(sums.values()); }, {{.b = true}}};
  const ops::Matmul halves{
      "halves", [](const ops::Sums<bfloat16> &sums) { return tile::cast<bfloat16>(sums.values()); }, {{.b = true}}};
  Launch launch = product.record(a.quantised, b.quantised, a.scale, scale_b, c);
  Launch peer = halves.record(a.half, b.half, in_halves);
  launch.launch();
  const std::int64_t along = by_blocks ? ops::scale_block : s.inner;
  for (const std::int64_t at : {std::int64_t{0}, s.rows / 3, s.rows - 1}) {
    const std::int64_t j = s.columns - 1 - at % s.columns;
    double sum = 0, size = 0;
    for (std::int64_t k = 0; k < s.inner; ++k) {
      const double term = static_cast<double>(static_cast<float>(a.quantised.at(at, k))) * a.scale.at(at, k / along) *
                          static_cast<double>(static_cast<float>(b.quantised.at(j, k))) *
                          b.scale.at(by_blocks ? j / ops::scale_block : j, k / along);
      sum += term, size += term * term;
    }
    bench::require_close(static_cast<double>(static_cast<float>(c.at(at, j))), sum, 0.02 * std::sqrt(size), "scaled");
  }
  const std::string name = fmt::format("{} x {} x {}, scales {}", s.rows, s.columns, s.inner,
                                       by_blocks ? "by blocks of 128" : "of rows and columns");
  const Stream stream = Stream::standard(Device::cuda(0));
  const auto ours = [&] { launch.launch(); };
  if (in_turns) {
    bench::take_turns(name, [&](int calls) { return bench::milliseconds_of_a_turn(stream, ours, calls); });
    return;
  }
  const auto [time, peer_time] =
      bench::alternate_on_device({.rounds = 9, .calls = 10}, stream, ours, [&] { peer.launch(); });
  const double operations =
      2.0 * static_cast<double>(s.rows) * static_cast<double>(s.columns) * static_cast<double>(s.inner);
  report.add({name, "time of a launch", time * 1e3, "ms",
              fmt::format("in bfloat16, {:.0f} TFLOP/s", operations / peer_time * 1e-12), peer_time * 1e3,
              fmt::format("{:.0f} TFLOP/s", operations / time * 1e-12)});
}

}  // namespace

int main(int count, char **arguments) {
  return bench::run("cuda_scaled_matmul", [=](bench::Report &report) {
    const bool in_turns = bench::asked_for_turns(count, arguments);
    if (CudaDevice::count() == 0) {
      report.note("There is no GPU here.");
      return;
    }
    for (const bool by_blocks : {false, true})
      for (const Shape &shape : {Shape{8192, 8192, 8192}, Shape{4096, 4096, 4096}, Shape{4096, 7168, 2048},
                                 Shape{8192, 4096, 1024}, Shape{64, 7168, 4096}, Shape{16, 8192, 8192}})
        measure(report, shape, by_blocks, in_turns);
  });
}
