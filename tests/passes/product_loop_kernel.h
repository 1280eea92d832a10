// Kernels with a main loop, from text, and their arguments: for tests of the passes that introduce bulk copies and
// roles.
#pragma once

#include "samite/passes/analysis/array_facts.h"
#include "samite/passes/analysis/unsynchronised.h"
#include "tests/passes/lowered_block.h"
#include "tests/passes/lowered_interpreter.h"
#include "tests/passes/tile_interpreter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>

namespace samite::test::product_loops {

inline constexpr passes::ArrayFacts good{
    .unit_stride = true, .unaliased = true, .aligned_rows = true, .has_tensor_map = true};

struct ProductShape {
  std::int64_t rows, columns, inner;
  bool a_transposed = false, b_transposed = false;
  int threads = 128, stages = 3;
  std::string type = "f16", sums = "f32";
  bool tf32 = false;
  bool limited = false;  // of the terms from 0 on, this many count
  bool halved = false;   // each product is multiplied by a half before it is added to the sums
};
inline void PrintTo(const ProductShape &s, std::ostream *out) {
  *out << s.rows << "x" << s.columns << "x" << s.inner << (s.a_transposed ? " aT" : "") << (s.b_transposed ? " bT" : "")
       << " " << s.threads << " threads " << s.type << (s.halved ? " halved" : "") << (s.limited ? " limited" : "");
}

// %4<n> is tile %<n>, with zeros from coordinate %50 along a dimension on.
inline std::string masked(int n, const std::string &tile, int dimension, const std::string &zero) {
  return fmt::format(
      "%2{0}: tile<i32{1} = coordinate {2} %5{0}: tile<i32{1} = broadcast %50 %3{0}: tile<bool{1} = lt %2{0}, %5{0} "
      "%4{0}: {3} = select %3{0}, %{0}, {4}:{3} ",
      n, tile.substr(tile.find(',')), dimension, tile, zero);
}

// Products of windows that begin at (origin, origin) and are `step` loops apart, stored to c.
inline std::string kernel_text(const ProductShape &s, const std::string &body = "", const std::string &loads = "") {
  const auto tile = [&](std::int64_t rows, std::int64_t columns) {
    return fmt::format("tile<{}, {}, {}>", s.type, rows, columns);
  };
  const std::string a = s.a_transposed ? tile(s.inner, s.rows) : tile(s.rows, s.inner),
                    b = s.b_transposed ? tile(s.columns, s.inner) : tile(s.inner, s.columns),
                    sums = fmt::format("tile<{}, {}, {}>", s.sums, s.rows, s.columns),
                    zero = s.sums == "f32" ? "0.0" : "0",
                    masks = s.limited ? "%50: i32 = sub @terms, %7 " + masked(3, a, s.a_transposed ? 0 : 1, zero) +
                                            masked(4, b, s.b_transposed ? 1 : 0, zero)
                                      : "",
                    after = s.halved ? fmt::format("0.0:{0} %17: {0} = mul %16, 0.5:{0} %5: {0} = add %2, %17", sums)
                                     : "%2";
  return fmt::format(
      "kernel @k(@a: array<const {0}, 2>, @b: array<const {0}, 2>, @c: array<{1}, 2>, @n: i32, @at: i32{18}) "
      "blocks 1 of {2} {{ %0: i32 = thread_index 0 %20: i32 = mul %0, {3} %19: i32 = mul @at, 16 "
      "for %1: i32 in 0 .. @n step 1 stages {4} carry (%2 -> %6: {5} = {6}:{5} then %5) {{ "
      "%7: i32 = mul %1, {7} %8: i32 = add %7, %19 {8} "
      "%3: {9} = load @a[{10}] %4: {11} = load @b[{12}] {19} {13} {16}: {5} = matmul {14}{20}, {15}{21}, {17} }} "
      "store @c[%20, 0] = %6 }}",
      s.type, s.sums, s.threads, s.rows, s.stages, sums, zero, s.inner, loads, a,
      s.a_transposed ? "%8, %20" : "%20, %8", b, s.b_transposed ? "%19, %8" : "%8, %19", body,
      std::string(s.tf32 ? "tf32 " : "") + (s.a_transposed ? "transposed " : ""), s.b_transposed ? "transposed " : "",
      s.halved ? "%16" : "%5", after, s.limited ? ", @terms: i32" : "", masks, s.limited ? "%43" : "%3",
      s.limited ? "%44" : "%4");
}

inline ir::Kernel structured(const std::string &text) {
  ir::Kernel kernel = ir::parse_kernel(text);
  ir::verify(kernel, ir::Form::structured, "the test");
  return kernel;
}
inline ir::Kernel lowered(const std::string &text) {
  return passes::lower_threads(passes::lower_tiles(structured(text), passes::gpu_architecture(90)));
}

inline tiles::TileArray array(ScalarType type, std::int64_t rows, std::int64_t columns, int seed) {
  tiles::TileArray made{type, {rows, columns}, {}};
  for (std::int64_t k = 0; k < rows * columns; ++k) {
    const std::int64_t number = (k * 37 + seed) % 11 - 5;
    made.elements.push_back(is_floating(type) ? tiles::Element{static_cast<double>(number), 0, 0}
                                              : tiles::Element{0, 0, number < 0 ? -number : number});
  }
  return made;
}

// From index `first` of a dimension of a matrix on.
inline void leave_no_numbers(tiles::TileArray &matrix, std::size_t dimension, std::int64_t first) {
  if (!is_floating(matrix.type)) return;
  for (std::size_t k = 0; k < matrix.elements.size(); ++k) {
    const auto place = static_cast<std::int64_t>(k), columns = matrix.extents[1];
    if ((dimension == 0 ? place / columns : place % columns) >= first)
      matrix.elements[k].value = std::numeric_limits<double>::quiet_NaN();
  }
}

// Whether a plan sets the elements of arguments to exactly the structured form's results, in each order of threads.
inline void expect_runs_as(const ir::Kernel &plan, const ir::Kernel &structured, std::int64_t blocks,
                           const std::vector<tiles::TileArray> &arguments, const std::vector<std::size_t> &set,
                           const std::vector<ThreadOrder::Kind> &orders, unsigned seed = 3) {
  const auto expected = tiles::run_structured(structured, {blocks}, arguments);
  for (const auto order : orders) {
    const auto got = run_lowered(plan, {blocks}, arguments, {order, seed}).arguments;
    for (const std::size_t array : set)
      for (std::size_t k = 0; k < expected[array].elements.size(); ++k) {
        ASSERT_EQ(got[array].elements[k].value, expected[array].elements[k].value) << array << ' ' << k;
        ASSERT_EQ(got[array].elements[k].integer, expected[array].elements[k].integer) << array << ' ' << k;
      }
  }
}

// Whether the plan of the kernel of this text computes the same as its structured form, on arrays that windows exceed.
// Small integers: the order of sums does not show. `limit`: this many terms of a limited product count; factors have
// NaN in place of the others.
inline void expect_as_structured(const ProductShape &s, const ir::Kernel &plan, const std::string &text,
                                 std::int64_t terms, std::int64_t n, std::int64_t at, std::int64_t limit = 0) {
  const ScalarType type = *scalar_type_from_name(s.type), sums = *scalar_type_from_name(s.sums);
  const std::int64_t m = s.rows + 9, columns = s.columns - 3;
  std::vector<tiles::TileArray> arguments{
      s.a_transposed ? array(type, terms, m, 3) : array(type, m, terms, 3),
      s.b_transposed ? array(type, columns, terms, 4) : array(type, terms, columns, 4), array(sums, m, columns, 5)};
  arguments.push_back({ScalarType::Int32, {}, {{0, 0, n}}});
  arguments.push_back({ScalarType::Int32, {}, {{0, 0, at}}});
  if (s.limited) {
    arguments.push_back({ScalarType::Int32, {}, {{0, 0, limit}}});
    leave_no_numbers(arguments[0], s.a_transposed ? 0 : 1, limit + at * 16);
    leave_no_numbers(arguments[1], s.b_transposed ? 1 : 0, limit + at * 16);
  }
  ir::verify(plan, ir::Form::lowered, "plan");
  EXPECT_TRUE(passes::unsynchronised(plan, passes::shares_memory(passes::FactsOfArrays(5, good))).missing.empty());
  expect_runs_as(plan, structured(text), 2, arguments, {2}, {ThreadOrder::Kind::FirstToLast, ThreadOrder::Kind::Random},
                 1);
}

}  // namespace samite::test::product_loops
