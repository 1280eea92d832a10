// Products of 8-bit factors with each kind of scales, compared with sums in double of the represented factors.
#include "samite/ops/scaled_matmul.h"
#include "samite/ops/quantise.h"
#include "samite/ops/scaled_grouped_matmul.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

struct Quantised {
  Buffer<f8e4m3> q;
  Buffer<float> scale;
};

std::int64_t scale_blocks(std::int64_t count) { return (count + 127) / 128; }

// Rows of very different sizes, so that a scale in the wrong place shows.
Matrix uneven(std::int64_t rows, std::int64_t columns, unsigned seed) {
  Matrix plain(rows, columns, seed);
  return Matrix(rows, columns, [&](std::int64_t i, std::int64_t j) {
    return plain(i, j) * std::exp2(static_cast<double>((i * 5 + seed) % 7) - 3) *
           std::exp2(static_cast<double>(j / 128 % 3)) * std::exp2(static_cast<double>(i / 128 % 2));
  });
}

template <class Q>
Matrix meaning(const Buffer<Q> &q, const Buffer<float> &scale) {
  const std::int64_t rows = q.extents()[0], columns = q.extents()[1];
  const auto numbers = q.to_vector();
  const auto at = [](std::int64_t index, std::int64_t count, std::int64_t scales) {
    return scales == 1 ? 0 : scales == count ? index : index / 128;
  };
  return Matrix(rows, columns, [&](std::int64_t i, std::int64_t j) {
    return static_cast<double>(static_cast<float>(numbers[static_cast<std::size_t>(i * columns + j)])) *
           scale.at(at(i, rows, scale.extents()[0]), at(j, columns, scale.extents()[1]));
  });
}

template <class Q>
void quantise(const Matrix &x, const Buffer<Q> &q, const Buffer<float> &scale) {
  ops::quantise(buffer<float>(x.extents(), x.values), q, scale);
}

enum class Lie { by_rows, by_columns, behind_a_number };
Buffer<float> scales(const Extents &extents, Lie lie) {
  const std::int64_t rows = extents[0], columns = extents[1];
  switch (lie) {
    case Lie::by_columns: return Buffer<float>(Buffer<float>(device(), {columns, rows}).transpose());
    case Lie::behind_a_number:
      return Buffer<float>(Buffer<float>(device(), {rows, columns + 1}).slice(1, 1, columns + 1));
    default: return Buffer<float>(device(), extents);
  }
}

template <class A, class B>
void check_scaled(const Extents &scales_of_a, const Extents &scales_of_b, std::int64_t rows, std::int64_t columns,
                  std::int64_t inner, tile::Transposes transposed = {}) {
  SCOPED_TRACE(scales_of_a.to_string() + " " + scales_of_b.to_string());
  const Matrix x = uneven(rows, inner, 1), y = uneven(inner, columns, 2);
  Buffer<A> a(device(), {rows, inner});
  Buffer<B> b(device(), {inner, columns});
  Buffer<float> scale_a(device(), scales_of_a), scale_b(device(), scales_of_b);
  quantise(x, a, scale_a);
  quantise(y, b, scale_b);
  const Matrix expected = product(meaning(a, scale_a), meaning(b, scale_b));
  auto c = poisoned<float>({rows, columns});
  ops::scaled_matmul(transposed.a ? Buffer<A>(a.transpose().clone()) : a,
                     transposed.b ? Buffer<B>(b.transpose().clone()) : b, scale_a, scale_b, c,
                     {.transposed = transposed});
  double largest = 0;
  for (const double value : expected.values) largest = std::max(largest, std::abs(value));
  expect_near(c, expected.values, 1e-5 * largest);
}

TEST(ScaledMatmul, EachKindOfScalesWithEachOther) {
  const std::int64_t rows = 150, columns = 140, inner = 300;
  const std::vector<Extents> of_a{
      {1, 1}, {rows, 1}, {rows, scale_blocks(inner)}, {scale_blocks(rows), scale_blocks(inner)}};
  const std::vector<Extents> of_b{
      {1, 1}, {1, columns}, {scale_blocks(inner), columns}, {scale_blocks(inner), scale_blocks(columns)}};
  for (const Extents &a : of_a)
    for (const Extents &b : of_b) check_scaled<f8e4m3, f8e4m3>(a, b, rows, columns, inner);
}

// Bulk copies read some of these, with their dimensions exchanged or not. All give the same.
TEST(ScaledMatmul, ScalesThatLieInEachWay) {
  const auto check = [](std::int64_t rows, std::int64_t columns, std::int64_t inner, bool scale_of_each_row) {
    const std::int64_t terms = scale_blocks(inner), across = scale_blocks(columns);
    const Extents of_a{scale_of_each_row ? rows : scale_blocks(rows), terms}, of_b{terms, across};
    const Matrix x = uneven(rows, inner, 1), y = uneven(columns, inner, 2);
    Buffer<f8e4m3> a(device(), {rows, inner}), b(device(), {columns, inner});
    Buffer<float> scale_a(device(), of_a), scale_of_b(device(), {across, terms});
    quantise(x, a, scale_a);
    quantise(y, b, scale_of_b);
    const Buffer<float> scale_b(scale_of_b.transpose());
    const auto in = [](Lie lie, const Buffer<float> &values) {
      Buffer<float> made = scales(values.extents(), lie);
      made.copy_from(values);
      return made;
    };
    const auto result = [&](Lie lie_of_a, Lie lie_of_b) {
      auto c = poisoned<float>({rows, columns});
      ops::scaled_matmul(a, b, in(lie_of_a, scale_a), in(lie_of_b, scale_b), c, {.transposed = {.b = true}});
      return c.to_vector();
    };
    const std::vector<float> expected = result(Lie::behind_a_number, Lie::by_rows);
    double largest = 0;
    for (const float value : expected) largest = std::max(largest, std::abs(static_cast<double>(value)));
    ASSERT_GT(largest, 0);
    for (const Lie lie_of_a : {Lie::by_rows, Lie::by_columns})
      for (const Lie lie_of_b : {Lie::by_rows, Lie::by_columns}) {
        const std::vector<float> got = result(lie_of_a, lie_of_b);
        for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], expected[k], 1e-6 * largest) << k;
      }
  };
  for (const bool scale_of_each_row : {true, false}) {
    check(140, 390, 512, scale_of_each_row);
    check(140, 500, 1100, scale_of_each_row);
    if (device().kind() == DeviceKind::cuda) check(1412, 2428, 1024, scale_of_each_row);  // tiles of two parts
  }
}

TEST(ScaledMatmul, FactorsOfTwoTypes) {
  check_scaled<f8e4m3, f8e5m2>({70, 1}, {1, 40}, 70, 40, 200);
  check_scaled<f8e5m2, f8e4m3>({70, 2}, {2, 1}, 70, 40, 200);
}

TEST(ScaledMatmul, Transposed) {
  for (const tile::Transposes transposed : {tile::Transposes{true, false}, {false, true}, {true, true}})
    check_scaled<f8e4m3, f8e4m3>({70, 2}, {2, 1}, 70, 40, 200, transposed);
}

TEST(ScaledMatmul, ShapesThatTilesDoNotDivide) {
  for (const auto [rows, columns, inner] : {std::array{1, 1, 1}, {3, 129, 5}, {130, 7, 129}, {1, 64, 128}})
    check_scaled<f8e4m3, f8e4m3>({rows, scale_blocks(inner)}, {scale_blocks(inner), scale_blocks(columns)}, rows,
                                 columns, inner);
}

TEST(ScaledMatmul, Batches) {
  const int batches = 2;
  const std::int64_t rows = 20, columns = 30, inner = 140;
  Buffer<f8e4m3> a(device(), {batches, rows, inner}), b(device(), {batches, inner, columns});
  Buffer<float> scale_a(device(), {batches, rows, 2}), scale_b(device(), {batches, 2, 1});
  auto c = poisoned<float>({batches, rows, columns});
  std::vector<double> expected;
  const auto part = [](const auto &x, int n, const Extents &extents) {
    return std::remove_cvref_t<decltype(x)>(x.slice(0, n, n + 1).reshape(extents));
  };
  for (int n = 0; n < batches; ++n) {
    const auto left = part(a, n, {rows, inner}), right = part(b, n, {inner, columns});
    const auto of_left = part(scale_a, n, {rows, 2}), of_right = part(scale_b, n, {2, 1});
    quantise(uneven(rows, inner, static_cast<unsigned>(n)), left, of_left);
    quantise(uneven(inner, columns, static_cast<unsigned>(n) + 5), right, of_right);
    const Matrix sums = product(meaning(left.clone(), of_left.clone()), meaning(right.clone(), of_right.clone()));
    expected.insert(expected.end(), sums.values.begin(), sums.values.end());
  }
  ops::scaled_matmul(a, b, scale_a, scale_b, c);
  expect_near(c, expected, 0.01);
}

// Groups of these heights, each against its own product.
template <class A, class B>
void check_groups(const std::vector<std::int32_t> &heights, std::int64_t scales_of_row, const Extents &scales_of_b,
                  tile::Transposes transposed = {}) {
  const std::int64_t groups = std::ssize(heights), columns = 140, inner = 300;
  std::vector<std::int32_t> offsets{0};
  for (const std::int32_t height : heights) offsets.push_back(offsets.back() + height);
  const std::int64_t rows = offsets.back();
  Buffer<A> a(device(), {rows, inner});
  Buffer<B> b(device(), {groups, inner, columns});
  Buffer<float> scale_a(device(), {scales_of_row == 0 ? 1 : rows, std::max<std::int64_t>(scales_of_row, 1)}),
      scale_b(device(), {groups, scales_of_b[0], scales_of_b[1]});
  quantise(uneven(rows, inner, 1), a, scale_a);
  const Matrix left = meaning(a, scale_a);
  std::vector<double> expected;
  double largest = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const Buffer<B> own(b.slice(0, g, g + 1).reshape({inner, columns}));
    const Buffer<float> scales(scale_b.slice(0, g, g + 1).reshape(scales_of_b));
    quantise(uneven(inner, columns, static_cast<unsigned>(g) + 2), own, scales);
    const auto at = static_cast<std::size_t>(g);
    const Matrix rows_of_group(heights[at], inner, [&](auto i, auto j) { return left(offsets[at] + i, j); });
    const Matrix sums = product(rows_of_group, meaning(own.clone(), scales.clone()));
    for (const double value : sums.values) expected.push_back(value), largest = std::max(largest, std::abs(value));
  }
  auto c = poisoned<float>({rows, columns});
  ops::scaled_grouped_matmul(a, transposed.b ? Buffer<B>(b.permute({0, 2, 1}).clone()) : b, scale_a, scale_b,
                             Buffer<std::int32_t>(device(), {groups + 1}, offsets), c, {.transposed = transposed});
  expect_near(c, expected, 1e-5 * largest);
}

TEST(ScaledMatmul, GroupsOfRowsWithEachKindOfScales) {
  const std::vector<std::int32_t> heights{7, 0, 90, 33};
  for (const std::int64_t scales_of_row : {0, 1, 3})
    for (const Extents &scales_of_b : {Extents{1, 1}, Extents{1, 140}, Extents{3, 140}, Extents{3, 2}})
      check_groups<f8e4m3, f8e4m3>(heights, scales_of_row, scales_of_b);
  check_groups<f8e4m3, f8e5m2>(heights, 1, {1, 140}, {.b = true});
  check_groups<f8e5m2, f8e4m3>({0, 0, 40}, 3, {3, 2});
}

TEST(ScaledMatmul, ScalesOfBlocksOfRowsMayBelongToSeveralGroups) {
  const Buffer<f8e4m3> a(device(), {200, 128}), b(device(), {2, 128, 8});
  const Buffer<float> c(device(), {200, 8}), blocks(device(), {2, 1}), one(device(), {2, 1, 1});
  const Buffer<std::int32_t> offsets(device(), {3}, {0, 100, 200});
  EXPECT_THAT(message_of<UserError>([&] { ops::scaled_grouped_matmul(a, b, blocks, one, offsets, c); }),
              HasSubstr("scale_a has one scale for 128 rows of a, which may belong to several groups"));
}

TEST(ScaledMatmul, EpilogueToEightBitsStaysInItsRange) {
  const ops::ScaledMatmul layer{"layer", [](const ops::ScaledSums<f8e4m3> &s, Array<const float, 1> bias, Float scale) {
                                  return tile::cast<f8e4m3>((s.values() + s.for_columns(bias)) * scale);
                                }};
  const Buffer<f8e4m3> a(device(), {1, 2}, {448, 448}), b(device(), {2, 2}, {448, 1, 448, 1});
  const Buffer<float> one(device(), {1, 1}, {1.0f}), bias(device(), {2}, {0.0f, 4.0f});
  Buffer<f8e4m3> c(device(), {1, 2});
  layer.launch(a, b, one, one, c, bias, 0.01f);
  EXPECT_EQ(static_cast<float>(c.at(0, 0)), 448);
  EXPECT_EQ(static_cast<float>(c.at(0, 1)), 9);  // 900 x 0.01
}

TEST(ScaledMatmul, NaNAndInfinityAreAsIEEESays) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Buffer<f8e4m3> a(device(), {3, 1}, {1, f8e4m3(nan), 0}), b(device(), {1, 1}, {2});
  const Buffer<float> scales(device(), {3, 1}, {infinity, 1, infinity}), one(device(), {1, 1}, {1.0f});
  Buffer<float> c(device(), {3, 1});
  ops::scaled_matmul(a, b, scales, one, c);
  EXPECT_EQ(c.at(0, 0), infinity);
  EXPECT_TRUE(std::isnan(c.at(1, 0)));
  EXPECT_TRUE(std::isnan(c.at(2, 0)));  // 0 x infinity
}

TEST(ScaledMatmul, WithoutTermsIsZero) {
  const Buffer<f8e4m3> a(device(), {3, 0}), b(device(), {0, 2});
  const Buffer<float> one(device(), {1, 1}, {1.0f});
  auto c = poisoned<float>({3, 2});
  ops::scaled_matmul(a, b, one, one, c);
  expect_near(c, std::vector<double>(6, 0), 0);
}

TEST(ScaledMatmul, NamesTheScalesThatAMatrixCanHave) {
  const Buffer<f8e4m3> a(device(), {3, 200}), b(device(), {200, 5});
  const Buffer<float> one(device(), {1, 1}), c(device(), {3, 5});
  const auto message = [&](const Buffer<float> &of_a, const Buffer<float> &of_b) {
    return message_of<UserError>([&] { ops::scaled_matmul(a, b, of_a, of_b, c); });
  };
  const auto scales = [](const Extents &extents) { return Buffer<float>(device(), extents); };
  EXPECT_THAT(
      message(scales({3, 3}), one),
      HasSubstr("scale_a has extents (3, 3); a matrix of 3 by 200 has scales of (1, 1), one; (3, 1), one for each "
                "row; (3, 2), one for 128 numbers of a row; (1, 2), one for a block of 128 by 128"));
  EXPECT_THAT(message(one, scales({5})),
              HasSubstr("scale_b has extents (5); a matrix of 200 by 5 has scales of (1, 1), one; (1, 5), one for each "
                        "column; (2, 5), one for 128 numbers of a column; (2, 1), one for a block"));
  EXPECT_THAT(message(one, Buffer<float>()), HasSubstr("scale_b is an empty buffer"));
  EXPECT_THAT(message(scales({1, 200}), one), HasSubstr("a scale for each of the terms that are added up; expected one "
                                                        "for all of them, or one for 128 of them"));
  EXPECT_THAT(message(one, scales({200, 1})), HasSubstr("a scale for each of the terms"));
}

}  // namespace
}  // namespace samite::test
