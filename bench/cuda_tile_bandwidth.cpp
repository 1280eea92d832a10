// Tile kernels that read each number once and do little with it: the sum of 2^28 floats, softmax and layer norm of rows
// of 8192. Each is compared with a copy of as many bytes on the device, measured in the same process. Without a GPU
// there is nothing to measure.
#include "bench/support/alternate_on_device.h"
#include "bench/support/report.h"
#include "samite/driver/copy.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <cmath>
#include <random>

using namespace samite;

namespace {

constexpr std::int64_t side = 8192;
constexpr float epsilon = 1e-5f;

using In = Array<const float, 2>;
using Out = Array<float, 2>;

auto sum_of_chunks(std::int64_t chunk, int threads) {
  return TileKernel{"sum",
                    [chunk](Array<const float, 1> x, Array<float, 1> total) {
                      atomic_add(total(0), tile::sum(tile::load(x, {block_index()}, {chunk})));
                    },
                    TileOptions{.threads = threads}};
}

auto softmax(int threads) {
  return TileKernel{"softmax",
                    [](In x, Out y) {
                      Tile<float> row = tile::load(x, {block_index(), 0}, {side});
                      Tile<float> e = exp(row - tile::max(row));
                      tile::store(y, {block_index(), 0}, e * (1 / tile::sum(e)));
                    },
                    TileOptions{.threads = threads}};
}

auto layer_norm(int threads) {
  return TileKernel{"layer_norm",
                    [](In x, Array<const float, 1> scale, Array<const float, 1> shift, Out y) {
                      Tile<float> row = tile::load(x, {block_index(), 0}, {side});
                      Tile<float> centred = row - tile::sum(row) * (1.0f / side);
                      Float inverse = rsqrt(tile::sum(centred * centred) * (1.0f / side) + epsilon);
                      Tile<float> own_scale = tile::load(scale, {0}, {side}),
                                  own_shift = tile::load(shift, {0}, {side});
                      tile::store(y, {block_index(), 0}, centred * inverse * own_scale + own_shift);
                    },
                    TileOptions{.threads = threads}};
}

Buffer<float> random_buffer(const Extents &extents, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<std::size_t>(extents.count()));
  for (float &value : values) value = uniform(engine);
  return {Device::cuda(0), extents, values};
}

// A copy reads and writes half of `bytes`, the amount that the launch must move: each array read or written once.
void against_copy(bench::Report &report, const std::string &what, Launch launch, double bytes) {
  const auto half = static_cast<std::size_t>(bytes / 2);
  const Buffer<std::int8_t> from(Device::cuda(0), {static_cast<std::int64_t>(half)}),
      to(Device::cuda(0), {static_cast<std::int64_t>(half)});
  const driver::Stream &raw = CudaDevice::of(0)->standard_stream()->stream();
  const Stream stream = Stream::standard(Device::cuda(0));
  auto copy = [&] {
    driver::copy_on_device(raw, reinterpret_cast<std::uint64_t>(to.data()),
                           reinterpret_cast<std::uint64_t>(from.data()), half);
  };
  const auto [time, peer_time] =
      bench::alternate_on_device({.rounds = 15, .calls = 10}, stream, [&] { launch.launch(); }, copy);
  report.add({what, "time of a launch", time * 1e3, "ms", fmt::format("a copy, {:.2f} TB/s", bytes / peer_time * 1e-12),
              peer_time * 1e3, fmt::format("{:.2f} TB/s", bytes / time * 1e-12)},
             {.ratio_at_least = 0.9});
}

void sum(bench::Report &report, std::int64_t chunk, int threads) {
  constexpr std::int64_t n = std::int64_t{1} << 28;
  const std::vector<float> values = [] {
    std::mt19937 engine(1);
    std::vector<float> numbers(n);
    for (float &value : numbers) value = static_cast<float>(engine() % 16) * 0.0625f;
    return numbers;
  }();
  const Buffer<float> x(Device::cuda(0), {n}, values);
  Buffer<float> total(Device::cuda(0), {1}, std::vector<float>{0});
  const auto kernel = sum_of_chunks(chunk, threads);
  kernel.launch({n / chunk}, x, total);
  double expected = 0;
  for (const float value : values) expected += value;
  bench::require_close(total.at(0), expected, 1e-4 * expected, "sum");
  against_copy(report, fmt::format("sum of 2^28 floats, {} in a block of {} threads", chunk, threads),
               kernel.record({n / chunk}, x, total), 4.0 * n);
}

void require_row(const Buffer<float> &y, std::int64_t row, const std::vector<double> &expected, double tolerance,
                 const char *what) {
  for (const std::int64_t j : {std::int64_t{0}, std::int64_t{4097}, side - 1})
    bench::require_close(y.at(row, j), expected[static_cast<std::size_t>(j)], tolerance, what);
}

std::vector<double> row_of(const Buffer<float> &x, std::int64_t row) {
  const std::vector<float> values = x.to_vector();
  return {values.begin() + row * side, values.begin() + (row + 1) * side};
}

void rows(bench::Report &report, int threads) {
  const Buffer<float> x = random_buffer({side, side}, 2), scale = random_buffer({side}, 3),
                      shift = random_buffer({side}, 4);
  Buffer<float> y(Device::cuda(0), {side, side});
  constexpr std::int64_t row = 4321;
  const double bytes = 8.0 * side * side;

  const auto normalised = softmax(threads);
  normalised.launch({side}, x, y);
  std::vector<double> expected = row_of(x, row);
  double sum = 0;
  for (double &value : expected) sum += value = std::exp(value);
  for (double &value : expected) value /= sum;
  require_row(y, row, expected, 1e-9, "softmax");
  against_copy(report, fmt::format("softmax, 8192 x 8192, blocks of {} threads", threads),
               normalised.record({side}, x, y), bytes);

  const auto layer = layer_norm(threads);
  layer.launch({side}, x, scale, shift, y);
  expected = row_of(x, row);
  double mean = 0, variance = 0;
  for (const double value : expected) mean += value / side;
  for (const double value : expected) variance += (value - mean) * (value - mean) / side;
  for (std::size_t j = 0; j < expected.size(); ++j)
    expected[j] = (expected[j] - mean) / std::sqrt(variance + epsilon) * scale.at(static_cast<std::int64_t>(j)) +
                  shift.at(static_cast<std::int64_t>(j));
  require_row(y, row, expected, 1e-4, "layer norm");
  against_copy(report, fmt::format("layer norm, 8192 x 8192, blocks of {} threads", threads),
               layer.record({side}, x, scale, shift, y), bytes);
}

}  // namespace

int main() {
  return bench::run("cuda_tile_bandwidth", [](bench::Report &report) {
    if (CudaDevice::count() == 0) {
      report.note("There is no GPU here.");
      return;
    }
    sum(report, 8192, 256);
    sum(report, 8192, 512);
    for (const int threads : {256, 512, 1024}) rows(report, threads);
  });
}
