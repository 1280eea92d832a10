// Ten puzzles about tiles, with solutions: docs/puzzles.md. Replace the body of a solution by your own and run this
// program: it says which are right.
#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <vector>

using namespace samite;

namespace {

using Vector = std::vector<float>;

Device device() { return Device::preferred(); }

const TileKernel add{"add", [](Array<const float, 1> x, Array<const float, 1> y, Array<float, 1> z) {
                       const Int i = block_index();
                       tile::store(z, {i}, tile::load(x, {i}, {256}) + tile::load(y, {i}, {256}));
                     }};

const TileKernel outer_sum{"outer_sum", [](Array<const float, 1> x, Array<const float, 1> y, Array<float, 2> z) {
                             auto [i, j] = block_index<2>();
                             const Tile<float> down = tile::expand_dims(tile::load(x, {i}, {32}), 1);
                             const Tile<float> across = tile::expand_dims(tile::load(y, {j}, {32}), 0);
                             tile::store(z, {i, j}, down + across);
                           }};

const TileKernel lower{"lower", [](Array<const float, 2> x, Array<float, 2> y) {
                         auto [i, j] = block_index<2>();
                         const Tile<std::int32_t> row = tile::coordinate({32, 1}, 0) + i * 32;
                         const Tile<std::int32_t> column = tile::coordinate({1, 32}, 1) + j * 32;
                         tile::store(y, {i, j}, select(column <= row, tile::load(x, {i, j}, {32, 32}), 0.0f));
                       }};

const TileKernel transpose{"transpose", [](Array<const float, 2> x, Array<float, 2> y) {
                             auto [i, j] = block_index<2>();
                             tile::store(y, {j, i}, tile::transpose(tile::load(x, {i, j}, {32, 32})));
                           }};

const TileKernel row_sums{"row_sums", [](Array<const float, 2> x, Array<float, 1> y) {
                            const Int i = block_index();
                            Tile<float> sum = tile::zeros<float>({8, 64});
                            for (Int k : range(tile::ceil_div(x.extent(1), 64))) sum += tile::load(x, {i, k}, {8, 64});
                            tile::store(y, {i}, tile::squeeze(tile::sum(sum, {1}), 1));
                          }};

const TileKernel long_softmax{"long_softmax", [](Array<const float, 2> x, Array<float, 2> y) {
                                const Int i = block_index(), parts = tile::ceil_div(x.extent(1), 64);
                                const auto load = [&](const Int &k) {
                                  return tile::load(x, {i, k}, {1, 64}, -std::numeric_limits<float>::infinity());
                                };
                                Tile<float> largest = tile::full<float>({1, 1}, -1e30f);
                                Tile<float> sum = tile::zeros<float>({1, 1});
                                for (Int k : range(parts)) {
                                  const Tile<float> next = max(largest, tile::max(load(k), {1}));
                                  sum = sum * exp(largest - next) + tile::sum(exp(load(k) - next), {1});
                                  largest = next;
                                }
                                for (Int k : range(parts)) tile::store(y, {i, k}, exp(load(k) - largest) / sum);
                              }};

const TileKernel convolve{"convolve", [](Array<const float, 1> x, Array<const float, 1> w, Array<float, 1> y) {
                            const Int i = block_index();
                            Tile<float> sum = tile::zeros<float>({64});
                            for (Int k : range(w.extent(0))) sum += w(k) * tile::load_at(x, {i * 64 + k}, {64});
                            tile::store(y, {i}, sum);
                          }};

const TileKernel histogram{"histogram", [](Array<const std::int32_t, 1> x, Array<float, 1> counts) {
                             const Tile<std::int32_t> bins = tile::load(x, {block_index()}, {256}, -1);
                             tile::scatter_add(counts, {bins}, 1.0f);
                           }};

const TileKernel multiply{"multiply", [](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
                            auto [i, j] = block_index<2>();
                            Tile<float> sum = tile::zeros<float>({32, 32});
                            for (Int k : range(tile::ceil_div(a.extent(1), 16)))
                              tile::matmul(tile::load(a, {i, k}, {32, 16}), tile::load(b, {k, j}, {16, 32}), sum);
                            tile::store(c, {i, j}, sum);
                          }};

const TileKernel attend{
    "attend", [](Array<const float, 2> q, Array<const float, 2> k, Array<const float, 2> v, Array<float, 2> y) {
      const Int i = block_index();
      const Tile<float> queries = tile::load(q, {i, 0}, {16, 16}) * 0.25f;
      Tile<float> largest = tile::full<float>({16, 1}, -1e30f), sum = tile::zeros<float>({16, 1});
      Tile<float> weighted = tile::zeros<float>({16, 16});
      for (Int j : range(tile::ceil_div(k.extent(0), 32))) {
        Tile<float> scores = tile::matmul(queries, tile::load(k, {j, 0}, {32, 16}), tile::Transposes{.b = true});
        scores = select(tile::coordinate({1, 32}, 1) + j * 32 < k.extent(0), scores, -1e30f);
        const Tile<float> next = max(largest, tile::max(scores, {1})), weights = exp(scores - next);
        const Tile<float> smaller = exp(largest - next);
        sum = sum * smaller + tile::sum(weights, {1});
        weighted = weighted * smaller;
        tile::matmul(weights, tile::load(v, {j, 0}, {32, 16}), weighted);
        largest = next;
      }
      tile::store(y, {i, 0}, weighted / sum);
    }};

// Numbers from -1 to 1, and the checks of the puzzles.
Vector some(std::int64_t count, int seed) {
  Vector values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(std::sin(double((i + 1) * (seed + 2)))));
  return values;
}
Buffer<float> array(const Extents &extents, int seed) { return {device(), extents, some(extents.count(), seed)}; }
Buffer<float> empty(const Extents &extents) {
  return {device(), extents, Vector(static_cast<std::size_t>(extents.count()), std::nanf(""))};
}

int wrong = 0;

// Element e of y should be expected(row, column), counted by the last extent.
void check(int number, const char *name, const Buffer<float> &y,
           const std::function<double(std::int64_t, std::int64_t)> &expected) {
  const Vector values = y.to_vector();
  const std::int64_t columns = y.extents()[y.rank() - 1];
  bool right = true;
  for (std::int64_t e = 0; e < y.count(); ++e)
    right = right && std::abs(static_cast<double>(values[static_cast<std::size_t>(e)]) -
                              expected(e / columns, e % columns)) < 1e-4;
  std::printf("%2d %-14s %s\n", number, name, right ? "right" : "WRONG");
  wrong += right ? 0 : 1;
}

void puzzles_of_elements() {
  const auto x = array({1000}, 1), y = array({1000}, 2), z = empty({1000});
  add.launch({4}, x, y, z);
  check(1, "add", z, [&](auto, auto i) { return x.at(i) + y.at(i); });

  const auto down = array({50}, 1), across = array({70}, 2), sums = empty({50, 70});
  outer_sum.launch({2, 3}, down, across, sums);
  check(2, "outer sum", sums, [&](auto i, auto j) { return down.at(i) + across.at(j); });

  const auto matrix = array({50, 70}, 3), masked = empty({50, 70}), turned = empty({70, 50});
  lower.launch({2, 3}, matrix, masked);
  check(3, "lower triangle", masked, [&](auto i, auto j) { return j <= i ? matrix.at(i, j) : 0; });
  transpose.launch({2, 3}, matrix, turned);
  check(4, "transpose", turned, [&](auto i, auto j) { return matrix.at(j, i); });
}

void puzzles_of_rows() {
  const std::int64_t rows = 20, columns = 300;
  const auto x = array({rows, columns}, 1), softmax = empty({rows, columns}), sums = empty({rows});
  row_sums.launch({3}, x, sums);
  check(5, "row sums", sums, [&](auto, auto i) {
    double sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) sum += x.at(i, j);
    return sum;
  });
  long_softmax.launch({rows}, x, softmax);
  check(6, "long softmax", softmax, [&](auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < columns; ++k) sum += std::exp(x.at(i, k));
    return std::exp(x.at(i, j)) / sum;
  });

  const auto signal = array({200}, 3), weights = array({5}, 4), convolved = empty({196});
  convolve.launch({4}, signal, weights, convolved);
  check(7, "convolution", convolved, [&](auto, auto i) {
    double sum = 0;
    for (std::int64_t k = 0; k < 5; ++k) sum += weights.at(k) * signal.at(i + k);
    return sum;
  });

  std::vector<std::int32_t> bins;
  for (int i = 0; i < 1000; ++i) bins.push_back(i * i % 7);
  const Buffer<std::int32_t> numbers(device(), {1000}, bins);
  const Buffer<float> counts(device(), {7}, Vector(7));
  histogram.launch({4}, numbers, counts);
  check(8, "histogram", counts, [&](auto, auto bin) { return std::count(bins.begin(), bins.end(), bin); });
}

void puzzles_of_products() {
  const auto a = array({40, 50}, 1), b = array({50, 70}, 2), c = empty({40, 70});
  multiply.launch({2, 3}, a, b, c);
  check(9, "product", c, [&](auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < 50; ++k) sum += a.at(i, k) * b.at(k, j);
    return sum;
  });

  const auto q = array({40, 16}, 3), k = array({75, 16}, 4), v = array({75, 16}, 5), y = empty({40, 16});
  attend.launch({3}, q, k, v, y);
  check(10, "attention", y, [&](auto i, auto d) {
    double sum = 0, weighted = 0;
    for (std::int64_t j = 0; j < 75; ++j) {
      double score = 0;
      for (std::int64_t e = 0; e < 16; ++e) score += q.at(i, e) * k.at(j, e) / 4;
      sum += std::exp(score), weighted += std::exp(score) * v.at(j, d);
    }
    return weighted / sum;
  });
}

}  // namespace

int main() {
  puzzles_of_elements();
  puzzles_of_rows();
  puzzles_of_products();
  return wrong;
}
