// Group norm of groups of one and more channels, and its gradients, against double.
#include "samite/ops/group_norm.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

struct GroupNorm {
  std::vector<double> y, of_x, of_weight, of_bias;

  GroupNorm(const std::vector<double> &x, const Extents &extents, std::int64_t groups,
            const std::vector<double> &weight, const std::vector<double> &bias, const std::vector<double> &cotangent,
            double epsilon)
      : y(x.size()), of_x(x.size()), of_weight(weight.size(), 0), of_bias(weight.size(), 0) {
    const std::int64_t places = extents[2], size = extents[1] / groups * places;
    const auto n = static_cast<double>(size);
    for (std::int64_t begin = 0; begin < extents.count(); begin += size) {
      double mean = 0, variance = 0, of_mean = 0, along = 0;
      const auto at = [&](std::int64_t j) { return static_cast<std::size_t>(begin + j); };
      const auto channel = [&](std::int64_t j) { return static_cast<std::size_t>((begin + j) / places % extents[1]); };
      for (std::int64_t j = 0; j < size; ++j) mean += x[at(j)] / n;
      for (std::int64_t j = 0; j < size; ++j) variance += (x[at(j)] - mean) * (x[at(j)] - mean) / n;
      const double inverse = 1 / std::sqrt(variance + epsilon);
      const auto normal = [&](std::int64_t j) { return (x[at(j)] - mean) * inverse; };
      const auto inner = [&](std::int64_t j) { return cotangent[at(j)] * weight[channel(j)]; };
      for (std::int64_t j = 0; j < size; ++j) of_mean += inner(j) / n, along += inner(j) * normal(j) / n;
      for (std::int64_t j = 0; j < size; ++j) {
        y[at(j)] = normal(j) * weight[channel(j)] + bias[channel(j)];
        of_x[at(j)] = (inner(j) - of_mean - normal(j) * along) * inverse;
        of_weight[channel(j)] += cotangent[at(j)] * normal(j);
        of_bias[channel(j)] += cotangent[at(j)];
      }
    }
  }
};

template <class T, class S>
void check_group_norm(const Extents &extents, std::int64_t groups, double tolerance, double offset = 0) {
  SCOPED_TRACE(extents.to_string() + " in " + std::to_string(groups));
  std::vector<double> values = numbers(extents.count(), 1);
  for (double &value : values) value += offset;
  const std::vector<double> cotangents = numbers(extents.count(), 2), weights = numbers(extents[1], 3),
                            biases = numbers(extents[1], 4);
  const ops::GroupNormOptions options{.groups = groups, .epsilon = 1e-3};
  const auto x = buffer<T>(extents, values, Gradient::tracked);
  const auto weight = buffer<S>({extents[1]}, weights, Gradient::tracked),
             bias = buffer<S>({extents[1]}, biases, Gradient::tracked);
  const auto y = poisoned<T>(extents, Gradient::tracked);
  x.gradient().fill(T(1));  // it is added to
  Tape tape;
  tape.record([&] { ops::group_norm(x, weight, bias, y, options); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: group_norm"));
  const auto cotangent = buffer<T>(extents, cotangents);
  tape.backward({{y, cotangent}});
  GroupNorm expected(values, extents, groups, weights, biases, cotangents, 1e-3);
  expect_near(y, expected.y, tolerance);
  const double of_sums =
      (sizeof(T) == 2 ? 1e-4 : tolerance) * static_cast<double>(std::max<std::int64_t>(extents[0] * extents[2], 1));
  expect_near(weight.gradient(), expected.of_weight, of_sums);
  expect_near(bias.gradient(), expected.of_bias, of_sums);
  const auto of_x = poisoned<T>(extents);
  const auto of_weight = Buffer<S>(device(), {extents[1]}), of_bias = Buffer<S>(device(), {extents[1]});
  ops::group_norm_adjoint(x, weight, cotangent, of_x, of_weight, of_bias, options);
  expect_near(of_x, expected.of_x, tolerance);
  expect_near(of_weight, expected.of_weight, of_sums);
  for (double &gradient : expected.of_x) gradient += 1;
  expect_near(x.gradient(), expected.of_x, tolerance);
  ops::group_norm(x, weight, bias, x, options);
  expect_near(x, expected.y, tolerance);
}

TEST(GroupNorm, OfGroupsOfAnySize) {
  check_group_norm<double, double>({2, 6, 35}, 1, 1e-11);
  check_group_norm<double, double>({2, 6, 35}, 2, 1e-11);
  check_group_norm<double, double>({2, 6, 1}, 3, 1e-11);
  check_group_norm<double, double>({3, 4, 50}, 4, 1e-11);
  check_group_norm<double, double>({1, 16, 9}, 1, 1e-11, 1000);
}

TEST(GroupNorm, OfPlacesThatAreGoneOverInParts) { check_group_norm<double, double>({1, 4, 2100}, 2, 1e-11); }

TEST(GroupNorm, Types) {
  check_group_norm<float, float>({2, 4, 33}, 2, 2e-5);
  check_group_norm<half, float>({2, 4, 33}, 2, 4e-3);
  check_group_norm<bfloat16, float>({2, 4, 33}, 2, 3e-2);
}

// Channels may be the last dimension.
TEST(GroupNorm, OfAView) {
  const Extents extents{2, 4, 9};
  const std::vector<double> ones(4, 1), zeros(4, 0), values = numbers(72);
  const auto last = buffer<float>({2, 9, 4}, values);
  std::vector<double> first;
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t c = 0; c < 4; ++c)
      for (std::int64_t p = 0; p < 9; ++p) first.push_back(values[static_cast<std::size_t>((i * 9 + p) * 4 + c)]);
  const auto y = poisoned<float>(extents);
  ops::group_norm(last.permute({0, 2, 1}), buffer<float>({4}, ones), buffer<float>({4}, zeros), y, {.groups = 2});
  expect_near(y, GroupNorm(first, extents, 2, ones, zeros, first, 1e-5).y, 1e-5);
}

TEST(GroupNorm, NamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {2, 4, 5}), four(device(), {4}), three(device(), {3});
  EXPECT_THAT(message_of<UserError>([&] { ops::group_norm(x, four, four, x, {.groups = 3}); }),
              HasSubstr("group_norm: expected a number of groups that divides the 4 channels of x; 3 given"));
  EXPECT_THAT(message_of<UserError>([&] { ops::group_norm(x, four, three, x); }),
              HasSubstr("group_norm: expected a bias of 4 numbers of float, one for each channel of x"));
  EXPECT_THAT(message_of<UserError>([&] { ops::group_norm(x, four, four, Buffer<float>(device(), {2, 4})); }),
              HasSubstr("group_norm: expected two arrays of (batches, channels, places)"));
  EXPECT_THAT(message_of<UserError>([&] { ops::group_norm_adjoint(x, four, x, x.clone(), three, four); }),
              HasSubstr("group_norm_adjoint: expected a gradient of the weight of 4 numbers"));
  const Buffer<float> all(device(), {40});
  const auto inside = all.reshape({2, 4, 5});
  EXPECT_THAT(message_of<UserError>([&] { ops::group_norm(inside, all.slice(0, 0, 4), four, inside); }),
              HasSubstr("argument 3 ('y') is written, and shares memory with argument 1 ('weight')"));
}

}  // namespace
}  // namespace samite::test
