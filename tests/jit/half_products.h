// Products of small whole numbers, whose sums are exact in float.
#pragma once

#include "samite/samite.h"

#include <gtest/gtest.h>

#include <vector>

namespace samite::test {

inline Buffer<half> whole_numbers(std::int64_t rows, std::int64_t columns, std::int64_t step) {
  std::vector<half> values;
  for (std::int64_t k = 0; k < rows * columns; ++k) values.emplace_back(static_cast<float>(k * step % 7 - 3));
  return {Device::cuda(0), {rows, columns}, values};
}

// c = factor * a b, of this many terms, in some rows of all tiles.
inline void expect_product(const Buffer<half> &a, const Buffer<half> &b, const Buffer<float> &c, std::int64_t terms,
                           float factor = 1) {
  const auto x = a.to_vector(), y = b.to_vector();
  const auto z = c.to_vector();
  const std::int64_t n = b.extent(1), row = a.extent(1);
  for (std::int64_t i = 0; i < a.extent(0); i += i % 64 == 62 ? 1 : 31)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < terms; ++k)
        sum += static_cast<float>(x[static_cast<std::size_t>(i * row + k)]) *
               static_cast<float>(y[static_cast<std::size_t>(k * n + j)]);
      ASSERT_EQ(z[static_cast<std::size_t>(i * n + j)], factor * sum) << i << ' ' << j;
    }
}

// A graph of a launch of `first`, which launches of the others then replace one after another. `record` records those
// of matrices that know their product.
template <class Matrices, class Record>
void expect_others_in_place(const Stream &stream, Matrices &first, const std::vector<Matrices *> &others,
                            const Record &record, bool computes) {
  Launch launch = record(first);
  Graph graph = capture(stream, [&] { launch.launch(); });
  for (Matrices *next : others) {
    next->c.fill(-1.0f);
    graph.set(0, record(*next));
    graph.launch();
    stream.synchronize();
    if (computes) next->expect_product();
  }
}

}  // namespace samite::test
