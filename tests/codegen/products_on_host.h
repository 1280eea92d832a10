// Products that kernels on the host compute: c = a bᵀ of whole numbers, in tiles, the last of which end outside.
#pragma once

#include "tests/codegen/staying_blocks.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace samite::test {

// Factors of type T, sums of type C. The kernel's parameters are a, b, c and the number of steps.
template <class T, class C>
struct ProductsOnHost {
  std::int64_t rows, columns, terms, held, of_step;  // of c; of each sum, and those that a and b have
  std::vector<T> a, b;
  std::vector<C> c;

  ProductsOnHost(std::int64_t rows_of_c, std::int64_t columns_of_c, std::int64_t terms_of_sum,
                 std::int64_t terms_of_step)
      : rows(rows_of_c),
        columns(columns_of_c),
        terms(terms_of_sum),
        held(std::max(terms_of_sum, terms_of_step)),
        of_step(terms_of_step),
        a(values(rows * held, 3)),
        b(values(columns * held, 5)),
        c(static_cast<std::size_t>(rows * columns), C(0)) {}

  void run(const StayingBlocksOnHost &kernel, const std::vector<std::int64_t> &tiles, unsigned blocks,
           ThreadOrder order) {
    std::vector<TensorMapOnHost> maps;
    for (const passes::TensorMapNeeded &map : kernel.maps()) {
      const bool of_a = map.array == 0;
      maps.push_back(map_on_host(map, (of_a ? a : b).data(), {of_a ? rows : columns, held}));
    }
    kernel.run({array(a, {rows, held}), array(b, {columns, held}), array(c, {rows, columns}),
                scalar(static_cast<int>((terms + of_step - 1) / of_step))},
               maps, tiles, blocks, order);
  }

  double of_a(std::int64_t row, std::int64_t term) const { return number(a, row * held + term); }
  double of_b(std::int64_t row, std::int64_t term) const { return number(b, row * held + term); }
  double of_c(std::int64_t row, std::int64_t column) const { return number(c, row * columns + column); }
  double sum(std::int64_t row, std::int64_t column) const {
    double sum = 0;
    for (std::int64_t term = 0; term < terms; ++term) sum += of_a(row, term) * of_b(column, term);
    return sum;
  }

 private:
  // Each is held exactly, and so are sums of their products.
  static std::vector<T> values(std::int64_t count, std::int64_t step) {
    std::vector<T> values;
    for (std::int64_t k = 0; k < count; ++k) values.push_back(T(static_cast<float>(k * step % 11 - 5)));
    return values;
  }
  template <class E>
  static double number(const std::vector<E> &elements, std::int64_t place) {
    return static_cast<double>(elements[static_cast<std::size_t>(place)]);
  }
};

}  // namespace samite::test
