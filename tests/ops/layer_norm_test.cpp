// Layer norm of rows that a tile holds and of longer ones, and its gradients, against double.
#include "samite/ops/layer_norm.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

constexpr double epsilon = 1e-3;

// One row, normalised, and its gradient for the cotangent of the result.
struct Row {
  std::vector<double> normalised;
  double inverse;

  Row(const Matrix &x, std::int64_t i) {
    const auto n = static_cast<double>(x.columns);
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) mean += x(i, j) / n;
    double left = 0;  // by the rounding of that
    for (std::int64_t j = 0; j < x.columns; ++j) left += (x(i, j) - mean) / n;
    for (std::int64_t j = 0; j < x.columns; ++j) variance += (x(i, j) - mean - left) * (x(i, j) - mean - left) / n;
    inverse = 1 / std::sqrt(variance + epsilon);
    for (std::int64_t j = 0; j < x.columns; ++j) normalised.push_back((x(i, j) - mean - left) * inverse);
  }
  std::vector<double> gradient(const std::vector<double> &cotangent) const {
    const auto n = static_cast<double>(normalised.size());
    double mean = 0, along = 0;
    for (std::size_t j = 0; j < normalised.size(); ++j) {
      mean += cotangent[j] / n;
      along += cotangent[j] * normalised[j] / n;
    }
    std::vector<double> result;
    for (std::size_t j = 0; j < normalised.size(); ++j)
      result.push_back((cotangent[j] - mean - normalised[j] * along) * inverse);
    return result;
  }
};

template <class T, class S>
void check_layer_norm(std::int64_t rows, std::int64_t columns, double tolerance) {
  SCOPED_TRACE(std::to_string(rows) + " by " + std::to_string(columns));
  const Matrix values(rows, columns, 1), cotangents(rows, columns, 2);
  const std::vector<double> weights = numbers(columns, 3), biases = numbers(columns, 4);
  const auto x = buffer<T>(values.extents(), values.values, Gradient::tracked);
  const auto weight = buffer<S>({columns}, weights, Gradient::tracked);
  const auto bias = buffer<S>({columns}, biases, Gradient::tracked);
  const auto y = poisoned<T>(values.extents(), Gradient::tracked);
  Tape tape;
  tape.record([&] { ops::layer_norm(x, weight, bias, y, {.epsilon = epsilon}); });
  tape.backward({{y, buffer<T>(values.extents(), cotangents.values)}});

  std::vector<double> expected, of_x;
  std::vector<double> of_weight(weights.size(), 0), of_bias(weights.size(), 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const Row row(values, i);
    std::vector<double> inner;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double cotangent = cotangents(i, static_cast<std::int64_t>(j));
      expected.push_back(row.normalised[j] * weights[j] + biases[j]);
      inner.push_back(cotangent * weights[j]);
      of_weight[j] += cotangent * row.normalised[j];
      of_bias[j] += cotangent;
    }
    for (const double g : row.gradient(inner)) of_x.push_back(g);
  }
  expect_near(y, expected, tolerance);
  expect_near(x.gradient(), of_x, tolerance);
  const double of_sums = sizeof(T) == 2 ? 1e-4 * static_cast<double>(rows) : tolerance * static_cast<double>(rows);
  expect_near(weight.gradient(), of_weight, of_sums);
  expect_near(bias.gradient(), of_bias, of_sums);

  // The adjoint's own kernel, which adds to the gradients.
  const auto cotangent = buffer<T>(values.extents(), cotangents.values), of_x_alone = poisoned<T>(values.extents());
  for (double &sum : of_weight) sum += 1;
  const std::vector<double> ones(weights.size(), 1), zeros(weights.size(), 0);
  const auto of_weight_alone = buffer<S>({columns}, ones), of_bias_alone = buffer<S>({columns}, zeros);
  ops::detail::launch_planned(
      ops::layer_norm_adjoint_launch(scalar_type_of<T>, rows, columns, ops::plan_device(device())),
      {{&x},
       {&weight},
       {&cotangent},
       {&of_x_alone},
       {&of_weight_alone},
       {&of_bias_alone},
       ops::detail::number(epsilon, scalar_type_of<S>)},
      {});
  expect_near(of_x_alone, of_x, tolerance);
  expect_near(of_weight_alone, of_weight, of_sums);
  expect_near(of_bias_alone, of_bias, of_sums);
}

TEST(LayerNorm, OnATapeAddsItsOwnAdjoint) {
  const Matrix values(6, 50, 3), cotangents(6, 50, 4);
  const std::vector<double> weights = numbers(50, 5), ones(50, 1), of_x(300, 1);
  const auto x = buffer<double>(values.extents(), values.values, Gradient::tracked);
  const auto weight = buffer<double>({50}, weights), bias = buffer<double>({50}, ones, Gradient::tracked);
  const auto y = poisoned<double>(values.extents(), Gradient::tracked);
  x.gradient().fill(1);
  Tape tape;
  tape.record([&] { ops::layer_norm(x, weight, bias, y, {.epsilon = epsilon}); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: layer_norm"));
  const auto cotangent = buffer<double>(values.extents(), cotangents.values);
  tape.backward({{y, cotangent}});
  const auto x_alone = buffer<double>(values.extents(), of_x), of_weight = buffer<double>({50}, ones),
             of_bias = buffer<double>({50}, std::vector<double>(50, 0));
  ops::layer_norm_adjoint(x, weight, cotangent, x_alone, of_weight, of_bias,
                          {.epsilon = epsilon, .add_gradients = true});
  const std::vector<double> expected = x_alone.to_vector(), expected_bias = of_bias.to_vector();
  expect_near(x.gradient(), expected, 1e-12);
  expect_near(bias.gradient(), expected_bias, 1e-12);
  EXPECT_FALSE(weight.tracks_gradient());
}

TEST(LayerNorm, WithoutAWeightAddsItsOwnAdjointOnATape) {
  for (const std::int64_t columns : {7, 300, 2100}) {
    const Matrix values(5, columns, 3), cotangents(5, columns, 4);
    const auto x = buffer<double>(values.extents(), values.values, Gradient::tracked);
    const auto y = poisoned<double>(values.extents(), Gradient::tracked);
    const auto cotangent = buffer<double>(values.extents(), cotangents.values);
    std::vector<double> of_x, added;
    for (std::int64_t i = 0; i < 5; ++i) {
      std::vector<double> of_row;
      for (std::int64_t j = 0; j < columns; ++j) of_row.push_back(cotangents(i, j));
      for (const double g : Row(values, i).gradient(of_row)) of_x.push_back(g);
    }
    for (const double g : of_x) added.push_back(g + 1);
    x.gradient().fill(1);
    Tape tape;
    tape.record([&] { ops::layer_norm(x, y, {.epsilon = epsilon}); });
    EXPECT_THAT(tape.to_string(), HasSubstr("0: layer_norm"));
    tape.backward({{y, cotangent}});
    expect_near(x.gradient(), added, 1e-11);

    const auto alone = poisoned<double>(values.extents());
    ops::layer_norm_adjoint(x, cotangent, alone, {.epsilon = epsilon});
    expect_near(alone, of_x, 1e-11);
  }
}

TEST(LayerNorm, AdjointNamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {3, 4}), row(device(), {4}), short_row(device(), {3});
  EXPECT_THAT(message_of<UserError>([&] { ops::layer_norm_adjoint(x, row, x, x.clone(), short_row, row); }),
              HasSubstr("layer_norm_adjoint: expected a gradient of the weight of 4 numbers of float"));
  EXPECT_THAT(message_of<UserError>([&] { ops::layer_norm_adjoint(x, x.clone(), row); }),
              HasSubstr("layer_norm_adjoint: "));
}

TEST(LayerNorm, OfRowsOfAnyLength) {
  for (const std::int64_t columns : {2, 7, 32, 100, 700}) check_layer_norm<double, double>(5, columns, 1e-11);
  check_layer_norm<double, double>(130, 40, 1e-11);
}

TEST(LayerNorm, OfRowsThatAreGoneOverInParts) {
  for (const std::int64_t columns : {2049, 8200}) check_layer_norm<double, double>(2, columns, 1e-11);
  check_layer_norm<half, float>(2, 8193, 1e-2);
}

TEST(LayerNorm, OfRowsAroundTheLengthsOfTiles) {
  for (const std::int64_t columns : {16, 17, 255, 257, 513, 2047, 8191})
    check_layer_norm<float, float>(3, columns, 1e-4);
}

// A NaN changes no other row.
TEST(LayerNorm, KeepsWhatIsNoNumberInItsRow) {
  Matrix values(5, 257, 1);
  values.values[257 + 3] = not_written;
  values.values[3 * 257 + 256] = std::numeric_limits<double>::infinity();
  const auto x = buffer<float>(values.extents(), values.values);
  const auto y = poisoned<float>(values.extents());
  ops::layer_norm(x, y, {.epsilon = epsilon});
  const std::vector<float> result = y.to_vector();
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::vector<double> expected = Row(values, i).normalised;
    for (std::int64_t j = 0; j < 257; ++j) {
      const float value = result[static_cast<std::size_t>(i * 257 + j)];
      if (i % 2 == 1)
        ASSERT_TRUE(std::isnan(value)) << i << ' ' << j;
      else
        ASSERT_NEAR(value, expected[static_cast<std::size_t>(j)], 1e-5) << i << ' ' << j;
    }
  }
}

// Rows whose distance from zero is large compared to their differences: those of one number consist only of rounding
// errors.
template <class T, class S>
void check_far_from_zero(std::int64_t columns, double mean, double deviation, double tolerance) {
  SCOPED_TRACE(std::to_string(columns) + " columns around " + std::to_string(mean));
  const std::vector<double> noise = numbers(3 * columns, 7);
  std::vector<double> values;
  for (const double number : noise) values.push_back(mean + deviation * number);
  const auto x = buffer<T>({3, columns}, values, Gradient::tracked);
  const auto y = poisoned<T>({3, columns}, Gradient::tracked);
  Matrix as_stored(3, columns, 1);  // rounded to T
  for (std::size_t i = 0; i < values.size(); ++i)
    as_stored.values[i] = static_cast<double>(static_cast<S>(as<T>({values[i]})[0]));
  const Matrix cotangents(3, columns, 2);
  Tape tape;
  tape.record([&] { ops::layer_norm(x, y, {.epsilon = epsilon}); });
  tape.backward({{y, buffer<T>({3, columns}, cotangents.values)}});
  std::vector<double> expected, of_x;
  double inverse = 1;
  for (std::int64_t i = 0; i < 3; ++i) {
    const Row row(as_stored, i);
    expected.insert(expected.end(), row.normalised.begin(), row.normalised.end());
    const auto begin = cotangents.values.begin() + i * columns;
    const std::vector<double> gradient = row.gradient({begin, begin + columns});
    of_x.insert(of_x.end(), gradient.begin(), gradient.end());
    inverse = std::max(inverse, row.inverse);
  }
  const double of_gradients = std::max(tolerance, sizeof(T) == 2 ? 8e-3 : 0) * inverse;  // a cotangent is at most 1
  expect_near(y, expected, tolerance);
  expect_near(x.gradient(), of_x, of_gradients);

  const std::vector<double> ones(static_cast<std::size_t>(columns), 1);
  const auto weight = buffer<S>({columns}, ones), of_weight = buffer<S>({columns}, ones), of_bias = of_weight.clone();
  const auto cotangent = buffer<T>({3, columns}, cotangents.values), of_x_alone = poisoned<T>({3, columns});
  ops::detail::launch_planned(ops::layer_norm_adjoint_launch(scalar_type_of<T>, 3, columns, ops::plan_device(device())),
                              {{&x},
                               {&weight},
                               {&cotangent},
                               {&of_x_alone},
                               {&of_weight},
                               {&of_bias},
                               ops::detail::number(epsilon, scalar_type_of<S>)},
                              {});
  expect_near(of_x_alone, of_x, of_gradients);
}

TEST(LayerNorm, OfRowsFarFromZero) {
  for (const std::int64_t columns : {100, 4096}) {
    for (const double mean : {1000.7, -123456.0, 1e6}) check_far_from_zero<float, float>(columns, mean, 0, 1e-6);
    check_far_from_zero<float, float>(columns, -123456.0, 1, 1e-5);
  }
  check_far_from_zero<half, float>(1000, 1000.7, 0, 1e-6);
  check_far_from_zero<half, float>(1000, 1000.7, 10, 2e-3);
  check_far_from_zero<bfloat16, float>(1000, 1000.7, 0, 1e-6);
  check_far_from_zero<bfloat16, float>(1000, 1000.7, 100, 2e-2);
  check_far_from_zero<double, double>(1000, 1e12, 1, 1e-11);
}

// The first element is as far from the others as rows of this length allow.
TEST(LayerNorm, OfARowWhoseFirstElementIsFarFromTheOthers) {
  for (const std::int64_t columns : {100, 4096, 9001}) {
    Matrix values(1, columns, 1);
    values.values[0] = 1e4;
    const auto x = buffer<float>(values.extents(), values.values);
    const auto y = poisoned<float>(values.extents());
    ops::layer_norm(x, y, {.epsilon = epsilon});
    const std::vector<double> expected = Row(values, 0).normalised;
    const std::vector<float> result = y.to_vector();
    for (std::size_t j = 0; j < result.size(); ++j)
      ASSERT_NEAR(result[j], expected[j], 1e-5 * std::max(1.0, std::abs(expected[j]))) << columns << ' ' << j;
  }
}

TEST(LayerNorm, OfRowsOfNothing) {
  const Buffer<float> x(device(), {3, 0}), y(device(), {3, 0}), none(device(), {0, 5});
  ops::layer_norm(x, y, {.epsilon = epsilon});
  ops::layer_norm(none, none.clone(), {.epsilon = epsilon});
}

TEST(LayerNorm, OfAView) {
  const Matrix values(257, 6, 3);
  const auto x = buffer<float>(values.extents(), values.values);
  const auto y = poisoned<float>({6, 257});
  ops::layer_norm(x.transpose(), y, {.epsilon = epsilon});
  const Matrix rows = turned(values);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < 6; ++i)
    for (const double value : Row(rows, i).normalised) expected.push_back(value);
  expect_near(y, expected, 1e-5);
}

TEST(LayerNorm, Types) {
  check_layer_norm<float, float>(3, 70, 1e-5);
  check_layer_norm<half, float>(3, 70, 1e-2);
  check_layer_norm<bfloat16, float>(3, 70, 5e-2);
}

TEST(LayerNorm, WithoutWeightAndBias) {
  const Matrix values(3, 50, 1);
  const auto x = buffer<float>(values.extents(), values.values);
  const auto y = poisoned<float>(values.extents());
  ops::layer_norm(x, y, {.epsilon = epsilon});
  std::vector<double> expected;
  for (std::int64_t i = 0; i < 3; ++i)
    for (const double value : Row(values, i).normalised) expected.push_back(value);
  expect_near(y, expected, 1e-5);
}

TEST(LayerNorm, NamesWhatDoesNotFit) {
  const Buffer<half> x(device(), {3, 4}), y(device(), {3, 4});
  const Buffer<float> weight(device(), {4});
  EXPECT_THAT(message_of<UserError>([&] { ops::layer_norm(x, weight, Buffer<float>(device(), {3}), y); }),
              HasSubstr("layer_norm: expected a bias of 4 numbers of float, one for each column of x"));
  EXPECT_THAT(message_of<UserError>([&] { ops::layer_norm(x, Buffer<half>(device(), {4}), weight, y); }),
              HasSubstr("layer_norm: expected a weight of 4 numbers of float"));
}

}  // namespace
}  // namespace samite::test
