// Convolutions in two and three dimensions and their gradients, against sums over all places in double.
#include "samite/ops/convolution.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using ops::SpatialNumbers;
using testing::HasSubstr;

// Extents by height, width and depth.
struct Convolved {
  std::int64_t batches = 1, channels = 1, outputs = 1;
  SpatialNumbers x = {1, 1, 1}, kernel = {1, 1, 1}, stride = {1, 1, 1}, padding = {0, 0, 0}, dilation = {1, 1, 1};
  std::int64_t groups = 1;

  std::int64_t y(std::size_t d) const {
    return ops::convolved_extent(x[d], kernel[d], stride[d], padding[d], dilation[d]);
  }
  Extents of_x() const { return {batches * x[2], x[0], x[1], channels}; }
  Extents of_weights() const { return {outputs, kernel[2] * kernel[0], kernel[1], channels / groups}; }
  Extents of_y() const { return {batches * y(2), y(0), y(1), outputs}; }
  ops::ConvolutionOptions options() const {
    return {.stride = stride,
            .padding = padding,
            .dilation = dilation,
            .groups = groups,
            .depth = x[2],
            .kernel_depth = kernel[2]};
  }
};

std::size_t element(const Extents &extents, std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
  return static_cast<std::size_t>(((i * extents[1] + j) * extents[2] + k) * extents[3] + l);
}

struct ConvolvedInDouble {
  std::vector<double> y, of_x, of_weights, of_bias;

  ConvolvedInDouble(const Convolved &c, const std::vector<double> &x, const std::vector<double> &w,
                    const std::vector<double> &bias, const std::vector<double> &g)
      : y(g.size()), of_x(x.size()), of_weights(w.size()), of_bias(static_cast<std::size_t>(c.outputs)) {
    const Extents ey = c.of_y();
    for (std::int64_t plane = 0; plane < ey[0]; ++plane)
      for (std::int64_t row = 0; row < ey[1]; ++row)
        for (std::int64_t column = 0; column < ey[2]; ++column)
          for (std::int64_t o = 0; o < ey[3]; ++o) {
            const std::size_t at = element(ey, plane, row, column, o);
            y[at] = bias.empty() ? 0 : bias[static_cast<std::size_t>(o)];
            of_bias[static_cast<std::size_t>(o)] += g[at];
            add(c, plane, row, column, o, x, w, g[at], y[at]);
          }
  }

 private:
  void add(const Convolved &c, std::int64_t plane, std::int64_t row, std::int64_t column, std::int64_t o,
           const std::vector<double> &x, const std::vector<double> &w, double g, double &sum) {
    const Extents ex = c.of_x(), ew = c.of_weights();
    const std::int64_t batch = plane / c.y(2), first = o / (c.outputs / c.groups) * ew[3];
    for (std::int64_t kz = 0; kz < c.kernel[2]; ++kz)
      for (std::int64_t ky = 0; ky < c.kernel[0]; ++ky)
        for (std::int64_t kx = 0; kx < c.kernel[1]; ++kx) {
          const std::int64_t z = plane % c.y(2) * c.stride[2] - c.padding[2] + kz * c.dilation[2],
                             i = row * c.stride[0] - c.padding[0] + ky * c.dilation[0],
                             j = column * c.stride[1] - c.padding[1] + kx * c.dilation[1];
          if (z < 0 || z >= c.x[2] || i < 0 || i >= c.x[0] || j < 0 || j >= c.x[1]) continue;
          for (std::int64_t k = 0; k < ew[3]; ++k) {
            const std::size_t of = element(ex, batch * c.x[2] + z, i, j, first + k),
                              by = element(ew, o, kz * c.kernel[0] + ky, kx, k);
            sum += x[of] * w[by];
            of_x[of] += g * w[by];
            of_weights[by] += g * x[of];
          }
        }
  }
};

template <class T>
void check_convolution(const Convolved &c, double tolerance, bool with_bias = true) {
  SCOPED_TRACE(c.of_x().to_string() + " by " + c.of_weights().to_string());
  const std::vector<double> x_values = numbers(c.of_x().count(), 1),
                            weights_values = numbers(c.of_weights().count(), 2),
                            cotangents = numbers(c.of_y().count(), 3),
                            bias_values = with_bias ? numbers(c.outputs, 4) : std::vector<double>();
  const ConvolvedInDouble expected(c, x_values, weights_values, bias_values, cotangents);
  const auto x = buffer<T>(c.of_x(), x_values, Gradient::tracked),
             weights = buffer<T>(c.of_weights(), weights_values, Gradient::tracked),
             y = poisoned<T>(c.of_y(), Gradient::tracked), cotangent = buffer<T>(c.of_y(), cotangents);
  ops::ConvolutionOptions options = c.options();
  const auto bias = with_bias ? buffer<T>({c.outputs}, bias_values, Gradient::tracked) : Buffer<T>();
  if (with_bias) options.bias = bias;
  x.gradient().fill(T(1));  // is added to
  Tape tape;
  tape.record([&] { ops::convolution(x, weights, y, options); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: convolution"));
  expect_near(y, expected.y, tolerance);
  tape.backward({{y, cotangent}});
  std::vector<double> added = expected.of_x;
  for (double &value : added) value += 1;
  expect_near(x.gradient(), added, tolerance);
  expect_near(weights.gradient(), expected.of_weights, 8 * tolerance);
  if (with_bias) expect_near(bias.gradient(), expected.of_bias, 8 * tolerance);
  const auto of_x = poisoned<T>(c.of_x()), of_weights = poisoned<T>(c.of_weights()), of_bias = poisoned<T>({c.outputs});
  ops::convolution_adjoint(x, weights, cotangent, {of_x, of_weights, of_bias}, options);
  expect_near(of_x, expected.of_x, tolerance);
  expect_near(of_weights, expected.of_weights, 8 * tolerance);
  expect_near(of_bias, expected.of_bias, 8 * tolerance);
}

TEST(Convolution, OfSmallImages) {
  check_convolution<double>(
      {.batches = 2, .channels = 3, .outputs = 5, .x = {9, 11, 1}, .kernel = {3, 3, 1}, .padding = {1, 1, 0}}, 1e-12);
  check_convolution<double>({.channels = 2, .outputs = 3, .x = {1, 1, 1}, .kernel = {1, 1, 1}}, 1e-12, false);
}

// More places, channels and outputs than a tile has.
TEST(Convolution, OfSeveralTiles) {
  check_convolution<double>({.channels = 70, .outputs = 67, .x = {10, 70, 1}, .kernel = {2, 3, 1}}, 1e-11);
}

// Some places of x contribute to no place of y.
TEST(Convolution, WithStridesAndDilation) {
  check_convolution<double>({.batches = 2,
                             .channels = 3,
                             .outputs = 4,
                             .x = {13, 10, 1},
                             .kernel = {3, 2, 1},
                             .stride = {2, 3, 1},
                             .padding = {1, 0, 0}},
                            1e-12);
  check_convolution<double>({.channels = 2,
                             .outputs = 2,
                             .x = {12, 15, 1},
                             .kernel = {3, 3, 1},
                             .stride = {2, 3, 1},
                             .padding = {2, 3, 0},
                             .dilation = {2, 2, 1}},
                            1e-12);
  check_convolution<double>({.channels = 1, .outputs = 1, .x = {9, 9, 1}, .kernel = {1, 1, 1}, .stride = {4, 4, 1}},
                            1e-12);
}

TEST(Convolution, OfGroups) {
  check_convolution<double>({.batches = 2,
                             .channels = 6,
                             .outputs = 9,
                             .x = {5, 6, 1},
                             .kernel = {3, 3, 1},
                             .padding = {1, 1, 0},
                             .groups = 3},
                            1e-12);
  check_convolution<double>(
      {.channels = 5, .outputs = 5, .x = {5, 6, 1}, .kernel = {3, 2, 1}, .stride = {2, 1, 1}, .groups = 5}, 1e-12);
}

TEST(Convolution, InThreeDimensions) {
  check_convolution<double>({.batches = 2,
                             .channels = 3,
                             .outputs = 2,
                             .x = {4, 5, 6},
                             .kernel = {2, 3, 3},
                             .stride = {1, 2, 2},
                             .padding = {0, 1, 1}},
                            1e-12);
  check_convolution<double>(
      {.channels = 2, .outputs = 2, .x = {3, 3, 7}, .kernel = {1, 1, 2}, .stride = {1, 1, 2}, .dilation = {1, 1, 3}},
      1e-12);
}

TEST(Convolution, OtherTypes) {
  const Convolved c{.channels = 8, .outputs = 8, .x = {6, 7, 1}, .kernel = {3, 3, 1}, .padding = {1, 1, 0}};
  check_convolution<float>(c, 1e-5);
  check_convolution<half>(c, 8e-3);
}

// Arrays with the channels before the height, as views.
TEST(Convolution, OfViews) {
  const Convolved c{.batches = 2, .channels = 3, .outputs = 4, .x = {5, 6, 1}, .kernel = {3, 2, 1}};
  const std::vector<double> x_values = numbers(c.of_x().count(), 1),
                            weights_values = numbers(c.of_weights().count(), 2);
  const ConvolvedInDouble expected(c, x_values, weights_values, {}, numbers(c.of_y().count(), 3));
  const auto x = buffer<double>(c.of_x(), x_values).permute({0, 3, 1, 2}).clone(),
             weights = buffer<double>(c.of_weights(), weights_values).permute({0, 3, 1, 2}).clone();
  const auto y = poisoned<double>({2, 4, 3, 5});
  ops::convolution(x.permute({0, 2, 3, 1}), weights.permute({0, 2, 3, 1}), y.permute({0, 2, 3, 1}));
  expect_near(y.permute({0, 2, 3, 1}).clone(), expected.y, 1e-12);
}

// Only the gradients that are tracked are computed.
TEST(Convolution, WeightsAloneMayTrack) {
  const Convolved c{.channels = 2, .outputs = 2, .x = {4, 4, 1}, .kernel = {2, 2, 1}};
  const auto x = buffer<double>(c.of_x(), numbers(c.of_x().count(), 1));
  const auto weights = buffer<double>(c.of_weights(), numbers(c.of_weights().count(), 2), Gradient::tracked);
  const auto y = poisoned<double>(c.of_y(), Gradient::tracked);
  const std::vector<double> cotangents = numbers(c.of_y().count(), 3);
  Tape tape;
  tape.record([&] { ops::convolution(x, weights, y); });
  tape.backward({{y, buffer<double>(c.of_y(), cotangents)}});
  const ConvolvedInDouble expected(c, x.to_vector(), weights.to_vector(), {}, cotangents);
  expect_near(weights.gradient(), expected.of_weights, 1e-12);
}

TEST(Convolution, NamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {2, 5, 5, 4}), weights(device(), {6, 3, 3, 4}), y(device(), {2, 3, 3, 6}),
      flat(device(), {5, 4});
  const auto run = [&](const AnyBuffer &of_x, const AnyBuffer &by, const AnyBuffer &to,
                       const ops::ConvolutionOptions &options = {}) {
    return message_of<UserError>([&] { ops::convolution(of_x, by, to, options); });
  };
  EXPECT_THAT(run(flat, weights, y), HasSubstr("expected x of (batches, height, width, channels)"));
  EXPECT_THAT(run(x, flat, y), HasSubstr("expected weights of (outputs, height, width, channels of a group)"));
  EXPECT_THAT(run(x, weights, x), HasSubstr("expected y of float with extents (2, 3, 3, 6)"));
  EXPECT_THAT(run(x, weights, y, {.padding = {1, 1, 0}}), HasSubstr("expected y of float with extents (2, 5, 5, 6)"));
  EXPECT_THAT(run(x, weights, y, {.groups = 4}), HasSubstr("expected a number of groups that divides the 4 channels"));
  EXPECT_THAT(run(x, weights, y, {.groups = 2}), HasSubstr("expected weights of float with extents (6, 3, 3, 2)"));
  EXPECT_THAT(run(x, weights, y, {.stride = {0, 1, 1}}), HasSubstr("expected a stride from 1 to 32768"));
  EXPECT_THAT(run(x, weights, y, {.padding = {-1, 0, 0}}), HasSubstr("expected a padding from 0 to 32768"));
  EXPECT_THAT(run(x, weights, y, {.depth = 3}), HasSubstr("expected x of images of 3 planes each; 2 planes given"));
  EXPECT_THAT(run(x, weights, y, {.kernel_depth = 2}), HasSubstr("expected weights of 2 planes; 3 rows given"));
  EXPECT_THAT(run(x, weights, y, {.bias = x}), HasSubstr("expected a bias of float with extents (6)"));
  const Buffer<float> same(device(), {2, 5, 5, 4}), ones(device(), {4, 1, 1, 4});
  EXPECT_THAT(run(same, ones, same), HasSubstr("shares memory with"));
}

}  // namespace
}  // namespace samite::test
