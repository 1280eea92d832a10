// Products of groups of rows, against sums in double of each group.
#include "samite/ops/grouped_matmul.h"
#include "samite/ops/grouped_by_type.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace samite::test {
namespace {

using testing::HasSubstr;
using Heights = std::vector<std::int32_t>;

std::vector<std::int32_t> offsets_of(const Heights &heights) {
  std::vector<std::int32_t> offsets{0};
  for (const std::int32_t height : heights) offsets.push_back(offsets.back() + height);
  return offsets;
}
Buffer<std::int32_t> on_device(const std::vector<std::int32_t> &offsets) {
  return {device(), {static_cast<std::int64_t>(offsets.size())}, offsets};
}

// Rows in groups, and a matrix for each of them.
struct Groups {
  std::vector<std::int32_t> offsets;
  std::int64_t columns;
  Matrix a, b;  // b has the matrices one below the other

  Groups(const Heights &heights, std::int64_t columns, std::int64_t inner)
      : offsets(offsets_of(heights)), columns(columns), a(offsets.back(), inner, 1), b(count() * inner, columns, 2) {}

  std::int64_t count() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t inner() const { return a.columns; }
  Extents extents_of_b() const { return {count(), inner(), columns}; }
  std::int64_t group_of(std::int64_t row) const {
    return std::upper_bound(offsets.begin(), offsets.end(), row) - offsets.begin() - 1;
  }
  double b_of(std::int64_t row, std::int64_t k, std::int64_t j) const { return b(group_of(row) * inner() + k, j); }

  Matrix products() const {
    return Matrix(a.rows, columns, [&](std::int64_t i, std::int64_t j) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner(); ++k) sum += a(i, k) * b_of(i, k, j);
      return sum;
    });
  }
};

template <class T, class C>
void check_groups(const Heights &heights, std::int64_t columns, std::int64_t inner, bool b_transposed = false) {
  SCOPED_TRACE(testing::PrintToString(heights));
  const Groups g(heights, columns, inner);
  const auto a = buffer<T>(g.a.extents(), g.a.values);
  auto b = buffer<T>(g.extents_of_b(), g.b.values);
  if (b_transposed) b = b.permute({0, 2, 1}).clone();
  auto c = poisoned<C>({g.a.rows, columns});
  ops::grouped_matmul(a, b, on_device(g.offsets), c, {.transposed = {.b = b_transposed}});
  expect_near(c, g.products().values, sizeof(C) == 2 ? 0.02 * double(inner) : 1e-5 * double(inner + 1));
}

TEST(GroupedMatmul, GroupsOfAnyHeights) {
  check_groups<float, float>({5, 64, 1, 130, 63}, 70, 66);
  check_groups<float, float>({0, 3, 0, 0, 7, 0}, 5, 9);  // empty ones
  check_groups<float, float>({40}, 33, 20);              // one
  check_groups<float, float>({0, 0, 100, 0}, 20, 10);    // all rows in one
  check_groups<float, float>({1, 1, 1, 1, 1, 1, 1}, 3, 4);
  check_groups<float, float>({0, 0}, 3, 4);
}

TEST(GroupedMatmul, RandomHeights) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 12; ++trial) {
    Heights heights;
    for (std::size_t g = 0, count = 1 + random() % 20; g < count; ++g)
      heights.push_back(static_cast<std::int32_t>(random() % 3 == 0 ? 0 : random() % 90));
    check_groups<float, float>(heights, 17, 12);
  }
}

TEST(GroupedMatmul, TypesAndTransposed) {
  const Heights heights{3, 40, 0, 9};
  check_groups<half, half>(heights, 33, 65);
  check_groups<half, float>(heights, 33, 65);
  check_groups<bfloat16, bfloat16>(heights, 33, 65);
  check_groups<double, double>(heights, 33, 65);
  check_groups<float, float>(heights, 33, 65, true);
}

TEST(GroupedMatmul, RowsInNoGroupStayAsTheyAre) {
  const auto a = buffer<float>({5, 1}, {1, 2, 3, 4, 5}), b = buffer<float>({2, 1, 1}, {10, 100});
  Buffer<float> c(device(), {5, 1}, {-1, -1, -1, -1, -1});
  ops::grouped_matmul(a, b, on_device({1, 2, 4}), c);
  EXPECT_EQ(c.to_vector(), (std::vector<float>{-1, 20, 300, 400, -1}));
}

TEST(GroupedMatmul, EpilogueSeesTheRowsOfItsGroupAlone) {
  const ops::GroupedMatmul layer{"layer",
                                 [](const ops::Sums<float> &s, Array<const float, 2> bias, Array<const float, 1> scale,
                                    Array<const float, 2> residual, Array<float, 2> before, Array<float, 1> largest) {
                                   const Tile<float> x = (s.values() + s.for_columns(bias)) * s.for_rows(scale);
                                   s.store(before, x);
                                   atomic_max(largest(s.group()), tile::max(select(s.inside(), x, -1000.0f)));
                                   return x + s.for_elements(residual);
                                 }};
  const Groups g({5, 0, 70, 6}, 66, 20);
  const std::int64_t rows = g.a.rows, columns = g.columns;
  const Matrix bias(g.count(), columns, 3), residual(rows, columns, 4);
  const std::vector<double> scale = numbers(rows, 5);
  auto c = poisoned<float>({rows, columns}), before = poisoned<float>({rows, columns});
  Buffer<float> largest(device(), {4}, {-1000, -1000, -1000, -1000});
  layer.launch({.debug = true}, buffer<float>(g.a.extents(), g.a.values), buffer<float>(g.extents_of_b(), g.b.values),
               on_device(g.offsets), c, buffer<float>(bias.extents(), bias.values), buffer<float>({rows}, scale),
               buffer<float>(residual.extents(), residual.values), before, largest);
  const Matrix sums = g.products();
  std::vector<double> most(4, -1000);
  const Matrix x(rows, columns, [&](std::int64_t i, std::int64_t j) {
    const double value = (sums(i, j) + bias(g.group_of(i), j)) * scale[static_cast<std::size_t>(i)];
    double &own = most[static_cast<std::size_t>(g.group_of(i))];
    own = std::max(own, value);
    return value;
  });
  expect_near(before, x.values, 1e-4);
  expect_near(largest, most, 1e-4);
  expect_near(c, Matrix(rows, columns, [&](auto i, auto j) { return x(i, j) + residual(i, j); }).values, 1e-4);
}

// Numbers in rows of other groups, or of none, must not reach a gradient.
TEST(GroupedMatmul, GradientsOfFactorsAndBias) {
  const ops::GroupedMatmul layer{"layer", [](const ops::Sums<double> &s, Array<const double, 2> bias) {
                                   return tanh(s.values() + s.for_columns(bias));
                                 }};
  const Groups g({3, 0, 70, 2}, 18, 20);
  const std::int64_t rows = g.a.rows, columns = g.columns, inner = g.inner(), without_group = 2;
  std::vector<double> left = g.a.values;
  left.resize(static_cast<std::size_t>((rows + without_group) * inner), not_written);
  const auto a = buffer<double>({rows + without_group, inner}, left, Gradient::tracked);
  const auto b = buffer<double>(g.extents_of_b(), g.b.values, Gradient::tracked);
  const Matrix of_bias(g.count(), columns, 3);
  const auto bias = buffer<double>(of_bias.extents(), of_bias.values, Gradient::tracked);
  Buffer<double> c(device(), {rows + without_group, columns}, Gradient::tracked);
  Tape tape;
  tape.record([&] { layer.launch(a, b, on_device(g.offsets), c, bias); });
  const Matrix weights(rows + without_group, columns, 5);
  tape.backward({{c, buffer<double>(weights.extents(), weights.values)}});

  const Matrix sums = g.products();
  const Matrix slope(rows, columns, [&](std::int64_t i, std::int64_t j) {
    const double y = std::tanh(sums(i, j) + of_bias(g.group_of(i), j));
    return weights(i, j) * (1 - y * y);
  });
  Matrix da(rows + without_group, inner, [](auto, auto) { return 0.0; });
  Matrix db(g.count() * inner, columns, [](auto, auto) { return 0.0; });
  Matrix dbias(g.count(), columns, [](auto, auto) { return 0.0; });
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      dbias.values[static_cast<std::size_t>(g.group_of(i) * columns + j)] += slope(i, j);
      for (std::int64_t k = 0; k < inner; ++k) {
        da.values[static_cast<std::size_t>(i * inner + k)] += slope(i, j) * g.b_of(i, k, j);
        db.values[static_cast<std::size_t>((g.group_of(i) * inner + k) * columns + j)] += slope(i, j) * g.a(i, k);
      }
    }
  expect_near(a.gradient(), da.values, 1e-10);
  expect_near(b.gradient(), db.values, 1e-10);
  expect_near(bias.gradient(), dbias.values, 1e-10);
}

// Both gradients of plain products of groups, for the cotangent `d`.
struct GroupedGradients {
  Matrix a, b;

  GroupedGradients(const Groups &g, const Matrix &d)
      : a(g.a.rows, g.inner(),
          [&](std::int64_t i, std::int64_t k) {
            double sum = 0;
            for (std::int64_t j = 0; j < g.columns; ++j) sum += d(i, j) * g.b_of(i, k, j);
            return sum;
          }),
        b(g.count() * g.inner(), g.columns, [&](std::int64_t row, std::int64_t j) {
          const auto group = static_cast<std::size_t>(row / g.inner());
          double sum = 0;
          for (std::int64_t i = g.offsets[group]; i < g.offsets[group + 1]; ++i)
            sum += g.a(i, row % g.inner()) * d(i, j);
          return sum;
        }) {}
};

template <class T>
void check_adjoint(const Heights &heights, std::int64_t columns, std::int64_t inner, bool b_transposed) {
  SCOPED_TRACE(testing::PrintToString(heights));
  const Groups g(heights, columns, inner);
  const Matrix d(g.a.rows, columns, 7);
  const GroupedGradients expected(g, d);
  const auto as_b_lies = [&](const Buffer<T> &x) { return b_transposed ? x.permute({0, 2, 1}).clone() : x; };
  const auto a = buffer<T>(g.a.extents(), g.a.values), b = as_b_lies(buffer<T>(g.extents_of_b(), g.b.values));
  const auto a_gradient = poisoned<T>(g.a.extents()), b_gradient = as_b_lies(poisoned<T>(g.extents_of_b()));
  ops::grouped_matmul_adjoint(a, b, on_device(g.offsets), buffer<T>(d.extents(), d.values), a_gradient, b_gradient,
                              {.transposed = {.b = b_transposed}});
  const double of_one = sizeof(T) == 2 ? 0.02 : 1e-5;
  expect_near(a_gradient, expected.a.values, of_one * double(columns + 1));
  expect_near(as_b_lies(b_gradient), expected.b.values, of_one * double(g.a.rows + 1));
}

TEST(GroupedMatmul, AdjointIsTwoProducts) {
  for (const bool transposed : {false, true}) {
    check_adjoint<float>({5, 64, 1, 130, 0, 63}, 70, 66, transposed);
    check_adjoint<double>({0, 0}, 3, 4, transposed);
    check_adjoint<half>({3, 40, 0, 9}, 33, 65, transposed);
    check_adjoint<bfloat16>({130, 3}, 64, 128, transposed);
  }
  const auto a = buffer<float>({3, 1}, {1, 2, 3}), b = buffer<float>({1, 1, 1}, {10});
  const auto d = buffer<float>({3, 1}, {1, 1, 1}), da = buffer<float>({3, 1}, {-1, -1, -1});
  const auto db = poisoned<float>({1, 1, 1});
  ops::grouped_matmul_adjoint(a, b, on_device({1, 2}), d, da, db);
  EXPECT_EQ(da.to_vector(), (std::vector<float>{-1, 10, -1})) << "rows in no group stay as they are";
  EXPECT_EQ(db.to_vector(), std::vector<float>{2});
}

TEST(GroupedMatmul, AdjointNamesWhatDoesNotFit) {
  const Buffer<float> a(device(), {6, 2}), b(device(), {3, 2, 4}), d(device(), {6, 4});
  const auto offsets = on_device({0, 1, 2, 6});
  const auto message = [&](const AnyBuffer &of_a, const AnyBuffer &of_b, const ops::MatmulOptions &options = {}) {
    return message_of<UserError>([&] { ops::grouped_matmul_adjoint(a, b, offsets, d, of_a, of_b, options); });
  };
  EXPECT_THAT(message(b, b), HasSubstr("expected a_gradient of float with extents (6, 2)"));
  EXPECT_THAT(message(a, Buffer<float>(device(), {3, 4, 2})),
              HasSubstr("expected b_gradient of float with extents (3, 2, 4)"));
  EXPECT_THAT(message(a, Buffer<double>(device(), {3, 2, 4})), HasSubstr("as b is; Buffer<f64>"));
  EXPECT_THAT(message(a, b, {.transposed = {.a = true}}), HasSubstr("the rows of a, which are in groups"));
}

// Enough blocks for tiles of 128 x 256 on compute capability 9.0 in a launch that is not differentiated. The derived
// adjoint of such tiles needs more memory than a block has.
template <class T>
void check_tape_of_large_groups(const ops::MatmulOptions &options = {}) {
  const Groups g({700, 324, 1024}, 2048, 32);
  const Matrix d(g.a.rows, g.columns, 7);
  const auto a = buffer<T>(g.a.extents(), g.a.values, Gradient::tracked);
  const auto b = buffer<T>(g.extents_of_b(), g.b.values, Gradient::tracked);
  Buffer<T> c(device(), {g.a.rows, g.columns}, Gradient::tracked);
  const ops::GroupedMatmul plain{"plain", [](const ops::Sums<T> &s) { return ops::detail::as_type<T>(s.values()); },
                                 options};
  Tape tape;
  tape.record([&] { plain.launch(a, b, on_device(g.offsets), c); });
  tape.backward({{c, buffer<T>(d.extents(), d.values)}});
  const Matrix some(20, g.inner(), [&](std::int64_t i, std::int64_t k) {
    double sum = 0;
    for (std::int64_t j = 0; j < g.columns; ++j) sum += d(i * 100, j) * g.b_of(i * 100, k, j);
    return sum;
  });
  const std::vector<T> of_a = Buffer<T>(a.gradient()).to_vector();
  for (std::int64_t i = 0; i < some.rows; ++i)
    for (std::int64_t k = 0; k < g.inner(); ++k)
      ASSERT_NEAR(static_cast<double>(of_a[static_cast<std::size_t>(i * 100 * g.inner() + k)]), some(i, k), 1.5);
}
TEST(GroupedMatmul, TapesOfLargeGroups) {
  if (device().kind() == DeviceKind::cpu) GTEST_SKIP() << "of a GPU's shared memory";
  check_tape_of_large_groups<bfloat16>();
  check_tape_of_large_groups<half>();
  check_tape_of_large_groups<float>();
  check_tape_of_large_groups<float>({.precision = tile::Precision::tf32});
  check_tape_of_large_groups<double>();
}

TEST(GroupedMatmul, NamesTheGroupWhoseOffsetsDoNotRise) {
  const Buffer<float> a(device(), {6, 2}), b(device(), {3, 2, 4}), c(device(), {6, 4});
  const ops::GroupedMatmul plain{"plain", [](const ops::Sums<float> &s) { return s.values(); }};
  const auto message = [&](const std::vector<std::int32_t> &offsets) {
    return message_of<UserError>([&] {
      plain.launch({.debug = true}, a, b, on_device(offsets), c);
      c.to_vector();  // on CUDA the message comes with the next wait
    });
  };
  EXPECT_THAT(message({0, 4, 3, 3}), HasSubstr("group 1 is of the rows from 4 to before 3 of 6; offsets have to rise"));
  EXPECT_THAT(message({0, 4, 5, 7}), HasSubstr("group 2 is of the rows from 5 to before 7 of 6"));
  EXPECT_THAT(message({-1, 4, 5, 6}), HasSubstr("group 0 is of the rows from -1 to before 4 of 6"));
}

TEST(GroupedMatmul, NamesWhatDoesNotFit) {
  const Buffer<float> a(device(), {6, 2}), b(device(), {3, 2, 4}), c(device(), {6, 4});
  const auto offsets = on_device({0, 1, 2, 6});
  const auto message = [](const auto &...arguments) {
    return message_of<UserError>([&] { ops::grouped_matmul(arguments...); });
  };
  EXPECT_THAT(message(a, b, on_device({0, 6}), c), HasSubstr("expected 4 offsets, where each of 3 groups begins"));
  EXPECT_THAT(message(a, Buffer<float>(device(), {3, 4, 2}), offsets, c),
              HasSubstr("a has 2 terms for each sum and b has 4"));
  EXPECT_THAT(message(a, Buffer<float>(device(), {3, 4, 2}), offsets, c),
              HasSubstr("With {.transposed = {.b = true}} they would fit"));
  EXPECT_THAT(message(a, b, offsets, Buffer<float>(device(), {6, 5})), HasSubstr("expected c of 6 by 4"));
  EXPECT_THAT(message(a, Buffer<float>(device(), {2, 4}), offsets, c), HasSubstr("a matrix in b for each group"));
  EXPECT_THAT(message(a, Buffer<float>(), offsets, c), HasSubstr("b is an empty buffer"));
  EXPECT_THAT(message(a, b, offsets, c, ops::MatmulOptions{.transposed = {.a = true}}),
              HasSubstr("transposed a given"));
}

}  // namespace
}  // namespace samite::test
