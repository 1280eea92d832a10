// A mixture of experts and its steps, with gradients, against double.
#include "samite/ops/experts.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

#include <numeric>

namespace samite::test {
namespace {

using testing::HasSubstr;
using Reals = std::vector<double>;

// Logits without equal ones, with varying best experts.
Reals logits_of(std::int64_t tokens, std::int64_t experts) {
  Reals logits;
  for (std::int64_t i = 0; i < tokens * experts; ++i)
    logits.push_back(static_cast<double>(i * 37 % (tokens * experts + 1)) * 2 / static_cast<double>(tokens * experts));
  return logits;
}

struct Choice {
  std::vector<std::int64_t> experts;
  Reals weights;

  Choice(const Reals &logits, std::int64_t token, std::int64_t count, std::int64_t chosen, bool normalised) {
    const double *const x = logits.data() + token * count;
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] > x[b]; });
    experts.assign(order.begin(), order.begin() + chosen);
    double sum = 0;
    for (const std::int64_t e : order)
      if (!normalised || std::ranges::find(experts, e) != experts.end()) sum += std::exp(x[e]);
    for (const std::int64_t e : experts) weights.push_back(std::exp(x[e]) / sum);
  }
};

TEST(Experts, RoutingPutsTheRowsOfEachExpertInTheOrderOfTheirTokens) {
  const std::int64_t tokens = 700, count = 5, chosen = 2;
  const Reals logits = logits_of(tokens, count);
  const ops::Routing routing(device(), ScalarType::Float64, tokens, count, chosen);
  for (const bool normalised : {false, true}) {
    ops::route(buffer<double>({tokens, count}, logits), routing, {.normalised = normalised});
    std::vector<std::vector<std::int32_t>> of_experts(count);
    Reals weights;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const Choice choice(logits, t, count, chosen, normalised);
      weights.insert(weights.end(), choice.weights.begin(), choice.weights.end());
      for (std::int64_t s = 0; s < chosen; ++s)
        of_experts[static_cast<std::size_t>(choice.experts[static_cast<std::size_t>(s)])].push_back(
            static_cast<std::int32_t>(t * chosen + s));
    }
    std::vector<std::int32_t> entries, offsets{0};
    for (const auto &own : of_experts) {
      entries.insert(entries.end(), own.begin(), own.end());
      offsets.push_back(static_cast<std::int32_t>(entries.size()));
    }
    std::vector<std::int32_t> places(entries.size());
    for (std::size_t row = 0; row < entries.size(); ++row)
      places[static_cast<std::size_t>(entries[row])] = static_cast<std::int32_t>(row);
    EXPECT_EQ(Buffer<std::int32_t>(routing.entries).to_vector(), entries);
    EXPECT_EQ(Buffer<std::int32_t>(routing.offsets).to_vector(), offsets);
    EXPECT_EQ(Buffer<std::int32_t>(routing.places).to_vector(), places);
    expect_near(Buffer<double>(routing.weights), weights, 1e-14);
  }
}

struct Mixed {
  std::int64_t tokens = 1, width = 1, experts = 1, hidden = 1;
  ops::MixtureOptions options = {};

  std::int64_t columns() const { return options.gated ? 2 * hidden : hidden; }
};

// With silu, or with a gate; all arrays are concatenated.
Reals mixed(const Mixed &m, const Reals &x, const Reals &logits, const Reals &up, const Reals &down) {
  Reals y(x.size());
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t t = 0; t < m.tokens; ++t) {
    const Choice choice(logits, t, m.experts, m.options.chosen, m.options.normalised);
    for (std::size_t s = 0; s < choice.experts.size(); ++s) {
      const std::int64_t e = choice.experts[s];
      Reals inner(at(m.columns()));
      for (std::int64_t h = 0; h < m.columns(); ++h)
        for (std::int64_t c = 0; c < m.width; ++c)
          inner[at(h)] += x[at(t * m.width + c)] * up[at((e * m.width + c) * m.columns() + h)];
      for (std::int64_t h = 0; h < m.hidden; ++h) {
        double value = inner[at(h)] / (1 + std::exp(-inner[at(h)]));
        if (m.options.gated) value *= inner[at(m.hidden + h)];
        for (std::int64_t c = 0; c < m.width; ++c)
          y[at(t * m.width + c)] += choice.weights[s] * value * down[at((e * m.hidden + h) * m.width + c)];
      }
    }
  }
  return y;
}

// Differences of the objective, the product of y and the cotangent, for each element of one of the arrays.
Reals differences(const Mixed &m, std::array<Reals, 4> arrays, std::size_t which, const Reals &cotangent) {
  constexpr double step = 1e-5;
  Reals slopes;
  for (double &element : arrays[which]) {
    const double before = element;
    double values[2] = {};
    for (const int side : {0, 1}) {
      element = before + (side ? step : -step);
      const Reals y = mixed(m, arrays[0], arrays[1], arrays[2], arrays[3]);
      for (std::size_t i = 0; i < y.size(); ++i) values[side] += y[i] * cotangent[i];
    }
    element = before;
    slopes.push_back((values[1] - values[0]) / (2 * step));
  }
  return slopes;
}

template <class T>
void check_mixture(const Mixed &m, double tolerance, double of_gradients) {
  const std::array<Reals, 4> values{numbers(m.tokens * m.width, 1), logits_of(m.tokens, m.experts),
                                    numbers(m.experts * m.width * m.columns(), 2),
                                    numbers(m.experts * m.hidden * m.width, 3)};
  const Reals cotangent = numbers(m.tokens * m.width, 4);
  const auto x = buffer<T>({m.tokens, m.width}, values[0], Gradient::tracked),
             logits = buffer<T>({m.tokens, m.experts}, values[1], Gradient::tracked),
             up = buffer<T>({m.experts, m.width, m.columns()}, values[2], Gradient::tracked),
             down = buffer<T>({m.experts, m.hidden, m.width}, values[3], Gradient::tracked),
             y = poisoned<T>({m.tokens, m.width}, Gradient::tracked);
  Tape tape;
  tape.record([&] { ops::mixture_of_experts(x, logits, up, down, y, m.options); });
  expect_near(y, mixed(m, values[0], values[1], values[2], values[3]), tolerance);
  if (of_gradients == 0) return;
  tape.backward({{y, buffer<T>({m.tokens, m.width}, cotangent)}});
  expect_near(x.gradient(), differences(m, values, 0, cotangent), of_gradients);
  expect_near(logits.gradient(), differences(m, values, 1, cotangent), of_gradients);
  expect_near(up.gradient(), differences(m, values, 2, cotangent), of_gradients);
  expect_near(down.gradient(), differences(m, values, 3, cotangent), of_gradients);
}

TEST(Experts, MixturesAndTheirGradients) {
  check_mixture<double>({.tokens = 11, .width = 5, .experts = 3, .hidden = 4}, 1e-12, 1e-7);
  check_mixture<double>(
      {.tokens = 7, .width = 4, .experts = 5, .hidden = 3, .options = {.chosen = 3, .normalised = false}}, 1e-12, 1e-7);
  check_mixture<double>({.tokens = 6, .width = 4, .experts = 4, .hidden = 3, .options = {.gated = true}}, 1e-12, 1e-7);
  check_mixture<double>({.options = {.chosen = 1}}, 1e-12, 1e-7);
}

TEST(Experts, MixturesOfOtherTypes) {
  const Mixed m{.tokens = 20, .width = 16, .experts = 4, .hidden = 16};
  check_mixture<float>(m, 1e-4, 0);
  check_mixture<bfloat16>(m, 0.2, 0);
}

TEST(Experts, NamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {6, 4}), logits(device(), {6, 3}), up(device(), {3, 4, 5}), down(device(), {3, 5, 4});
  const auto run = [&](const AnyBuffer &of_x, const AnyBuffer &of_logits, const AnyBuffer &of_up, const AnyBuffer &to,
                       const ops::MixtureOptions &options = {}) {
    return message_of<UserError>([&] { ops::mixture_of_experts(of_x, of_logits, of_up, down, to, options); });
  };
  EXPECT_THAT(run(up, logits, up, x.clone()), HasSubstr("expected x of (tokens, width)"));
  EXPECT_THAT(run(x, x, up, x.clone()), HasSubstr("expected `up` of float with extents (4, 4, 5)"));
  EXPECT_THAT(run(x, logits, up, x.clone(), {.gated = true}),
              HasSubstr("expected `up` of float with extents (3, 4, 10)"));
  EXPECT_THAT(run(x, logits, up, logits), HasSubstr("expected y of float with extents (6, 4)"));
  EXPECT_THAT(run(x, logits, up, x.clone(), {.chosen = 4}), HasSubstr("out of up to 4096; 4 of 3 given"));
  const ops::Routing routing(device(), ScalarType::Float32, 6, 3, 2), wide(device(), ScalarType::Float64, 6, 3, 2);
  EXPECT_THAT(message_of<UserError>([&] { ops::dispatch(x, routing, x.clone()); }),
              HasSubstr("expected rows of experts of float with extents (12, 4)"));
  EXPECT_THAT(message_of<UserError>([&] { ops::combine(Buffer<float>(device(), {12, 4}), wide, x.clone()); }),
              HasSubstr("expected a routing with weights of float"));
  EXPECT_THAT(message_of<UserError>([&] { ops::route(x, routing); }),
              HasSubstr("expected logits of float with extents (6, 3)"));
}

}  // namespace
}  // namespace samite::test
