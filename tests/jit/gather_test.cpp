// Adjoints that are gathered when they are launched, and launches that give the same bits each time.

#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"

#include <gtest/gtest.h>

#include <cmath>

namespace samite {
namespace {

using test::on_device::device;

// A stencil whose neighbours are clamped to the array, and which is not linear in its values.
template <class T>
auto smoothing() {
  return Kernel{"smoothing", {"next", "now"}, [](Array<T, 2> next, Array<const T, 2> now) {
                  auto [y, x] = thread_index<2>();
                  Int above = max(y - 1, 0), right = min(x + 1, now.extent(1) - 1);
                  next(y, x) = now(y, x) * now(above, x) + sin(now(y, right));
                }};
}

template <class T>
std::vector<T> waves(std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(std::sin(0.7 * static_cast<double>(i))));
  return values;
}

struct Pair {
  Pair(std::int64_t rows, std::int64_t columns) {
    for (Buffer<double> *buffer : {&next, &now})
      *buffer = Buffer<double>(device, {rows, columns}, waves<double>(rows * columns), Gradient::tracked);
  }
  Buffer<double> next, now;

  std::vector<double> gradient(Launch &adjoint) {
    now.zero_gradient();
    next.gradient().copy_from(next);
    adjoint.launch();
    for (double left : next.gradient().to_vector()) EXPECT_EQ(left, 0);
    return now.gradient().to_vector();
  }
};

TEST(Gather, AStencilsAdjointIsAStencil) {
  Pair arrays(23, 37);
  const auto kernel = smoothing<double>();
  Launch gathered = kernel.record({23, 37}, {.direction = Direction::adjoint}, arrays.next, arrays.now);
  Launch scattered = kernel.record({23, 37}, {.direction = Direction::adjoint, .debug = true}, arrays.next, arrays.now);
  EXPECT_TRUE(gathered.variant().key.derivative.gather);
  EXPECT_FALSE(scattered.variant().key.derivative.gather);  // debug mode keeps the original accesses
  const std::vector<double> a = arrays.gradient(gathered), b = arrays.gradient(scattered);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-14);
}

TEST(Gather, IsTheDerivative) {
  Pair arrays(5, 6);
  const auto kernel = smoothing<double>();
  const GradientReport report =
      gradcheck([&] { kernel.launch({5, 6}, arrays.next, arrays.now); }, {arrays.now}, {arrays.next});
  EXPECT_TRUE(report.passed) << report;
}

TEST(Gather, ALaunchThatDoesNotCoverTheArraysScatters) {
  Pair arrays(8, 9);
  const auto kernel = smoothing<double>();
  Launch adjoint = kernel.record({8, 9}, {.direction = Direction::adjoint}, arrays.next, arrays.now);
  EXPECT_TRUE(adjoint.variant().key.derivative.gather);
  adjoint.set_dim(1, 7);
  EXPECT_FALSE(adjoint.variant().key.derivative.gather);
  const GradientReport report =
      gradcheck([&] { kernel.launch({8, 7}, arrays.next, arrays.now); }, {arrays.now}, {arrays.next});
  EXPECT_TRUE(report.passed) << report;
}

TEST(Gather, ViewsAreGatheredToo) {
  const auto kernel = smoothing<double>();
  Pair arrays(7, 10);
  const Buffer<double> next = arrays.next.transpose(), now = arrays.now.transpose();
  Launch adjoint = kernel.record({10, 7}, {.direction = Direction::adjoint}, next, now);
  EXPECT_TRUE(adjoint.variant().key.derivative.gather);
  const GradientReport report = gradcheck([&] { kernel.launch({10, 7}, next, now); }, {now}, {next});
  EXPECT_TRUE(report.passed) << report;
}

// Adds to elements that are not known before.
Kernel spread{"spread",
              {"sums", "in", "places"},
              [](Array<float, 1> sums, Array<const float, 1> in, Array<const std::int32_t, 1> places) {
                Int i = thread_index();
                atomic_add(sums(places(i)), in(i));
              }};
Kernel collect{"collect",
               {"out", "in", "places"},
               [](Array<float, 1> out, Array<const float, 1> in, Array<const std::int32_t, 1> places) {
                 Int i = thread_index();
                 out(i) = in(places(i)) * in(places(i));
               }};

struct Scattered {
  static constexpr std::int64_t count = 300'000, sums = 64;
  Scattered() {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<std::int32_t>(i * 7919 % sums));
    places = Buffer<std::int32_t>(device, {count}, values);
  }
  Buffer<float> many{device, {count}, waves<float>(count), Gradient::tracked};
  Buffer<float> few{device, {sums}, waves<float>(sums), Gradient::tracked};
  Buffer<std::int32_t> places;
};

TEST(Deterministic, SumsOfManyInstancesHaveTheSameBits) {
  Scattered arrays;
  Launch forward = spread.record({Scattered::count}, {.deterministic = true}, arrays.few, arrays.many, arrays.places);
  EXPECT_TRUE(forward.variant().execution.one_thread);
  std::vector<float> first;
  for (int run = 0; run < 5; ++run) {
    arrays.few.fill(0);
    forward.launch();
    if (run == 0) first = arrays.few.to_vector();
    EXPECT_EQ(arrays.few.to_vector(), first);
  }
}

TEST(Deterministic, AnAdjointThatStaysAtomicRunsOnOneThread) {
  Scattered arrays;
  Launch adjoint = collect.record({Scattered::count}, {.direction = Direction::adjoint, .deterministic = true},
                                  arrays.many, arrays.few, arrays.places);
  EXPECT_TRUE(adjoint.variant().execution.one_thread);
  std::vector<float> first;
  for (int run = 0; run < 5; ++run) {
    arrays.few.zero_gradient();
    arrays.many.gradient().copy_from(arrays.many);
    adjoint.launch();
    if (run == 0) first = arrays.few.gradient().to_vector();
    EXPECT_EQ(arrays.few.gradient().to_vector(), first);
  }
}

// Elements of a tile that go to one place, which a block's threads would add in any order.
TEST(Deterministic, TilesThatScatterHaveTheSameBits) {
  TileKernel pick{"pick",
                  {"out", "in", "places"},
                  [](Array<float, 1> out, Array<const float, 1> in, Array<const std::int32_t, 1> places) {
                    const auto place = tile::load(places, {block_index()}, {256});
                    const auto value = tile::gather(in, place);
                    const auto rows = tile::reshape(value, {4, 64});
                    const auto again = tile::take(rows, tile::reshape(place % 8, {4, 64}));
                    tile::store(out, {block_index()}, value * value + tile::reshape(again, {256}));
                  },
                  {.threads = 128}};
  Scattered arrays;
  const std::int64_t blocks = Scattered::count / 256;
  Launch adjoint = pick.record({blocks}, {.direction = Direction::adjoint, .deterministic = true}, arrays.many,
                               arrays.few, arrays.places);
  std::vector<float> first;
  for (int run = 0; run < 5; ++run) {
    arrays.few.zero_gradient();
    arrays.many.gradient().copy_from(arrays.many);
    adjoint.launch();
    if (run == 0) first = arrays.few.gradient().to_vector();
    EXPECT_EQ(arrays.few.gradient().to_vector(), first);
  }
}

TEST(Deterministic, WhatIsGatheredOrHasNoAtomicsRunsOnAllThreads) {
  Pair arrays(8, 9);
  const auto kernel = smoothing<double>();
  for (Direction direction : {Direction::forward, Direction::adjoint}) {
    const Launch launch =
        kernel.record({8, 9}, {.direction = direction, .deterministic = true}, arrays.next, arrays.now);
    EXPECT_FALSE(launch.variant().execution.one_thread) << name(direction);
  }
}

TEST(Deterministic, ATapeGoesBackAsItsLaunchesWent) {
  Scattered arrays;
  Tape tape;
  tape.record(
      [&] { collect.launch({Scattered::count}, {.deterministic = true}, arrays.many, arrays.few, arrays.places); });
  std::vector<float> first;
  for (int run = 0; run < 3; ++run) {
    tape.zero_gradients();
    tape.backward({{arrays.many, Buffer<float>(device, {Scattered::count}, waves<float>(Scattered::count))}});
    if (run == 0) first = arrays.few.gradient().to_vector();
    EXPECT_EQ(arrays.few.gradient().to_vector(), first);
  }
}

}  // namespace
}  // namespace samite
