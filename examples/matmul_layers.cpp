// Layers of a network as products of matrices with epilogues: in 16 bits with gradients, as a mixture of experts, and
// in 8 bits with scales.
#include <samite/ops/grouped_matmul.h>
#include <samite/ops/quantise.h>
#include <samite/ops/scaled_matmul.h>
#include <samite/samite.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace samite;

namespace {

constexpr std::int64_t rows = 200, inner = 384, columns = 300;

std::vector<float> normal(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(distribution(random));
  return values;
}
Buffer<bfloat16> normal_matrix(Device device, const Extents &extents, unsigned seed) {
  const std::vector<float> values = normal(extents.count(), seed);
  return {device, extents, std::vector<bfloat16>(values.begin(), values.end()), Gradient::tracked};
}

// x / (1 + exp(-x)) of x W + bias.
const ops::Matmul swish{"swish", [](const ops::Sums<bfloat16> &s, Array<const float, 1> bias) {
                          Tile<float> x = s.values() + s.for_columns(bias);
                          return tile::cast<bfloat16>(x / (1.0f + exp(-x)));
                        }};

// The same for groups of rows, each with its own weights and bias.
const ops::GroupedMatmul experts{"experts", [](const ops::Sums<bfloat16> &s, Array<const float, 2> bias) {
                                   Tile<float> x = s.values() + s.for_columns(bias);
                                   return tile::cast<bfloat16>(x / (1.0f + exp(-x)));
                                 }};

// The same for 8-bit factors.
const ops::ScaledMatmul swish_of_8_bits{"swish_of_8_bits",
                                        [](const ops::ScaledSums<f8e4m3> &s, Array<const float, 1> bias) {
                                          Tile<float> x = s.values() + s.for_columns(bias);
                                          return tile::cast<bfloat16>(x / (1.0f + exp(-x)));
                                        }};

double greatest_difference(const Buffer<bfloat16> &a, const Buffer<bfloat16> &b) {
  const auto x = a.to_vector(), y = b.to_vector();
  double greatest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    greatest = std::fmax(greatest, std::fabs(static_cast<float>(x[i]) - static_cast<float>(y[i])));
  return greatest;
}

}  // namespace

int main() {
  const Device device = Device::preferred();
  const Buffer<bfloat16> x = normal_matrix(device, {rows, inner}, 1),
                         weights = normal_matrix(device, {inner, columns}, 2);
  const Buffer<float> bias{device, {columns}, normal(columns, 3), Gradient::tracked};
  const Buffer<bfloat16> y{device, {rows, columns}, Gradient::tracked};

  swish.tune(x, weights, y, bias);
  Tape tape;
  tape.record([&] { swish.launch(x, weights, y, bias); });
  tape.backward({{y, normal_matrix(device, {rows, columns}, 4)}});
  std::printf("gradient of the first weight: %.3f\n",
              static_cast<double>(static_cast<float>(weights.gradient().at(0, 0))));

  const Buffer<std::int32_t> offsets{device, {4}, {0, 150, 150, rows}};
  const Buffer<bfloat16> expert_weights = normal_matrix(device, {3, inner, columns}, 5);
  const Buffer<float> expert_bias{device, {3, columns}, normal(3 * columns, 6), Gradient::tracked};
  const Buffer<bfloat16> mixed{device, {rows, columns}, Gradient::tracked};
  tape.record([&] { experts.launch(x, expert_weights, offsets, mixed, expert_bias); });
  tape.backward({{mixed, normal_matrix(device, {rows, columns}, 7)}});
  const auto of_weights = expert_weights.gradient();
  std::printf("gradients of each expert's first weight: %.3f, %.3f (of no rows), %.3f\n",
              static_cast<double>(static_cast<float>(of_weights.at(0, 0, 0))),
              static_cast<double>(static_cast<float>(of_weights.at(1, 0, 0))),
              static_cast<double>(static_cast<float>(of_weights.at(2, 0, 0))));

  Buffer<f8e4m3> x8{device, {rows, inner}}, weights8{device, {inner, columns}};
  Buffer<float> x_scales{device, {rows, inner / 128}}, weight_scales{device, {inner / 128, (columns + 127) / 128}};
  ops::quantise(x, x8, x_scales);
  ops::quantise(weights, weights8, weight_scales);
  const Buffer<bfloat16> y8{device, {rows, columns}};
  swish_of_8_bits.launch(x8, weights8, x_scales, weight_scales, y8, bias);
  const double difference = greatest_difference(y, y8);
  std::printf("8 bits instead of 16 change the result by %.2f at most, of sums of size %.0f\n", difference,
              std::sqrt(static_cast<double>(inner)));
  return difference < 4 ? 0 : 1;
}
