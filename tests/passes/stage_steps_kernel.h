// Kernels whose loop multiplies a window of one array by several of another, and scales each product by values of two
// more arrays before it is added, from text, and their arguments: for tests of stages.
#pragma once

#include "tests/passes/product_loop_kernel.h"

namespace samite::test::stage_steps {

struct StageShape {
  std::int64_t rows, columns, inner;  // of a product
  int parts = 2, threads = 256, stages = 4;
  std::string type = "f16";
  bool b_transposed = false;
  // The number of columns of an iteration's row values, of which it uses the first, and whether those of a part are one
  // number or one for each column.
  std::int64_t row_values = 1;
  bool of_columns = false;
  bool scaled = true;        // else products are halved, and nothing but windows comes
  bool own_windows = false;  // each part multiplies a window of @a of its own: part p that of p iterations later
};
inline void PrintTo(const StageShape &s, std::ostream *out) {
  *out << s.parts << " of " << s.rows << " by " << s.columns << " by " << s.inner << ", " << s.threads << " threads "
       << s.stages << " stages " << s.type << (s.b_transposed ? " bT" : "") << (s.scaled ? " values of " : " halved ")
       << s.row_values << (s.of_columns ? " and of columns" : "") << (s.own_windows ? " of windows of their own" : "");
}

// With the arrays (a, b, x, y, c) and the number of windows. Iteration k scales part p by x[row, k * row_values] and
// y[k, p], or y[k, column].
inline std::string kernel_text(const StageShape &s) {
  const auto tile = [&](std::string_view type, std::int64_t rows, std::int64_t columns) {
    return fmt::format("tile<{}, {}, {}>", type, rows, columns);
  };
  const std::string sums = tile("f32", s.rows, s.columns), of_rows = tile("f32", s.rows, s.row_values),
                    row = tile("f32", s.rows, 1),
                    numbers = s.of_columns ? tile("f32", 1, s.columns) : tile("f32", 1, 1),
                    left = tile(s.type, s.rows, s.inner),
                    right = s.b_transposed ? tile(s.type, s.columns, s.inner) : tile(s.type, s.inner, s.columns);
  std::string carried, body, stores;
  int next = 10;
  const auto local = [&] { return fmt::format("%{}", next++); };
  for (int part = 0; part < s.parts; ++part) {
    const std::string inner = local(), after = local(), window = local(), product = local(), scale = local(),
                      factor = local(), scaled = local(), sum = local(), own_rows = local();
    const std::int64_t column = part * s.columns;
    carried += fmt::format("{}{} -> {}: {} = 0.0:{} then {}", part == 0 ? "" : ", ", inner, after, sums, sums, sum);
    body += fmt::format("{}: {} = load @b[{}] ", window, right,
                        s.b_transposed ? fmt::format("{}, %7", column) : fmt::format("%7, {}", column));
    std::string first = "%6";
    if (s.own_windows && part > 0) {
      const std::string later = local();
      first = local();
      body += fmt::format("{}: i32 = add %7, {} {}: {} = load @a[%1, {}] ", later, part * s.inner, first, left, later);
    }
    body += fmt::format("{}: {} = matmul {}, {}{}, 0.0:{} ", product, sums, first, s.b_transposed ? "transposed " : "",
                        window, sums);
    if (!s.scaled) {
      body += fmt::format("{}: {} = mul {}, 0.5:{} ", scaled, sums, product, sums);
    } else {
      // Rows that are loaded with more columns than one are summed, which needs no other order.
      body += fmt::format("{}: {} = load @y[%2, {}] ", scale, numbers, s.of_columns ? column : part);
      if (s.row_values != 1) body += fmt::format("{}: {} = reduce_max %5 ", own_rows, row);
      const std::string rows = s.row_values == 1 ? "%5" : own_rows;
      const std::string wide = s.of_columns ? sums : row;
      const std::string one = local(), other = local();
      body += fmt::format("{}: {} = broadcast {} {}: {} = broadcast {} {}: {} = mul {}, {} ", one, wide, rows, other,
                          wide, scale, factor, wide, one, other);
      const std::string each = s.of_columns ? factor : local();
      if (!s.of_columns) body += fmt::format("{}: {} = broadcast {} ", each, sums, factor);
      body += fmt::format("{}: {} = mul {}, {} ", scaled, sums, product, each);
    }
    body += fmt::format("{}: {} = add {}, {} ", sum, sums, inner, scaled);
    stores += fmt::format("store @c[%1, {}] = {} ", column, after);
  }
  return fmt::format(
      "kernel @k(@a: array<const {0}, 2>, @b: array<const {0}, 2>, @x: array<const f32, 2>, @y: array<const f32, 2>, "
      "@c: array<f32, 2>, @n: i32) blocks 1 of {1} {{ %0: i32 = thread_index 0 %1: i32 = mul %0, {2} "
      "for %2: i32 in 0 .. @n step 1 stages {3} carry ({4}) {{ %7: i32 = mul %2, {5} %8: i32 = mul %2, {6} {7}"
      "%6: {8} = load @a[%1, %7] {9}}} {10}}}",
      s.type, s.threads, s.rows, s.stages, carried, s.inner, s.row_values,
      s.scaled ? fmt::format("%5: {} = load @x[%1, %8] ", of_rows) : "", left, body, stores);
}

// Small integers, so that the order of sums does not show.
inline std::vector<tiles::TileArray> arguments(const StageShape &s, std::int64_t rows, std::int64_t terms,
                                               std::int64_t n) {
  const ScalarType type = *scalar_type_from_name(s.type);
  const auto small = [](ScalarType own, std::int64_t height, std::int64_t width, int seed) {
    tiles::TileArray made = product_loops::array(own, height, width, seed);
    for (tiles::Element &element : made.elements) element.value = element.value > 2 ? 2 : element.value < -2 ? -1 : 1;
    return made;
  };
  const std::int64_t columns = s.columns * s.parts - 5;
  std::vector<tiles::TileArray> made{small(type, rows, terms, 1),
                                     s.b_transposed ? small(type, columns, terms, 2) : small(type, terms, columns, 2),
                                     small(ScalarType::Float32, rows, 3 * s.row_values, 3),
                                     small(ScalarType::Float32, 4, s.of_columns ? columns : s.parts, 4)};
  made.push_back(product_loops::array(ScalarType::Float32, rows, columns, 5));
  made.push_back({ScalarType::Int32, {}, {{0, 0, n}}});
  return made;
}

}  // namespace samite::test::stage_steps
