// Lesson 12. Attention by hand: softmax(q kᵀ / √size) v, without the matrix of weights.
#include <samite/ops/attention.h>
#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace samite;

constexpr int rows = 192, size = 32, block = 64;

// Each block has 64 rows of q, and goes through k and v with a running maximum and a running sum (online softmax).
const TileKernel attention{
    "attention",
    {"out", "q", "k", "v"},
    [](Array<float, 2> out, Array<const float, 2> q, Array<const float, 2> k, Array<const float, 2> v) {
      Int i = block_index();
      Tile<float> mine = tile::load(q, {i, 0}, {block, size}) / std::sqrt(static_cast<float>(size));
      Tile<float> most = tile::full<float>({block, 1}, -1e30f), sum = tile::zeros<float>({block, 1});
      Tile<float> weighted = tile::zeros<float>({block, size});
      for (Int j : range(rows / block)) {
        Tile<float> scores = tile::matmul(mine, tile::transpose(tile::load(k, {j, 0}, {block, size})));
        Tile<float> larger = max(most, tile::max(scores, {1}));
        Tile<float> weights = exp(scores - larger), rescale = exp(most - larger);
        sum = sum * rescale + tile::sum(weights, {1});
        weighted = weighted * rescale + tile::matmul(weights, tile::load(v, {j, 0}, {block, size}));
        most = larger;
      }
      tile::store(out, {i, 0}, weighted / sum);
    }};

int main() {
  Device device = Device::preferred();
  auto matrix = [&](int seed) {
    std::vector<float> values(rows * size);
    for (int i = 0; i < rows * size; ++i) values[i] = static_cast<float>(std::sin(seed + 0.37 * i));
    return Buffer<float>{device, {rows, size}, values, Gradient::tracked};
  };
  Buffer<float> q = matrix(1), k = matrix(2), v = matrix(3), out{device, {rows, size}, Gradient::tracked};

  attention.launch({rows / block}, out, q, k, v);

  Buffer<float> ready{device, {1, 1, rows, size}}, row_sums{device, {1, 1, rows}};
  auto head = [](const Buffer<float> &x) { return x.reshape({1, 1, rows, size}); };
  ops::attention(head(q), head(k), head(v), ready, row_sums);
  const std::vector<float> mine = out.to_vector(), theirs = ready.to_vector();
  float largest = 0;
  for (int i = 0; i < rows * size; ++i) largest = std::max(largest, std::abs(mine[i] - theirs[i]));
  std::printf("agrees with ops::attention: %s\n", largest < 1e-5f ? "yes" : "no");

  out.gradient().fill(1);
  attention.launch({rows / block}, {.direction = Direction::adjoint}, out, q, k, v);
  std::printf("gradient of q(0, 0): %.4f\n", q.gradient().at(0, 0));
}
