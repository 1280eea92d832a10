// Exchanges of ghosts that overlap with launches on the interior, and the parts of a block.
#include "samite/distributed.h"
#include "samite/distributed/ghost_packing.h"
#include "samite/samite.h"

#include "tests/distributed/ranks.h"

#include <gmock/gmock.h>

#include <cmath>

namespace samite::test::overlap {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

double value_of(std::int64_t z, std::int64_t y, std::int64_t x) {
  return std::sin(0.3 * static_cast<double>(z) + 0.7 * static_cast<double>(y) + 1.3 * static_cast<double>(x));
}

// A step of a stencil with corners, which leaves out a margin of `width` elements. Not linear, so that its adjoint
// reads the step's inputs.
template <int width>
const auto &step_of_width() {
  static const Kernel kernel{"step_of_width", {"next", "now"}, [](Array<double, 2> next, Array<const double, 2> now) {
                               auto [y, x] = thread_index<2>();
                               if_(y >= width && y < now.extent(0) - width && x >= width && x < now.extent(1) - width,
                                   [&] {
                                     Double sum = 0.0;
                                     for (int dy = -width; dy <= width; dy += width)
                                       for (int dx = -width; dx <= width; dx += width)
                                         sum += (1.0 + 0.1 * dy + 0.03 * dx) * now(y + dy, x + dx);
                                     next(y, x) = 0.1 * sum + 0.02 * now(y, x) * now(y, x);
                                   });
                             }};
  return kernel;
}

struct Outcome {
  std::vector<double> values, gradient;
  std::int64_t kept_bytes = 0;
};

enum class How { plain, parts, graph };

// Three steps, and the gradient of half the sum of squares of the result.
template <int width>
Outcome run(const Communicator &ranks, const Extents &extents, const GridOptions &options, How how) {
  const Grid grid{ranks, extents, options};
  std::vector<Buffer<double>> states;
  for (int i = 0; i < 4; ++i) states.push_back(grid.array<double>(Gradient::tracked));
  Buffer<double> inside = grid.without_ghosts(states[0]);
  for (std::int64_t y = 0; y < grid.block()[0]; ++y)
    for (std::int64_t x = 0; x < grid.block()[1]; ++x)
      inside.set({y, x}, value_of(0, grid.begin()[0] + y, grid.begin()[1] + x));
  const auto steps = [&] {
    for (std::size_t i = 0; i + 1 < states.size(); ++i) {
      if (how == How::plain) {
        grid.exchange(states[i]);
        step_of_width<width>().launch(states[i].extents(), states[i + 1], states[i]);
      } else {
        grid.exchange(states[i], [&](const GridPart &part) {
          step_of_width<width>().launch(part.extents(), part(states[i + 1]), part(states[i]));
        });
      }
    }
  };
  Tape tape;
  tape.record(steps);
  const Buffer<double> weights = grid.array<double>();
  grid.without_ghosts(weights).copy_from(grid.without_ghosts(states.back()));
  if (how == How::graph) {
    Graph graph = capture(ranks.stream(), [&] {
      steps();
      for (Buffer<double> &state : states) state.zero_gradient();
      tape.backward({{states.back(), weights}});
    });
    for (std::size_t i = 1; i < states.size(); ++i) states[i].fill(0);
    graph.launch(), graph.launch();
  } else {
    tape.backward({{states.back(), weights}});
  }
  Buffer<double> whole{ranks.device(), extents}, gradients{ranks.device(), extents};
  const bool is_root = ranks.rank() == 0;
  grid.gather(is_root ? whole : Buffer<double>(), states.back());
  grid.gather(is_root ? gradients : Buffer<double>(), states[0].gradient());
  return {whole.to_vector(), gradients.to_vector(), tape.kept_bytes()};
}

template <int width>
void expect_one_ranks_outcome(const Extents &extents, How how) {
  for (const std::vector<bool> &periodic : {std::vector<bool>{false, false}, {true, false}, {true, true}}) {
    const GridOptions options{.ghosts = {width, width}, .periodic = periodic};
    Outcome expected;
    ASSERT_THAT(
        errors_of_ranks(1, [&](const auto &ranks) { expected = run<width>(ranks, extents, options, How::plain); }),
        Each(""));
    for (const auto &[size, blocks] : {std::pair{1, std::vector<int>{}}, {2, {}}, {4, {}}, {6, {}}, {3, {1, 3}}}) {
      Outcome outcome;
      GridOptions cut = options;
      cut.ranks = blocks;
      EXPECT_THAT(errors_of_ranks(size,
                                  [&](const Communicator &ranks) {
                                    const Outcome own = run<width>(ranks, extents, cut, how);
                                    if (ranks.rank() == 0) outcome = own;
                                  }),
                  Each(""));
      EXPECT_EQ(outcome.values, expected.values) << size;
      EXPECT_EQ(outcome.kept_bytes, 0) << "an exchange overwrites nothing that an adjoint reads";
      ASSERT_EQ(outcome.gradient.size(), expected.gradient.size());
      for (std::size_t i = 0; i < expected.gradient.size(); ++i)
        EXPECT_NEAR(outcome.gradient[i], expected.gradient[i], 1e-13 * (1 + std::abs(expected.gradient[i]))) << size;
    }
  }
}

TEST(GridOverlap, StepsOfPartsAreThoseOfOneRank) { expect_one_ranks_outcome<1>({11, 16}, How::parts); }
TEST(GridOverlap, StepsWithWideGhostsAreThoseOfOneRank) { expect_one_ranks_outcome<2>({19, 14}, How::parts); }
TEST(GridOverlap, StepsOfNarrowBlocksAreThoseOfOneRank) { expect_one_ranks_outcome<2>({8, 7}, How::parts); }
TEST(GridOverlap, StepsInGraphsAreThoseOfOneRank) { expect_one_ranks_outcome<1>({11, 16}, How::graph); }
TEST(GridOverlap, PlainStepsInGraphsAreThoseOfOneRank) { expect_one_ranks_outcome<2>({19, 14}, How::plain); }

// Every element of a block is in one part, without its margin, and the interior has no ghosts that neighbours send.
TEST(GridOverlap, PartsAreABlock) {
  for (const std::vector<bool> &periodic : {std::vector<bool>{false, false, false}, {true, false, true}})
    EXPECT_THAT(errors_of_ranks(8,
                                [&](const Communicator &ranks) {
                                  const std::vector<int> ghosts{1, 2, 0};
                                  const Grid grid{
                                      ranks, {12, 18, 5}, {.ghosts = ghosts, .periodic = periodic, .ranks = {2, 4, 1}}};
                                  const Buffer<std::int32_t> parts = grid.array<std::int32_t>();
                                  const auto add = [&](const GridPart &part) {
                                    Buffer<std::int32_t> inside = part(parts);
                                    for (int d = 0; d < 3; ++d) {
                                      const std::int64_t width = ghosts[static_cast<std::size_t>(d)];
                                      inside = inside.slice(d, width, inside.extents()[d] - width);
                                    }
                                    for (std::int64_t z = 0; z < inside.extents()[0]; ++z)
                                      for (std::int64_t y = 0; y < inside.extents()[1]; ++y)
                                        for (std::int64_t x = 0; x < inside.extents()[2]; ++x)
                                          inside.set({z, y, x}, inside.at(z, y, x) + 1);
                                  };
                                  if (grid.interior()) add(*grid.interior());
                                  std::int64_t elements = grid.interior() ? grid.interior()->elements().count() : 0;
                                  for (const GridPart &part : grid.border())
                                    add(part), elements += part.elements().count();
                                  EXPECT_EQ(elements, grid.block().count());
                                  EXPECT_THAT(grid.without_ghosts(parts).to_vector(), Each(1));
                                  std::int64_t sum = 0;
                                  for (const std::int32_t value : parts.to_vector()) sum += value;
                                  EXPECT_EQ(sum, grid.block().count());
                                }),
                Each(""));
}

TEST(GridOverlap, SeveralFieldsAndOtherMessagesTravelAtATime) {
  EXPECT_THAT(errors_of_ranks(3,
                              [](const Communicator &ranks) {
                                const Grid grid{ranks, {12}, {.periodic = {true}}};
                                const Buffer<float> a = grid.array<float>();
                                const Buffer<std::int16_t> b = grid.array<std::int16_t>();
                                const Buffer<float> other = grid.array<float>();
                                const int rank = ranks.rank(), before = (rank + 2) % 3, after = (rank + 1) % 3;
                                Buffer<float>(a).fill(static_cast<float>(rank));
                                Buffer<std::int16_t>(b).fill(static_cast<std::int16_t>(10 * rank));
                                Buffer<float>(other).fill(static_cast<float>(100 * rank));
                                int parts = 0;
                                grid.exchange({a, b}, [&](const GridPart &) {
                                  if (parts++ == 0) grid.exchange(other);
                                });
                                EXPECT_EQ(parts, 3);
                                EXPECT_EQ(a.at(0), before);
                                EXPECT_EQ(a.at(5), after);
                                EXPECT_EQ(b.at(0), 10 * before);
                                EXPECT_EQ(b.at(5), 10 * after);
                                EXPECT_EQ(other.at(0), 100 * before);
                                EXPECT_EQ(other.at(5), 100 * after);
                              }),
              Each(""));
}

TEST(GridOverlap, EndsWithTheWorkThatThrows) {
  const auto errors = errors_of_ranks(2, [](const Communicator &ranks) {
    const Grid grid{ranks, {12}};
    const Buffer<float> array = grid.array<float>();
    grid.exchange(array, [&](const GridPart &) {
      if (ranks.rank() == 1) throw std::runtime_error("out of luck");
    });
    ranks.barrier();
  });
  EXPECT_EQ(errors[1], "out of luck");
  EXPECT_THAT(errors[0], HasSubstr("rank 1 has given up messages under way"));
}

TEST(GridOverlap, RefusesAnArrayOfAnotherGrid) {
  const auto errors = errors_of_ranks(1, [](const Communicator &ranks) {
    const Grid grid{ranks, {8}, {.periodic = {true}}};
    EXPECT_EQ(grid.interior()->to_string(), "(1) to (9) of (10)");
    (void)(*grid.interior())(Buffer<float>{ranks.device(), {9}});
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("overlap_test.cpp:"), HasSubstr("expected extents (10)"))));
}

// CUDA's kernels, run on the CPU and compared with the CPU's loops.
template <class T>
void expect_equal_packing(const Extents &block, const std::vector<int> &ghosts) {
  using namespace distributed;
  const auto rank = static_cast<std::size_t>(block.rank());
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < rank; ++d) extents.push_back(block[static_cast<int>(d)] + std::int64_t{2} * ghosts[d]);
  const GhostPlan plan = ghost_plan({.block = block,
                                     .ghosts = ghosts,
                                     .neighbours = std::vector<std::array<bool, 2>>(rank, {true, true}),
                                     .rank_in = [](const std::vector<int> &) { return 0; }});
  ASSERT_EQ(plan.sent_count, plan.received_count);
  const Extents padded{extents};
  const Device cpu = Device::cpu();
  const Stream stream = Stream::standard(cpu);
  const GhostTables tables{cpu, padded, plan};
  const auto numbers = [&] {
    Buffer<T> array{cpu, padded};
    std::vector<T> values;
    for (std::int64_t i = 0; i < array.count(); ++i) values.push_back(static_cast<T>(static_cast<float>(i % 31)));
    array.copy_from(values);
    return array;
  };
  Buffer<T> a = numbers(), b = numbers(), packed{cpu, {plan.sent_count}}, by_loops{cpu, {plan.sent_count}};
  auto *bytes = static_cast<std::byte *>(static_cast<void *>(by_loops.data()));
  tables.pack_sent(packed, a, stream), pack_ghosts(a, plan.sent, bytes);
  EXPECT_EQ(packed.to_vector(), by_loops.to_vector());
  tables.add_sent(a, packed, stream), add_ghosts(b, plan.sent, bytes);
  EXPECT_EQ(a.to_vector(), b.to_vector());
  tables.unpack_received(a, packed, stream), unpack_ghosts(b, plan.received, bytes);
  EXPECT_EQ(a.to_vector(), b.to_vector());
  tables.pack_received(packed, a, stream);
  EXPECT_EQ(packed.to_vector(), by_loops.to_vector());
}

TEST(GhostPacking, ByKernelsIsThatByLoops) {
  expect_equal_packing<float>({20, 5}, {1, 1}), expect_equal_packing<double>({6, 40}, {2, 1});
  expect_equal_packing<half>({4, 5, 6}, {1, 2, 1}), expect_equal_packing<bfloat16>({7}, {3});
  expect_equal_packing<float>({3, 4, 3, 5}, {1, 0, 1, 2});
}

}  // namespace
}  // namespace samite::test::overlap
