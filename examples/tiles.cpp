// The programs of docs/tiles.md: a product of matrices, a softmax and a mixture of rows by tiles, checked.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace samite;

namespace {

void check(bool right, const char *what) {
  std::printf("%-24s %s\n", what, right ? "as expected" : "WRONG");
  if (!right) std::exit(1);
}

const TileKernel gemm{"gemm", [](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
                        auto [i, j] = block_index<2>();
                        Tile<float> sum = tile::zeros<float>({64, 64});
                        for (Int k : range(tile::ceil_div(a.extent(1), 32)))
                          tile::matmul(tile::load(a, {i, k}, {64, 32}), tile::load(b, {k, j}, {32, 64}), sum);
                        tile::store(c, {i, j}, sum);
                      }};

const TileKernel softmax{"softmax", [](Array<const float, 2> x, Array<float, 2> y) {
                           Tile<float> row = tile::load(x, {block_index(), 0}, {1, 100});
                           Tile<float> e = exp(row - tile::max(row, {1}));
                           tile::store(y, {block_index(), 0}, e / tile::sum(e, {1}));
                         }};

const TileKernel mixture{"mixture", [](Array<float, 2> y, Array<const float, 2> scores, Array<const float, 2> table) {
                           const Tile<float> s = tile::load(scores, {block_index(), 0}, {16, 8}, -1e30f);
                           const auto [best, expert] = tile::topk(s, 2);
                           const Tile<float> weights = tile::softmax(best);
                           Tile<float> sum = tile::zeros<float>({16, 32});
                           for (int n : {0, 1}) {
                             const Tile<std::int32_t> rows = tile::squeeze(tile::slice(expert, {0, n}, {16, 1}), 1);
                             sum += tile::slice(weights, {0, n}, {16, 1}) * tile::gather_rows(table, rows, {0}, {32});
                           }
                           tile::store(y, {block_index(), 0}, sum);
                         }};

}  // namespace

int main() {
  const Device device = Device::preferred();
  const std::int64_t rows = 150, inner = 70, columns = 100;
  std::vector<float> ones(static_cast<std::size_t>(inner * columns), 1), numbers;
  for (std::int64_t n = 0; n < rows * inner; ++n) numbers.push_back(static_cast<float>(n % 7) - 3);

  Buffer<float> a{device, {rows, inner}, numbers, Gradient::tracked};
  Buffer<float> b{device, {inner, columns}, ones, Gradient::tracked};
  Buffer<float> c{device, {rows, columns}, Gradient::tracked};
  gemm.launch({3, 2}, a, b, c);  // blocks of 64 x 64

  float first = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(inner); ++k) first += numbers[k];
  check(c.at(0, 0) == first && c.at(0, columns - 1) == first, "product");

  // On CUDA: blocks one below the other, for which b's tiles stay in the cache.
  gemm.launch({3, 2}, {.cuda = {.plan = {.strip_columns = 1}}}, a, b, c);

  c.gradient().fill(1);
  gemm.launch({3, 2}, {.direction = Direction::adjoint}, a, b, c);
  check(a.gradient().at(rows - 1, inner - 1) == static_cast<float>(columns), "gradient of a factor");

  Buffer<float> y{device, {rows, columns}};
  softmax.launch({rows}, c, y);
  check(std::abs(y.at(7, 9) - 1.0f / static_cast<float>(columns)) < 1e-6f, "softmax of equal numbers");

  // Two experts with the same score in each row; row e of the table holds e.
  std::vector<float> scores(16 * 8), table(8 * 32);
  for (std::size_t i = 0; i < 16; ++i) scores[8 * i + i % 8] = scores[8 * i + (i + 1) % 8] = 2;
  for (std::size_t e = 0; e < 8; ++e)
    for (std::size_t j = 0; j < 32; ++j) table[32 * e + j] = static_cast<float>(e);
  Buffer<float> mixed{device, {16, 32}};
  mixture.launch({1}, mixed, Buffer<float>{device, {16, 8}, scores}, Buffer<float>{device, {8, 32}, table});
  check(std::abs(mixed.at(3, 5) - 3.5f) < 1e-6f && std::abs(mixed.at(7, 31) - 3.5f) < 1e-6f, "mixture of two rows");
}
