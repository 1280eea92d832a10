// Lesson 10. Tiles: rows brought to mean 0 and variance 1, one row for each block.
#include <samite/samite.h>

#include <cstdio>

using namespace samite;

int main() {
  const TileKernel standardise{"standardise", [](Array<float, 2> y, Array<const float, 2> x) {
                                 Int row = block_index();
                                 Tile<float> values = tile::load(x, {row, 0}, {1, 128});
                                 Tile<float> centred = values - tile::sum(values, {1}) / 128;
                                 Tile<float> variance = tile::sum(centred * centred, {1}) / 128;
                                 tile::store(y, {row, 0}, centred * rsqrt(variance + 1e-6f));
                               }};
  const TileKernel transpose{"transpose", [](Array<float, 2> y, Array<const float, 2> x) {
                               auto [i, j] = block_index<2>();
                               tile::store(y, {j, i}, tile::transpose(tile::load(x, {i, j}, {32, 32})));
                             }};

  Device device = Device::preferred();
  const int rows = 50, columns = 128;
  std::vector<float> numbers(rows * columns);
  for (int i = 0; i < rows * columns; ++i) numbers[i] = static_cast<float>(i * 37 % 101);
  Buffer<float> x{device, {rows, columns}, numbers, Gradient::tracked}, y{device, {rows, columns}, Gradient::tracked};
  Buffer<float> z{device, {columns, rows}};

  standardise.launch({rows}, y, x);  // 50 blocks
  transpose.launch({2, 4}, z, y);    // 2 by 4 blocks of 32 by 32; the last ones reach beyond the 50 rows

  double sum = 0, squares = 0;
  for (int j = 0; j < columns; ++j) sum += z.at(j, 7), squares += z.at(j, 7) * z.at(j, 7);
  std::printf("row 7: mean %.3f, variance %.3f\n", std::abs(sum / columns), squares / columns);

  y.gradient().slice(1, 0, 1).fill(1);  // of the sum of the first column
  standardise.launch({rows}, {.direction = Direction::adjoint}, y, x);
  std::printf("d y(7, 0) / d x(7, 0) = %.5f, / d x(7, 1) = %.5f\n", x.gradient().at(7, 0), x.gradient().at(7, 1));
}
