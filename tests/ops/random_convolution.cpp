// Random launches of convolutions with a bias, and of their gradient of x; the derived adjoint has all gradients.
#include "samite/ops/convolution.h"
#include "tests/ops/random_drawing.h"

#include <fmt/format.h>

namespace samite::test::operations {
namespace {

using ops::SpatialNumbers;

struct DrawnConvolution {
  ops::ConvolutionShape shape;
  SpatialNumbers padding = {};

  explicit DrawnConvolution(Drawing &draw) {
    do {
      const std::int64_t groups = draw.one_of<std::int64_t>({1, 1, 2, 3}), most = groups == 1 ? 40 : 9;
      shape = {1 + draw.below(2), groups, std::max<std::int64_t>(draw.extent(most), 1),
               std::max<std::int64_t>(draw.extent(most), 1)};
      padding = {};
      for (std::size_t d = 0; d < 3; ++d) {
        if (d == 2 && draw.one_in(2)) continue;
        shape.x[d] = 1 + draw.below(d == 2 ? 4 : 12), shape.kernel[d] = 1 + draw.below(3);
        shape.stride[d] = 1 + draw.below(3), shape.dilation[d] = 1 + draw.below(2), padding[d] = draw.below(3);
      }
      for (std::size_t d = 0; d < 3; ++d)
        shape.y[d] = ops::convolved_extent(shape.x[d], shape.kernel[d], shape.stride[d], padding[d], shape.dilation[d]);
    } while (shape.y[0] * shape.y[1] * shape.y[2] == 0);
  }

  std::vector<std::int64_t> of_x() const {
    return {shape.batches * shape.x[2], shape.x[0], shape.x[1], shape.groups * shape.channels};
  }
  std::vector<std::int64_t> of_weights() const {
    return {shape.groups * shape.outputs, shape.kernel[2] * shape.kernel[0], shape.kernel[1], shape.channels};
  }
  std::vector<std::int64_t> of_y() const {
    return {shape.batches * shape.y[2], shape.y[0], shape.y[1], shape.groups * shape.outputs};
  }
  std::vector<std::int32_t> places() const {
    std::vector<std::int32_t> places;
    for (const std::int64_t number : {padding[0], padding[1], padding[2], shape.x[2], shape.y[2], shape.kernel[2]})
      places.push_back(static_cast<std::int32_t>(number));
    return places;
  }

  // Calls the function with the element of y, that of x and that of the weights of each product.
  template <class F>
  void for_each_product(const F &function) const {
    const auto at = [](const std::vector<std::int64_t> &extents, std::int64_t i, std::int64_t j, std::int64_t k,
                       std::int64_t l) {
      return static_cast<std::size_t>(((i * extents[1] + j) * extents[2] + k) * extents[3] + l);
    };
    const auto x = of_x(), w = of_weights(), y = of_y();
    const auto taken = [&](std::int64_t place, std::int64_t of_kernel, std::size_t d) {
      return place * shape.stride[d] - padding[d] + of_kernel * shape.dilation[d];
    };
    for (std::int64_t plane = 0; plane < y[0]; ++plane)
      for (std::int64_t row = 0; row < y[1]; ++row)
        for (std::int64_t column = 0; column < y[2]; ++column)
          for (std::int64_t tap = 0; tap < w[1] * w[2]; ++tap) {
            const std::int64_t kx = tap % w[2], ky = tap / w[2] % shape.kernel[0], kz = tap / w[2] / shape.kernel[0];
            const std::int64_t i = taken(row, ky, 0), j = taken(column, kx, 1), z = taken(plane % shape.y[2], kz, 2);
            if (i < 0 || i >= x[1] || j < 0 || j >= x[2] || z < 0 || z >= shape.x[2]) continue;
            for (std::int64_t o = 0; o < y[3]; ++o)
              for (std::int64_t c = 0; c < w[3]; ++c)
                function(at(y, plane, row, column, o),
                         at(x, plane / shape.y[2] * shape.x[2] + z, i, j, o / shape.outputs * shape.channels + c),
                         at(w, o, tap / w[2], kx, c));
          }
  }
};

std::int64_t count_of(const std::vector<std::int64_t> &extents) {
  return extents[0] * extents[1] * extents[2] * extents[3];
}

// Sums of products, how large their terms are, and the most terms of one.
struct Sums {
  std::vector<double> values, sizes;
  std::vector<std::int64_t> terms;

  explicit Sums(std::int64_t count)
      : values(static_cast<std::size_t>(count)), sizes(values.size()), terms(values.size()) {}
  void add(std::size_t at, double term) { values[at] += term, sizes[at] += std::abs(term), ++terms[at]; }
  std::vector<double> near(double digits) const {
    std::vector<double> near;
    for (std::size_t i = 0; i < sizes.size(); ++i) near.push_back(digits * (double(terms[i]) + 4) * sizes[i]);
    return near;
  }
  std::int64_t most_terms() const { return terms.empty() ? 1 : *std::ranges::max_element(terms); }
};

}  // namespace

Operation convolution(Drawing &draw) {
  Building b;
  const ScalarType type =
      draw.one_of({ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64});
  const ScalarType wide = type_of_sums(type);
  const DrawnConvolution drawn(draw);
  const ops::ConvolutionShape &s = drawn.shape;
  b.made.text = fmt::format("convolution of {} {} by {}, stride {} dilation {} padding {}, {} groups", cpp_name(type),
                            fmt::join(drawn.of_x(), " "), fmt::join(drawn.of_weights(), " "), fmt::join(s.stride, " "),
                            fmt::join(s.dilation, " "), fmt::join(drawn.padding, " "), s.groups);
  const std::int64_t outputs = s.groups * s.outputs;
  const auto read = [&](const char *name, const std::vector<std::int64_t> &extents) {
    return b.reads(name, type, extents, draw.values(type, count_of(extents), Style::usual));
  };
  const std::size_t x = read("x", drawn.of_x()), weights = read("weights", drawn.of_weights()),
                    bias = b.reads("bias", type, {outputs}, draw.values(type, outputs, Style::usual)),
                    y = b.writes("y", type, drawn.of_y()), g = read("y_gradient", drawn.of_y()),
                    x_gradient = b.writes("x_gradient", type, drawn.of_x());
  Sums sums(count_of(drawn.of_y())), of_x(count_of(drawn.of_x())), of_weights(count_of(drawn.of_weights())),
      of_bias(outputs);
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    const std::size_t o = i % static_cast<std::size_t>(outputs);
    sums.add(i, b.of(bias)[o]);
    of_bias.add(o, b.of(g)[i]);
  }
  drawn.for_each_product([&](std::size_t to, std::size_t from, std::size_t by) {
    sums.add(to, b.of(x)[from] * b.of(weights)[by]);
    of_x.add(from, b.of(g)[to] * b.of(weights)[by]);
    of_weights.add(by, b.of(g)[to] * b.of(x)[from]);
  });
  const double digits = epsilon_of(wide);
  b.expect(y, sums.values, sums.near(digits));
  b.expect(x_gradient, of_x.values, of_x.near(digits));
  b.reverse(y, b.of(g));
  for (const auto &[operand, gradient] : {std::pair{x, &of_x}, {weights, &of_weights}, {bias, &of_bias}})
    b.gradient(operand, gradient->values, gradient->near(epsilon_of(type)), gradient->most_terms());
  b.made.calls = [=, shape = s, places = drawn.places()](const ops::PlanDevice &device) {
    const ops::ConvolutionLaunches planned = ops::convolution_launches(type, shape, true, false, device);
    return std::vector<Call>{{planned.forward, {x, weights, bias, y}, {}, places},
                             {planned.of_x, {g, weights, x_gradient}, {}, places}};
  };
  return std::move(b.made);
}

}  // namespace samite::test::operations
