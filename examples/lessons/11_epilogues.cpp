// Lesson 11. Products with epilogues: a layer of a network with its bias, activation and residual in one launch.
#include <samite/ops/matmul.h>
#include <samite/samite.h>

#include <cmath>
#include <cstdio>

using namespace samite;

// c = x + swish(a b + bias). The epilogue works on a tile of sums, before anything is stored.
const ops::Matmul layer{"layer", [](const ops::Sums<float> &s, Array<const float, 1> bias, Array<const float, 2> x) {
                          Tile<float> sum = s.values() + s.for_columns(bias);
                          return s.for_elements(x) + sum / (1 + exp(-sum));
                        }};

std::vector<float> numbers(int count, float scale) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = scale * (static_cast<float>(i * 37 % 101) / 50 - 1);
  return values;
}

int main() {
  Device device = Device::preferred();
  const int rows = 70, inner = 100, columns = 90;
  Buffer<float> a{device, {rows, inner}, numbers(rows * inner, 1), Gradient::tracked};
  Buffer<float> b{device, {inner, columns}, numbers(inner * columns, 0.1f), Gradient::tracked};
  Buffer<float> bias{device, {columns}, numbers(columns, 1), Gradient::tracked};
  Buffer<float> x{device, {rows, columns}, numbers(rows * columns, 1), Gradient::tracked};
  Buffer<float> c{device, {rows, columns}, Gradient::tracked};

  Tape tape;
  tape.record([&] { layer.launch(a, b, c, bias, x); });
  tape.backward({{c, Buffer<float>{device, {rows, columns}, std::vector<float>(rows * columns, 1)}}});

  double sum = bias.at(3);
  for (int k = 0; k < inner; ++k) sum += a.at(5, k) * b.at(k, 3);
  const double by_hand = x.at(5, 3) + sum / (1 + std::exp(-sum));
  std::printf("c(5, 3) = %.4f, by hand %.4f\n", c.at(5, 3), by_hand);
  std::printf("gradients: of b(0, 0) %.3f, of bias(0) %.3f, of x(0, 0) %.0f\n", b.gradient().at(0, 0),
              bias.gradient().at(0), x.gradient().at(0, 0));
}
