// Products of matrices with epilogues, on shapes that tiles do not divide, against sums in double.
#include "samite/ops/matmul.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

template <class T, class C>
double tolerance(std::int64_t inner) {
  if (sizeof(C) == 8) return 1e-12;
  if (sizeof(C) == 2) return 0.02 * static_cast<double>(inner);
  return 1e-5 * static_cast<double>(inner + 1);
}

template <class T, class C>
void check_product(std::int64_t rows, std::int64_t columns, std::int64_t inner, tile::Transposes transposed = {}) {
  SCOPED_TRACE(testing::Message() << rows << "x" << columns << "x" << inner << transposed.a << transposed.b);
  const Matrix a(rows, inner, 1), b(inner, columns, 2);
  auto left = buffer<T>(a.extents(), a.values), right = buffer<T>(b.extents(), b.values);
  if (transposed.a) left = left.transpose().clone();
  if (transposed.b) right = right.transpose().clone();
  auto c = poisoned<C>({rows, columns});
  ops::matmul(left, right, c, {.transposed = transposed});
  expect_near(c, product(a, b).values, tolerance<T, C>(inner));
}

TEST(Matmul, ShapesThatTilesDoNotDivide) {
  for (const auto [rows, columns, inner] :
       {std::array{1, 1, 1}, {3, 5, 7}, {64, 64, 64}, {65, 63, 129}, {1, 200, 70}, {130, 2, 64}})
    check_product<float, float>(rows, columns, inner);
}

TEST(Matmul, Transposed) {
  for (const tile::Transposes transposed : {tile::Transposes{true, false}, {false, true}, {true, true}})
    check_product<float, float>(37, 70, 66, transposed);
}

TEST(Matmul, Types) {
  check_product<double, double>(40, 33, 65);
  check_product<half, half>(40, 33, 65);
  check_product<half, float>(40, 33, 65);
  check_product<bfloat16, bfloat16>(40, 33, 65);
  check_product<bfloat16, float>(40, 33, 65);
}

TEST(Matmul, Integers) {
  const Buffer<std::int8_t> a(device(), {1, 3}, {100, -100, 7}), b(device(), {3, 2}, {100, 1, 100, 2, 100, 3});
  Buffer<std::int32_t> c(device(), {1, 2});
  ops::matmul(a, b, c);
  EXPECT_EQ(c.to_vector(), (std::vector<std::int32_t>{700, -79}));
}

TEST(Matmul, WithoutTermsIsZero) {
  const Buffer<float> a(device(), {3, 0}), b(device(), {0, 2});
  auto c = poisoned<float>({3, 2});
  ops::matmul(a, b, c);
  expect_near(c, std::vector<double>(6, 0), 0);
}

TEST(Matmul, OfNothing) {
  const Buffer<float> a(device(), {0, 3}), b(device(), {3, 2});
  Buffer<float> c(device(), {0, 2});
  EXPECT_NO_THROW(ops::matmul(a, b, c));
}

TEST(Matmul, Batches) {
  const int batches = 3;
  const Extents of_a{batches, 20, 9}, of_b{batches, 9, 70}, of_c{batches, 20, 70};
  const auto a = buffer<float>(of_a, numbers(of_a.count(), 1)), b = buffer<float>(of_b, numbers(of_b.count(), 2));
  auto c = poisoned<float>(of_c), shared = poisoned<float>(of_c);
  ops::matmul(a, b, c);
  ops::matmul(a, Buffer<float>(b.slice(0, 1, 2).broadcast(of_b)), shared);
  for (int n = 0; n < batches; ++n) {
    const auto part = [n](const Buffer<float> &x) {
      const auto values = Buffer<float>(x.slice(0, n, n + 1)).to_vector();
      return std::vector<double>(values.begin(), values.end());
    };
    Matrix left(20, 9, 1), right(9, 70, 1), second(9, 70, 1);
    left.values = part(a), right.values = part(b);
    const auto middle = Buffer<float>(b.slice(0, 1, 2)).to_vector();
    second.values.assign(middle.begin(), middle.end());
    EXPECT_THAT(part(c), testing::Pointwise(testing::DoubleNear(1e-4), product(left, right).values)) << n;
    EXPECT_THAT(part(shared), testing::Pointwise(testing::DoubleNear(1e-4), product(left, second).values)) << n;
  }
}

TEST(Matmul, EpilogueWithBiasResidualScalesAndLargest) {
  const ops::Matmul layer{
      "layer", [](const ops::Sums<half> &s, Array<const float, 1> bias, Array<const float, 1> scale,
                  Array<const half, 2> residual, Array<float, 2> before, Array<float, 1> largest, Float factor) {
        Tile<float> x = (s.values() + s.for_columns(bias)) * s.for_rows(scale) * factor;
        s.store(before, x);
        Tile<float> y = max(x, 0.0f) + tile::cast<float>(s.for_elements(residual));
        atomic_max(largest(0), tile::max(select(s.inside(), abs(y), 0.0f)));
        return tile::cast<half>(y);
      }};
  const Matrix a(70, 40, 1), b(40, 90, 2), r(70, 90, 3);
  const std::vector<double> bias = numbers(90, 4), scale = numbers(70, 5);
  auto c = poisoned<half>({70, 90});
  auto before = poisoned<float>({70, 90});
  Buffer<float> largest(device(), {1});
  layer.launch(buffer<half>(a.extents(), a.values), buffer<half>(b.extents(), b.values), c, buffer<float>({90}, bias),
               buffer<float>({70}, scale), buffer<half>(r.extents(), r.values), before, largest, 0.5f);
  const Matrix sums = product(a, b);
  std::vector<double> x, y;
  double most = 0;
  for (std::int64_t i = 0; i < 70; ++i)
    for (std::int64_t j = 0; j < 90; ++j) {
      x.push_back((sums(i, j) + bias[static_cast<std::size_t>(j)]) * scale[static_cast<std::size_t>(i)] * 0.5);
      y.push_back(std::max(x.back(), 0.0) + r(i, j));
      most = std::max(most, std::abs(y.back()));
    }
  expect_near(before, x, 1e-4);
  expect_near(c, y, 0.05);
  EXPECT_NEAR(largest.at(0), most, 1e-4);
}

TEST(Matmul, GradientsOfFactorsBiasAndResidual) {
  const ops::Matmul layer{"layer",
                          [](const ops::Sums<double> &s, Array<const double, 1> bias, Array<const double, 2> residual) {
                            return tanh(s.values() + s.for_columns(bias)) + s.for_elements(residual);
                          }};
  const Matrix a(5, 70, 1), b(70, 66, 2);
  auto left = buffer<double>(a.extents(), a.values, Gradient::tracked);
  auto right = buffer<double>(b.extents(), b.values, Gradient::tracked);
  auto bias = buffer<double>({66}, numbers(66, 3), Gradient::tracked);
  auto residual = buffer<double>({5, 66}, numbers(5 * 66, 4), Gradient::tracked);
  Buffer<double> c(device(), {5, 66}, Gradient::tracked);
  Tape tape;
  tape.record([&] { layer.launch(left, right, c, bias, residual); });
  const std::vector<double> weights = numbers(5 * 66, 5);
  tape.backward({{c, buffer<double>({5, 66}, weights)}});

  const Matrix sums = product(a, b);
  const std::vector<double> biases = numbers(66, 3);
  const Matrix inner(5, 66, [&](std::int64_t i, std::int64_t j) {
    const double y = std::tanh(sums(i, j) + biases[static_cast<std::size_t>(j)]);
    return weights[static_cast<std::size_t>(i * 66 + j)] * (1 - y * y);
  });
  std::vector<double> of_bias(66, 0);
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 66; ++j) of_bias[static_cast<std::size_t>(j)] += inner(i, j);
  expect_near(left.gradient(), product(inner, turned(b)).values, 1e-10);
  expect_near(right.gradient(), product(turned(a), inner).values, 1e-10);
  expect_near(bias.gradient(), of_bias, 1e-10);
  expect_near(residual.gradient(), weights, 1e-12);
}

TEST(Matmul, ARecordedLaunchIsRepeated) {
  const ops::Matmul plain{"plain", [](const ops::Sums<float> &s) { return s.values(); }};
  auto a = buffer<float>({3, 4}, numbers(12, 1)), b = buffer<float>({4, 2}, numbers(8, 2));
  Buffer<float> c(device(), {3, 2});
  Launch launch = plain.record(a, b, c);
  launch.launch();
  const auto first = c.to_vector();
  a.copy_from(std::vector<float>(12, 0));
  launch.launch();
  EXPECT_NE(first, c.to_vector());
  EXPECT_EQ(c.to_vector(), std::vector<float>(6, 0));
  EXPECT_EQ(plain.kernels().size(), 1u);
}

// On a GPU; the CPU ignores plans.
TEST(Matmul, ALaunchHasTheTileOfItsPlan) {
  const ops::Matmul plain{"plain", [](const ops::Sums<float> &s) { return s.values(); }};
  const Matrix a(130, 70, 1), b(70, 90, 2);
  const auto left = buffer<float>(a.extents(), a.values), right = buffer<float>(b.extents(), b.values);
  auto c = poisoned<float>({130, 90});
  const TilePlan plan{.rows = 16, .columns = 32, .inner = 16, .threads = 64, .stages = 3, .strip_columns = 0};
  Launch launch = plain.record({.cuda = {.plan = plan}}, left, right, c);
  launch.launch();
  expect_near(c, product(a, b).values, tolerance<float, float>(70));
  if (device().kind() == DeviceKind::cpu) return;
  const TilePlan chosen = report(plain.kernels().at(0)).variants.at(0).plan;
  EXPECT_EQ(with(chosen, plan), chosen);
}

TEST(Matmul, NamesWhatDoesNotFit) {
  const Buffer<float> a(device(), {3, 4}), b(device(), {5, 2}), turned(device(), {2, 4}), c(device(), {3, 2});
  const auto message = [](const auto &...arguments) {
    return message_of<UserError>([&] { ops::matmul(arguments...); });
  };
  EXPECT_THAT(message(a, b, c),
              HasSubstr("a has 4 terms for each sum and b has 5; a (3, 4), b (5, 2) and c (3, 2) given"));
  EXPECT_THAT(message(a, turned, c), HasSubstr("With {.transposed = {.b = true}} they would fit"));
  EXPECT_THAT(message(a, Buffer<float>(device(), {4, 7}), c), HasSubstr("expected c of 3 by 7"));
  EXPECT_THAT(message(a, Buffer<float>(), c), HasSubstr("b is an empty buffer; give it memory"));
  EXPECT_THAT(message(a, Buffer<float>(device(), {1, 4, 2}), c), HasSubstr("expected three matrices"));
  EXPECT_THAT(message(Buffer<float>(device(), {2, 3, 4}), Buffer<float>(device(), {1, 4, 2}),
                      Buffer<float>(device(), {2, 3, 2})),
              HasSubstr("expected as many matrices in each array"));
}

TEST(Matmul, ArraysOfAnyTypeInAStream) {
  const AnyBuffer a = buffer<float>({3, 4}, numbers(12, 1)), b = buffer<float>({4, 2}, numbers(8, 2)),
                  c(device(), ScalarType::Float32, {3, 2}), expected = c.clone();
  const Stream stream(device());
  ops::matmul(a, b, expected);
  ops::matmul(a, b, c, {.stream = stream});
  stream.synchronize();
  EXPECT_EQ(Buffer<float>(c).to_vector(), Buffer<float>(expected).to_vector());
  const ops::Matmul plain{"plain", [](const ops::Sums<float> &s) { return s.values(); }, {.stream = stream}};
  EXPECT_EQ(plain.record(Buffer<float>(a), Buffer<float>(b), Buffer<float>(c)).stream(), stream);
}

TEST(Matmul, NamesTypesThatDoNotFit) {
  const Buffer<float> a(device(), {3, 4}), b(device(), {4, 2}), c(device(), {3, 2});
  EXPECT_THAT(message_of<UserError>([&] { ops::matmul(a, Buffer<half>(device(), {4, 2}), c); }),
              HasSubstr("matmul: expected b of float"));
  EXPECT_THAT(message_of<UserError>([&] { ops::matmul(a, b, Buffer<double>(device(), {3, 2})); }),
              HasSubstr("factors of float with results of double given"));
}

TEST(Matmul, OnlyFloatIsRoundedToTf32) {
  EXPECT_THAT(message_of<UserError>([] {
                ops::Matmul plain{
                    "plain", [](const ops::Sums<half> &s) { return s.values(); }, {.precision = tile::Precision::tf32}};
              }),
              HasSubstr("tf32"));
}

}  // namespace
}  // namespace samite::test
