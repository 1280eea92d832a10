// Kernels whose loop multiplies windows by tiles of the block, from text, and their arguments: for tests of the passes
// that turn them into steps with bulk copies.
//
// Like attention, they keep for each row of q the largest product with rows of k so far, and a sum of rows of v with
// weights that depend on it. All numbers are small integers, so that the order of sums does not show: a weight is how
// much a product exceeds the largest minus 8, and sums are dropped when the largest grows.
#pragma once

#include "samite/jit/pipeline.h"
#include "tests/passes/product_loop_kernel.h"

namespace samite::test::product_steps {

struct StepShape {
  std::int64_t queries, keys, size;
  int threads = 256, stages = 2;
  std::string type = "f16";
  // The factor of v: the weights; or, computed in each iteration from another array, twice its rows.
  bool of_weights = true;
  // Rows of q are multiplied by those of v as well, in a product of its own, and both are added.
  bool of_both = false;
  // Products are added to a number for each row of k, which an iteration loads.
  bool numbers = false;
};
inline void PrintTo(const StepShape &s, std::ostream *out) {
  *out << s.queries << " by " << s.keys << ", " << s.size << " " << s.threads << " threads " << s.stages << " stages "
       << s.type << (s.of_weights ? "" : " of another array") << (s.of_both ? " with rows of v" : "")
       << (s.numbers ? " and numbers" : "");
}

// With the arrays (q, k, v, w, out, sums), the number of windows, and the numbers.
inline std::string kernel_text(const StepShape &s) {
  const auto tile = [&](std::string_view type, std::int64_t rows, std::int64_t columns) {
    return fmt::format("tile<{}, {}, {}>", type, rows, columns);
  };
  const std::string products = tile("f32", s.queries, s.keys), rows = tile("f32", s.queries, 1),
                    sums = tile("f32", s.queries, s.size), factor = tile(s.type, s.queries, s.keys),
                    window = tile(s.type, s.keys, s.size), own = tile(s.type, s.queries, s.size);
  const std::string weights = s.of_weights ? fmt::format("%20: {} = cast %17 ", factor)
                                           : fmt::format("%30: {0} = load @w[%1, %8] %20: {0} = add %30, %30 ", factor);
  // Both sums begin with the largest one so far.
  const std::string of_rows =
      s.of_both   ? fmt::format(
                        "%29: {1} = load @v[%8, 0] %31: {0} = broadcast %6 %32: {0} = broadcast %6 "
                        "%33: {0} = matmul %2, transposed %9, %31 %34: {0} = matmul %2, transposed %29, %32 "
                        "%10: {0} = add %33, %34 ",
                        products, window)
      : s.numbers ? fmt::format(
                        "%35: {1} = load @x[0, %8] %36: {0} = broadcast %35 "
                        "%10: {0} = matmul %2, transposed %9, %36 ",
                        products, tile("f32", 1, s.keys))
                  : fmt::format("%10: {0} = matmul %2, transposed %9, 0.0:{0} ", products);
  const std::string other_window = s.of_both ? "" : fmt::format("%29: {} = load @v[%8, 0] ", window);
  return fmt::format(
      "kernel @k(@q: array<const {0}, 2>, @k: array<const {0}, 2>, @v: array<const {0}, 2>, @w: array<const {0}, 2>, "
      "@out: array<f32, 2>, @sums: array<f32, 2>, @n: i32, @x: array<const f32, 2>) blocks 1 of {1} {{ "
      "%0: i32 = thread_index 0 %1: i32 = mul %0, {2} %2: {3} = load @q[%1, 0] "
      "for %3: i32 in 0 .. @n step 1 stages {4} carry (%4 -> %5: {5} = 0.0:{5} then %22, "
      "%6 -> %7: {6} = -8.0:{6} then %12, %25 -> %26: {6} = 0.0:{6} then %24) {{ "
      "%8: i32 = mul %3, {7} %9: {8} = load @k[%8, 0] {11}"
      "%11: {6} = reduce_max %10 %12: {6} = max %6, %11 %13: {6} = sub %6, %12 %14: {6} = add %13, 1.0:{6} "
      "%27: {6} = max %14, 0.0:{6} %15: {9} = broadcast %12 %16: {9} = sub %10, %15 %18: {9} = add %16, 8.0:{9} "
      "%17: {9} = max %18, 0.0:{9} %23: {6} = reduce_add %17 %28: {6} = mul %25, %27 %24: {6} = add %28, %23 "
      "%19: {5} = broadcast %27 %21: {5} = mul %4, %19 {10} {12}"
      "%22: {5} = matmul %20, %29, %21 }} store @out[%1, 0] = %5 store @sums[%1, 0] = %26 store @sums[%1, 1] = %7 }}",
      s.type, s.threads, s.queries, own, s.stages, sums, rows, s.keys, window, products, weights, of_rows,
      other_window);
}

// Two products in an iteration, with other code between them; and three, the first two of which are adjacent.
inline const StepShape steps{.queries = 128, .keys = 64, .size = 128};
inline const StepShape with_both{.queries = 128, .keys = 64, .size = 128, .of_both = true};

inline ir::Kernel steps_planned(const std::string &text, int architecture = 90) {
  const passes::FactsOfArrays facts(8, product_loops::good);
  ir::Kernel plan = jit::plan(product_loops::lowered(text), {passes::gpu_architecture(architecture), facts});
  ir::verify(plan, ir::Form::lowered, "plan");
  return plan;
}
inline std::vector<ir::WindowProduct> steps_of(const ir::Kernel &kernel) { return all<ir::WindowProduct>(kernel); }

inline tiles::TileArray small_numbers(std::int64_t terms) {
  tiles::TileArray made = product_loops::array(ScalarType::Float32, 2, terms, 7);
  for (tiles::Element &element : made.elements) element.value = element.value > 1 ? 1 : 0;
  return made;
}

inline std::vector<tiles::TileArray> arguments(const StepShape &s, std::int64_t rows, std::int64_t terms,
                                               std::int64_t n) {
  const ScalarType type = *scalar_type_from_name(s.type);
  const auto small = [&](std::int64_t height, std::int64_t width, int seed) {
    tiles::TileArray made = product_loops::array(type, height, width, seed);
    for (tiles::Element &element : made.elements) element.value = element.value > 2 ? 1 : element.value < -2 ? -1 : 0;
    return made;
  };
  std::vector<tiles::TileArray> made{small(rows, s.size, 1), small(terms, s.size, 2), small(terms, s.size, 3),
                                     small(rows, terms, 4)};
  made.push_back(product_loops::array(ScalarType::Float32, rows, s.size, 5));
  made.push_back(product_loops::array(ScalarType::Float32, rows, 2, 6));
  made.push_back({ScalarType::Int32, {}, {{0, 0, n}}});
  made.push_back(small_numbers(terms));
  return made;
}

}  // namespace samite::test::product_steps
