// Kernels whose blocks read an array and then store to it, as CUDA runs them: no thread stores before all have read,
// whichever thread runs first.
#include "tests/codegen/cuda_tile_kernel.h"

#include <numeric>

namespace samite::test {
namespace {

using Orders = std::vector<ThreadOrder>;
const Orders hazard_orders{{ThreadOrder::Kind::FirstToLast},
                           {ThreadOrder::Kind::LastToFirst},
                           {ThreadOrder::Kind::Alternating},
                           {ThreadOrder::Kind::Random, 1},
                           {ThreadOrder::Kind::Random, 2}};

std::vector<float> first_floats(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

// Runs `kernel(y, out)` in every order and expects both arrays to be as given.
template <class K>
void expect_arrays(const K &kernel, const std::vector<float> &start, const std::vector<float> &y_expected,
                   const std::vector<float> &out_expected, std::int64_t blocks = 1) {
  CudaOnHost run(kernel.ir());
  for (const ThreadOrder &order : hazard_orders) {
    run.order = order;
    std::vector<float> y = start, out(out_expected.size(), -1.0f);
    run.run({blocks}, {array(y), array(out)});
    ASSERT_EQ(y, y_expected) << int(order.kind) << '\n' << run.source().text;
    ASSERT_EQ(out, out_expected) << int(order.kind) << '\n' << run.source().text;
  }
}

using Y = Array<float, 1>;

TEST(CudaBlockHazards, ANumberThatIsReadBeforeItIsOverwritten) {
  const TileKernel kernel{"number",
                          [](Y y, Y out) {
                            Float s = y(1000);
                            tile::store(y, {0}, tile::full<float>({1024}, 7.0f));
                            tile::store(out, {0}, tile::full<float>({256}, s));
                          },
                          of_64};
  expect_arrays(kernel, first_floats(1024), std::vector<float>(1024, 7), std::vector<float>(256, 1001));
}

TEST(CudaBlockHazards, AConditionThatIsReadBeforeItIsOverwritten) {
  const TileKernel kernel{"condition",
                          [](Y y, Y out) {
                            if_(
                                y(500) > 3,
                                [&] {
                                  tile::store(y, {0}, tile::zeros<float>({1024}));
                                  tile::store(out, {0}, tile::full<float>({64}, 1.0f));
                                },
                                [&] { tile::store(out, {0}, tile::full<float>({64}, 2.0f)); });
                          },
                          of_64};
  expect_arrays(kernel, first_floats(1024), std::vector<float>(1024, 0), std::vector<float>(64, 1));
}

TEST(CudaBlockHazards, ALoopThatGoesOnAsLongAsWhatItOverwritesSays) {
  const TileKernel kernel{"rounds",
                          [](Y y, Y out) {
                            Int rounds = 0;
                            while_([&] { return y(700) < 710; },
                                   [&] {
                                     tile::store(y, {0}, tile::load(y, {0}, {1024}) + 4.0f);
                                     rounds += 1;
                                   });
                            tile::store(out, {0}, tile::full<float>({64}, cast<Float>(rounds)));
                          },
                          of_64};
  auto expected = first_floats(1024);
  for (float &value : expected) value += 12;
  expect_arrays(kernel, first_floats(1024), expected, std::vector<float>(64, 3));
}

// The number of iterations, and the elements that each reads from the previous one's stores.
TEST(CudaBlockHazards, ACountThatIsReadBeforeItIsOverwritten) {
  const TileKernel kernel{"count",
                          [](Y y, Y out) {
                            Float sum = 0;
                            for ([[maybe_unused]] Int k : range(cast<Int>(y(3)))) {
                              tile::store(y, {0}, tile::full<float>({512}, 2 * sum + 1));
                              sum = sum + y(200) + y(501);
                            }
                            tile::store(out, {0}, tile::full<float>({64}, sum));
                          },
                          of_64};
  // 4 rounds store 1, 5, 25 and 125; each is read twice.
  expect_arrays(kernel, first_floats(512), std::vector<float>(512, 125),
                std::vector<float>(64, 2 * (1 + 5 + 25 + 125)));
}

// A tile that stays in registers between its load and its store, to another place.
TEST(CudaBlockHazards, ShiftsWithinAnArray) {
  for (const std::int64_t shift : {1, 3, 64, -5}) {
    const std::int64_t from = std::max<std::int64_t>(shift, 0), to = std::max<std::int64_t>(-shift, 0),
                       count = 1024 - from - to;
    const TileKernel kernel{"shift",
                            [=](Y y, Y out) {
                              tile::store_at(y, {to}, tile::load_at(y, {from}, {count}));
                              tile::store(out, {0}, tile::zeros<float>({64}));
                            },
                            of_64};
    const auto start = first_floats(1024);
    auto expected = start;
    for (std::int64_t i = 0; i < count; ++i)
      expected[static_cast<std::size_t>(to + i)] = start[static_cast<std::size_t>(from + i)];
    expect_arrays(kernel, start, expected, std::vector<float>(64, 0));
  }
}

// A sum over the tile brings it into registers.
TEST(CudaBlockHazards, ARowThatIsReducedAndStoredElsewhere) {
  const TileKernel kernel{"reduced",
                          [](Y y, Y out) {
                            auto row = tile::load_at(y, {8}, {1016});
                            tile::store_at(y, {0}, row - tile::max(row));
                            tile::store(out, {0}, tile::zeros<float>({64}));
                          },
                          of_64};
  const auto start = first_floats(1024);
  auto expected = start;
  for (std::size_t i = 0; i < 1016; ++i) expected[i] = start[i + 8] - 1024;
  expect_arrays(kernel, start, expected, std::vector<float>(64, 0));
}

// At the end of an iteration every thread reads elements that the next one overwrites at its beginning.
TEST(CudaBlockHazards, AroundALoop) {
  const TileKernel kernel{"around",
                          [](Y y, Y out) {
                            Float last = 0;
                            for (Int k : range(5)) {
                              tile::store(y, {0}, tile::full<float>({256}, last + cast<Float>(k)));
                              last = y(129);
                            }
                            tile::store(out, {0}, tile::full<float>({64}, last));
                          },
                          of_64};
  expect_arrays(kernel, first_floats(256), std::vector<float>(256, 10), std::vector<float>(64, 10));
}

// Two arrays that are one buffer.
TEST(CudaBlockHazards, ArraysThatShareMemory) {
  const TileKernel kernel{"shared",
                          [](Y y, Y out) {
                            Float s = y(900);
                            tile::store(out, {0}, tile::full<float>({1024}, s));
                          },
                          of_64};
  CudaOnHost run(kernel.ir());
  for (const ThreadOrder &order : hazard_orders) {
    run.order = order;
    auto both = first_floats(1024);
    run.run({1}, {array(both), array(both)});
    EXPECT_EQ(both, std::vector<float>(1024, 901));
  }
}

}  // namespace
}  // namespace samite::test
