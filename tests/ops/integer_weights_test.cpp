// Products with weights of 8 and 4 bits, with scales and zeros, and their gradients, against double.
#include "samite/ops/integer_weights.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

struct IntegerProduct {
  std::int64_t rows = 1, columns = 1, inner = 2, groups = 1;
  bool zeros = false, bias = false;
};

std::size_t index_of(std::int64_t row, std::int64_t columns, std::int64_t column) {
  return static_cast<std::size_t>(row * columns + column);
}

// Integers of all values, and the numbers that they represent.
struct IntegerWeights {
  std::vector<std::int8_t> bytes;
  std::vector<std::uint8_t> pairs;
  std::vector<double> scales, zeros, values;

  IntegerWeights(const IntegerProduct &p, int bits) : scales(numbers(p.columns * p.groups, 5)) {
    for (std::int64_t i = 0; i < p.columns * p.groups; ++i) zeros.push_back(p.zeros ? double(i % 5) : 0);
    for (std::int64_t j = 0; j < p.columns; ++j)
      for (std::int64_t k = 0; k < p.inner; ++k) {
        const std::int64_t n = j * p.inner + k, group = k / (p.inner / p.groups);
        const int stored = bits == 8 ? static_cast<int>(n * 37 % 256) - 128 : static_cast<int>(n * 7 % 16);
        bytes.push_back(static_cast<std::int8_t>(stored));
        if (bits == 4 && k % 2 == 0) pairs.push_back(static_cast<std::uint8_t>(stored));
        if (bits == 4 && k % 2 == 1) pairs.back() = static_cast<std::uint8_t>(pairs.back() | stored << 4);
        const std::size_t at = index_of(j, p.groups, group);
        const double zero = p.zeros ? zeros[at] : bits == 4 ? 8 : 0;
        values.push_back((stored - zero) * scales[at]);
      }
  }
};

template <class T>
void check_integer_weights(const IntegerProduct &p, int bits, double tolerance) {
  using S = std::conditional_t<sizeof(T) == 8, double, float>;
  SCOPED_TRACE(std::to_string(p.rows) + " rows, " + std::to_string(bits) + " bits");
  const IntegerWeights w(p, bits);
  const std::vector<double> a_values = numbers(p.rows * p.inner, 1), cotangents = numbers(p.rows * p.columns, 2),
                            bias_values = numbers(p.columns, 3);
  const auto a = buffer<T>({p.rows, p.inner}, a_values, Gradient::tracked),
             c = poisoned<T>({p.rows, p.columns}, Gradient::tracked), bias = buffer<T>({p.columns}, bias_values);
  const auto scales = buffer<S>({p.columns, p.groups}, w.scales, Gradient::tracked),
             zeros = buffer<S>({p.columns, p.groups}, w.zeros);
  const AnyBuffer weights = bits == 8 ? AnyBuffer(Buffer<std::int8_t>(device(), {p.columns, p.inner}, w.bytes))
                                      : AnyBuffer(Buffer<std::uint8_t>(device(), {p.columns, p.inner / 2}, w.pairs));
  ops::IntegerWeightOptions options;
  if (p.zeros) options.zeros = zeros;
  if (p.bias) options.bias = bias;
  Tape tape;
  tape.record([&] { ops::integer_weight_matmul(a, weights, scales, c, options); });
  tape.backward({{c, buffer<T>({p.rows, p.columns}, cotangents)}});
  std::vector<double> expected, of_a(a_values.size()), of_scales(w.scales.size());
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j) {
      double sum = p.bias ? bias_values[static_cast<std::size_t>(j)] : 0;
      for (std::int64_t k = 0; k < p.inner; ++k) {
        const double value = w.values[index_of(j, p.inner, k)], x = a_values[index_of(i, p.inner, k)],
                     g = cotangents[index_of(i, p.columns, j)];
        const std::size_t scale = index_of(j, p.groups, k / (p.inner / p.groups));
        sum += x * value;
        of_a[index_of(i, p.inner, k)] += g * value;
        of_scales[scale] += g * x * value / w.scales[scale];
      }
      expected.push_back(sum);
    }
  expect_near(c, expected, tolerance);
  expect_near(a.gradient(), of_a, tolerance);
  expect_near(scales.gradient(), of_scales, tolerance);
}

TEST(IntegerWeights, Of8And4Bits) {
  for (const int bits : {8, 4}) {
    check_integer_weights<double>({.rows = 5, .columns = 7, .inner = 38}, bits, 1e-10);
    check_integer_weights<double>({.rows = 3, .columns = 70, .inner = 96, .groups = 3, .bias = true}, bits, 1e-10);
    check_integer_weights<double>({.rows = 20, .columns = 5, .inner = 96, .groups = 2, .zeros = true}, bits, 1e-10);
  }
  check_integer_weights<double>({}, 8, 1e-12);
}

TEST(IntegerWeights, OtherTypes) {
  check_integer_weights<float>({.rows = 4, .columns = 20, .inner = 64, .groups = 2}, 4, 1e-3);
  check_integer_weights<half>({.rows = 4, .columns = 20, .inner = 32}, 4, 0.1);
  check_integer_weights<bfloat16>({.rows = 4, .columns = 20, .inner = 32}, 4, 1);
}

TEST(IntegerWeights, Quantised) {
  const std::vector<double> w{0.5, -1, 0.25, 2, 0, 0, 0, 0};
  const auto values = buffer<double>({2, 4}, w);
  const Buffer<std::int8_t> bytes(device(), {2, 4});
  const Buffer<std::uint8_t> pairs(device(), {2, 2});
  const Buffer<double> scales(device(), {2, 1});
  ops::quantise_weights(values, bytes, scales);
  EXPECT_EQ(bytes.to_vector(), (std::vector<std::int8_t>{32, -64, 16, 127, 0, 0, 0, 0}));
  expect_near(scales, {2.0 / 127, 1}, 1e-15);
  ops::quantise_weights(values, pairs, scales);
  // 2 / 7 is a unit: 1.75, -3.5, 0.875 and 7.
  EXPECT_EQ(pairs.to_vector(),
            (std::vector<std::uint8_t>{(2 + 8) | ((-4 + 8) << 4), (1 + 8) | ((7 + 8) << 4), 0x88, 0x88}));
  expect_near(scales, {2.0 / 7, 1}, 1e-15);
}

TEST(IntegerWeights, OfGroupsComeBackNearly) {
  const std::int64_t columns = 20, inner = 96, groups = 3;
  const std::vector<double> w = numbers(columns * inner, 3);
  std::vector<double> unit(static_cast<std::size_t>(inner * inner));
  for (std::int64_t k = 0; k < inner; ++k) unit[index_of(k, inner, k)] = 1;
  const Buffer<std::int8_t> bytes(device(), {columns, inner});
  const Buffer<float> scales(device(), {columns, groups}), back(device(), {inner, columns});
  ops::quantise_weights(buffer<float>({columns, inner}, w), bytes, scales);
  ops::integer_weight_matmul(buffer<float>({inner, inner}, unit), bytes, scales, back);
  expect_near(back.transpose().clone(), w, 1.0 / 254 + 1e-6);
}

TEST(IntegerWeights, NamesWhatDoesNotFit) {
  const Buffer<float> a(device(), {3, 32}), scales(device(), {5, 2}), c(device(), {3, 5}), flat(device(), {5});
  const Buffer<std::int8_t> weights(device(), {5, 32}), narrow(device(), {5, 16});
  const Buffer<double> wide(device(), {5, 2});
  const auto run = [&](const AnyBuffer &of_a, const AnyBuffer &w, const AnyBuffer &by, const AnyBuffer &to,
                       const ops::IntegerWeightOptions &options = {}) {
    return message_of<UserError>([&] { ops::integer_weight_matmul(of_a, w, by, to, options); });
  };
  EXPECT_THAT(run(flat, weights, scales, c), HasSubstr("expected a of (rows, inner)"));
  EXPECT_THAT(run(a, a, scales, c), HasSubstr("expected weights of int8, or of uint8 for pairs of 4 bits"));
  EXPECT_THAT(run(a, narrow, scales, c), HasSubstr("expected weights of int8_t with extents (5, 32)"));
  EXPECT_THAT(run(a, weights, wide, c), HasSubstr("expected scales of float with extents (5, 2)"));
  EXPECT_THAT(run(a, weights, Buffer<float>(device(), {5, 4}), c), HasSubstr("groups of a multiple of 16 terms"));
  EXPECT_THAT(run(a, weights, scales, a), HasSubstr("expected c of float with extents (3, 5)"));
  EXPECT_THAT(run(a, weights, scales, c, {.zeros = flat}), HasSubstr("expected zeros of float with extents (5, 2)"));
  EXPECT_THAT(run(a, weights, scales, c, {.bias = c}), HasSubstr("expected a bias of float with extents (5)"));
  EXPECT_THAT(run(Buffer<float>(device(), {3, 31}), Buffer<std::uint8_t>(device(), {5, 16}),
                  Buffer<float>(device(), {5, 1}), c),
              HasSubstr("expected an even number of terms"));
}

}  // namespace
}  // namespace samite::test
