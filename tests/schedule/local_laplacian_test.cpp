// The local Laplacian filter of the examples, whose bounds pass through 8 scales, and a hand-written one.
#include "examples/pipelines/local_laplacian.h"
#include "samite/jit/definition.h"
#include "tests/schedule/program_on_host.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace samite::test {
namespace {

constexpr int scales = 8, levels = 8;

struct Plane {
  int rows = 0, columns = 0;
  std::vector<double> values = std::vector<double>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));

  double &at(int y, int x) {
    return values[static_cast<std::size_t>(std::clamp(y, 0, rows - 1)) * static_cast<std::size_t>(columns) +
                  static_cast<std::size_t>(std::clamp(x, 0, columns - 1))];
  }
};

template <class F>
Plane filled(int rows, int columns, const F &value) {
  Plane made{rows, columns};
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) made.at(y, x) = value(y, x);
  return made;
}

Plane halved(Plane &f, int rows, int columns) {
  const std::array<double, 4> weights{1 / 8.0, 3 / 8.0, 3 / 8.0, 1 / 8.0};
  return filled(rows, columns, [&](int y, int x) {
    double sum = 0;
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 4; ++i)
        sum += weights[static_cast<std::size_t>(j)] * weights[static_cast<std::size_t>(i)] *
               f.at(2 * y - 1 + j, 2 * x - 1 + i);
    return sum;
  });
}

double doubled(Plane &f, int y, int x) {
  const auto half = [](int i) { return (i - (i & 1)) / 2; };  // rounded down
  const double tx = ((x & 1) * 2 + 1) / 4.0, ty = ((y & 1) * 2 + 1) / 4.0;
  const auto across = [&](int row) { return f.at(row, half(x + 1)) * (1 - tx) + f.at(row, half(x - 1)) * tx; };
  return across(half(y + 1)) * (1 - ty) + across(half(y - 1)) * ty;
}

std::vector<double> by_hand(const std::vector<float> &in, int rows, int columns) {
  const auto pixel = [&](int c, int y, int x) {
    return static_cast<double>(in[static_cast<std::size_t>((c * rows + y) * columns + x)]);
  };
  Plane gray = filled(rows, columns, [&](int y, int x) {
    return 0.299 * pixel(0, y, x) + 0.587 * pixel(1, y, x) + 0.114 * pixel(2, y, x);
  });
  std::array<std::array<Plane, levels>, scales> remapped;
  std::array<Plane, scales> of_input, mixed;
  of_input[0] = gray;
  for (int k = 0; k < levels; ++k)
    remapped[0][static_cast<std::size_t>(k)] = filled(rows, columns, [&](int y, int x) {
      const int index = std::clamp(static_cast<int>(gray.at(y, x) * 1792), 0, 1792);
      const double f = (index - 256 * k) / 256.0;
      return gray.at(y, x) + f * std::exp(-f * f / 2) / 7;
    });
  for (std::size_t j = 1; j < scales; ++j) {
    of_input[j] = halved(of_input[j - 1], rows >> j, columns >> j);
    for (std::size_t k = 0; k < levels; ++k) remapped[j][k] = halved(remapped[j - 1][k], rows >> j, columns >> j);
  }
  for (std::size_t j = scales; j-- > 0;)
    mixed[j] = filled(rows >> j, columns >> j, [&](int y, int x) {
      const double at = of_input[j].at(y, x) * 7;
      const int below = std::clamp(static_cast<int>(at), 0, 6);
      const auto detail = [&](int k) {
        const auto level = static_cast<std::size_t>(k);
        return remapped[j][level].at(y, x) - (j + 1 < scales ? doubled(remapped[j + 1][level], y, x) : 0);
      };
      const double mix = (1 - (at - below)) * detail(below) + (at - below) * detail(below + 1);
      return mix + (j + 1 < scales ? doubled(mixed[j + 1], y, x) : 0);
    });
  std::vector<double> out;
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x)
        out.push_back(std::clamp(pixel(c, y, x) * (mixed[0].at(y, x) + 0.01) / (gray.at(y, x) + 0.01), 0.0, 1.0));
  return out;
}

// `filter` and a hand-written loop give the same result for a picture of `rows` by `columns`. Rounding may move the
// brightness of a pixel to the next entry of the table.
void expect_the_same(int rows, int columns,
                     const std::function<void(const Buffer<float> &out, const Buffer<float> &in)> &filter) {
  std::vector<float> in;
  for (int i = 0; i < 3 * rows * columns; ++i)
    in.push_back(static_cast<float>((i * 7 % columns + i / columns * 3) % 256) / 300.0f +
                 static_cast<float>(i % 13) / 100);
  const Buffer<float> out{Device::cpu(), {3, rows, columns}}, from{Device::cpu(), {3, rows, columns}, in};
  filter(out, from);
  const std::vector<double> expected = by_hand(in, rows, columns);
  const std::vector<float> found = out.to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    worst = std::max(worst, std::isfinite(found[i]) ? std::abs(found[i] - expected[i]) : INFINITY);
  EXPECT_LT(worst, 2e-3);
}

TEST(LocalLaplacian, IsTheSameByHand) {
  expect_the_same(133, 158, [](const auto &out, const auto &in) { pipelines::local_laplacian().launch(out, in); });
}

TEST(LocalLaplacian, IsTheSameAsOnCuda) {
  expect_the_same(129, 134, [](const auto &out, const auto &in) {
    const auto pipeline = pipelines::local_laplacian();
    const AnyBuffer to = out, from = in;
    run_on_host(*cuda_program(*pipeline.definition()), {{&to}, {&from}});
  });
}

}  // namespace
}  // namespace samite::test
