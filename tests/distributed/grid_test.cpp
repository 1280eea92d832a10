#include "samite/distributed.h"
#include "samite/samite.h"

#include "tests/distributed/ranks.h"

#include <gmock/gmock.h>

#include <cmath>

namespace samite::test {
namespace {

using testing::Each;
using testing::HasSubstr;

double value_of(std::int64_t y, std::int64_t x) {
  return std::sin(0.7 * static_cast<double>(y) + 1.3 * static_cast<double>(x));
}

// A step of a 9-point stencil, which leaves out a margin of one element, as on one rank.
const auto &step() {
  static const Kernel kernel{"step", {"next", "now"}, [](Array<double, 2> next, Array<const double, 2> now) {
                               auto [y, x] = thread_index<2>();
                               if_(interior(now, y, x), [&] {
                                 Double sum = 0.0;
                                 for (int dy = -1; dy <= 1; ++dy)
                                   for (int dx = -1; dx <= 1; ++dx)
                                     sum += (1.0 + 0.1 * dy + 0.03 * dx) * now(y + dy, x + dx);
                                 next(y, x) = 0.1 * sum + 0.02 * now(y, x) * now(y, x);
                               });
                             }};
  return kernel;
}

struct Outcome {
  std::vector<double> values, gradient;
};

// Three steps from value_of(), and the gradient of the sum of squares of the result.
Outcome run(const Communicator &ranks, const Extents &extents, const GridOptions &options) {
  const Grid grid{ranks, extents, options};
  const auto array = [&] { return grid.array<double>(Gradient::tracked); };
  std::vector<Buffer<double>> states;
  for (int i = 0; i < 4; ++i) states.push_back(array());
  Buffer<double> inside = grid.without_ghosts(states[0]);
  for (std::int64_t y = 0; y < grid.block()[0]; ++y)
    for (std::int64_t x = 0; x < grid.block()[1]; ++x)
      inside.set({y, x}, value_of(grid.begin()[0] + y, grid.begin()[1] + x));
  Tape tape;
  tape.record([&] {
    for (std::size_t i = 0; i + 1 < states.size(); ++i) {
      grid.exchange(states[i]);
      step().launch(states[i].extents(), states[i + 1], states[i]);
    }
  });
  Buffer<double> whole{ranks.device(), extents}, gradients{ranks.device(), extents};
  const bool is_root = ranks.rank() == 0;
  grid.gather(is_root ? whole : Buffer<double>(), states.back());
  const Buffer<double> weights = grid.array<double>();
  grid.without_ghosts(weights).copy_from(grid.without_ghosts(states.back()));
  tape.backward({{states.back(), weights}});
  grid.gather(is_root ? gradients : Buffer<double>(), states[0].gradient());
  // After scattering, the values are back in their places.
  const Buffer<double> again = grid.array<double>();
  grid.scatter(again, is_root ? whole : Buffer<double>());
  if (grid.without_ghosts(again).to_vector() != grid.without_ghosts(states.back()).to_vector())
    throw std::runtime_error("scatter");
  return {whole.to_vector(), gradients.to_vector()};
}

TEST(Grid, StepsAndTheirGradientsAreThoseOfOneRank) {
  for (const std::vector<bool> &periodic : {std::vector<bool>{false, false}, {true, false}, {true, true}}) {
    const Extents extents{11, 8};
    Outcome expected;
    ASSERT_THAT(errors_of_ranks(1, [&](const auto &ranks) { expected = run(ranks, extents, {.periodic = periodic}); }),
                Each(""));
    for (const auto &[size, blocks] : {std::pair{2, std::vector<int>{}}, {4, {}}, {6, {}}, {3, {1, 3}}, {4, {4, 1}}}) {
      Outcome outcome;
      EXPECT_THAT(errors_of_ranks(size,
                                  [&](const Communicator &ranks) {
                                    const Outcome own = run(ranks, extents, {.periodic = periodic, .ranks = blocks});
                                    if (ranks.rank() == 0) outcome = own;
                                  }),
                  Each(""));
      EXPECT_EQ(outcome.values, expected.values) << size;
      ASSERT_EQ(outcome.gradient.size(), expected.gradient.size());
      for (std::size_t i = 0; i < expected.gradient.size(); ++i)
        EXPECT_NEAR(outcome.gradient[i], expected.gradient[i], 1e-13 * (1 + std::abs(expected.gradient[i]))) << size;
    }
  }
}

TEST(Grid, IsCutWhereLittleIsExchanged) {
  const auto blocks = [](int size, const Extents &extents, std::vector<int> ghosts) {
    std::vector<int> cut;
    errors_of_ranks(size, [&](const Communicator &ranks) {
      const Grid grid{ranks, extents, {.ghosts = ghosts}};
      if (ranks.rank() == 0) cut = grid.blocks();
    });
    return cut;
  };
  EXPECT_EQ(blocks(4, {64, 64}, {}), (std::vector<int>{2, 2}));
  EXPECT_EQ(blocks(4, {1000, 10}, {}), (std::vector<int>{4, 1}));
  EXPECT_EQ(blocks(4, {64, 64}, {1, 0}), (std::vector<int>{1, 4}));
  EXPECT_EQ(blocks(8, {32, 32, 32}, {}), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(blocks(5, {3, 40}, {}), (std::vector<int>{1, 5}));
}

TEST(Grid, RefusesWhatDoesNotFit) {
  const auto error = [](int size, const std::function<void(const Communicator &)> &work) {
    return errors_of_ranks(size, work);
  };
  EXPECT_THAT(error(4, [](const auto &ranks) { Grid(ranks, {2, 1}); }), Each(HasSubstr("is too small for 4 ranks")));
  EXPECT_THAT(error(2, [](const auto &ranks) { Grid(ranks, {8}, {.ghosts = {5}}); }), Each(HasSubstr("has ghosts, 5")));
  EXPECT_THAT(error(1, [](const auto &ranks) { Grid(ranks, {8}, {.ghosts = {1, 1}}); }),
              Each(HasSubstr("2 values of ghosts are given")));
  EXPECT_THAT(error(1, [](const auto &ranks) { Grid(ranks, {8}, {.ghosts = {-1}}); }),
              Each(HasSubstr("expected 0 or more")));
  EXPECT_THAT(error(2, [](const auto &ranks) { Grid(ranks, {8}, {.ranks = {3}}); }),
              Each(HasSubstr("a grid of 3 blocks for 2 ranks")));
  EXPECT_THAT(error(1, [](const auto &ranks) { Grid(ranks, {8}).exchange(Buffer<float>{ranks.device(), {8}}); }),
              Each(HasSubstr("expected extents (10)")));
  EXPECT_THAT(error(1,
                    [](const auto &ranks) {
                      const Grid grid(ranks, {8});
                      grid.gather(Buffer<float>{ranks.device(), {7}}, grid.array<float>());
                    }),
              Each(HasSubstr("expected f32 of extents (8)")));
}

}  // namespace
}  // namespace samite::test
