// Tiles that a block stores and loads back: values as arrays give them, and gradients.
#include "tests/tiles/reference.h"

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 2 rows and 3 columns of blocks, the last of which reach beyond the arrays.
constexpr std::int64_t height = 7, width = 19, tile_height = 4, tile_width = 8;
const Extents blocks_of_tiles{2, 3};

struct Arrays {
  Buffer<double> x = buffer<double>({height, width}, Matrix(height, width, 3).values, Gradient::tracked);
  Buffer<double> y = poisoned<double>({height, width}, Gradient::tracked);
  Buffer<double> z = poisoned<double>({height, width}, Gradient::tracked);
};

// Elements beyond the array are lost: z of them would be one, not e.
const TileKernel stored_and_loaded{
    "stored_and_loaded", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
      auto [i, j] = block_index<2>();
      tile::store(y, {i, j}, tile::load(x, {i, j}, {tile_height, tile_width}) + 1.0);
      Tile<double> back = tile::load(y, {i, j}, {tile_height, tile_width});
      tile::store(z, {i, j}, exp(back) * tile::sum(back));
    }};

TEST(TileInPlace, ATileThatIsLoadedBackHasItsGradient) {
  Arrays a;
  stored_and_loaded.launch(blocks_of_tiles, a.z, a.y, a.x);
  const Matrix x(height, width, 3);
  std::vector<double> y, z;
  for (std::int64_t r = 0; r < height; ++r)
    for (std::int64_t c = 0; c < width; ++c) {
      double sum = 0;
      for (std::int64_t i = r / tile_height * tile_height; i < std::min(height, (r / tile_height + 1) * tile_height);
           ++i)
        for (std::int64_t j = c / tile_width * tile_width; j < std::min(width, (c / tile_width + 1) * tile_width); ++j)
          sum += x(i, j) + 1;
      y.push_back(x(r, c) + 1);
      z.push_back(std::exp(y.back()) * sum);
    }
  expect_near(a.y, y, 0);
  expect_near(a.z, z, 1e-11);
  const GradientReport report = gradcheck(stored_and_loaded, blocks_of_tiles, a.z, a.y, a.x);
  EXPECT_TRUE(report.passed) << report;
}

// The tile is the block's own all through a loop.
const TileKernel iterated{"iterated", {"y", "x", "times"}, [](Array<double, 2> y, Array<const double, 2> x, Int times) {
                            auto [i, j] = block_index<2>();
                            for ([[maybe_unused]] Int k : range(times)) {
                              Tile<double> t = tile::load(y, {i, j}, {tile_height, tile_width});
                              Tile<double> next = cos(t) * tile::load(x, {i, j}, {tile_height, tile_width});
                              if_(k % 2 == 0, [&] { next += 0.25; });
                              tile::store(y, {i, j}, next);
                            }
                          }};

TEST(TileInPlace, InALoop) {
  for (int times = 0; times < 5; ++times) {
    Arrays a;
    a.y.fill(0.5);
    const GradientReport report = gradcheck(iterated, blocks_of_tiles, a.y, a.x, times);
    EXPECT_TRUE(report.passed) << times << ": " << report;
  }
}

// Under a condition, with other statements between, and as an addition.
TEST(TileInPlace, UnderAConditionAndAdded) {
  const TileKernel kernel{"conditions", {"y", "x"}, [](Array<double, 2> y, Array<const double, 2> x) {
                            auto [i, j] = block_index<2>();
                            Tile<double> t = tile::load(x, {i, j}, {tile_height, tile_width});
                            if_(i == 0, [&] { tile::store(y, {i, j}, t * t); });
                            tile::atomic_add(y, {i, j}, sin(tile::load(y, {i, j}, {tile_height, tile_width})));
                            Tile<double> last = tile::load(y, {i, j}, {tile_height, tile_width});
                            tile::store(y, {i, j}, last * last + t);
                          }};
  Arrays a;
  a.y.fill(0.5);
  const GradientReport report = gradcheck(kernel, blocks_of_tiles, a.y, a.x);
  EXPECT_TRUE(report.passed) << report;
}

// A block stores several tiles and loads each back: its own stores, and zero beyond the array.
TEST(TileInPlace, SeveralTilesThatAreLoadedBack) {
  const TileKernel parts{
      "parts", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
        const Int i = block_index();
        for (Int k : range(3)) {
          tile::store(y, {i, k}, exp(tile::load(x, {i, k}, {tile_height, tile_width})));
          const Tile<double> back = tile::load(y, {i, k}, {tile_height, tile_width});
          tile::store(z, {i, k}, back * tile::sum(back * back));
        }
      }};
  const TileKernel beside{
      "beside", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
        const Int i = block_index();
        const Tile<double> t = tile::load(x, {i, 2}, {tile_height, tile_width});
        tile::store(y, {i, 2}, t * t + 1.0);
        tile::store(y, {i, 0}, t);
        if_(i == 1, [&] { tile::store(y, {i, 1}, t); });
        const Tile<double> back = tile::load(y, {i, 2}, {tile_height, tile_width});
        tile::store(z, {i, 0}, back * tile::sum(back) * tile::load(y, {i, 0}, {tile_height, tile_width}));
      }};
  const TileKernel alone{
      "alone", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
        const Tile<double> t = tile::load(x, {0, 0}, {tile_height, tile_width});
        tile::store(y, {0, 0}, t * t);
        const Tile<double> back = tile::load(y, {0, 0}, {tile_height, tile_width});
        tile::store(z, {0, 0}, back * tile::sum(back));
      }};
  const auto check = [](const auto &kernel, const Extents &blocks) {
    SCOPED_TRACE(kernel.name());
    Arrays a;
    a.y.fill(0.5), a.z.fill(0.25);
    const GradientReport report = gradcheck(kernel, blocks, a.z, a.y, a.x);
    EXPECT_TRUE(report.passed) << report;
  };
  check(parts, {2});
  check(beside, {2});
  check(alone, {1});
}

// A statement between the store and the load has written to the tile: then the load is refused, or returns those
// values.
TEST(TileInPlace, WhatIsStoredBetweenIsLoadedBack) {
  const TileKernel twice{
      "twice", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
        const Int i = block_index();
        const Tile<double> t = tile::load(x, {i, 0}, {tile_height, tile_width});
        tile::store(y, {i, 0}, t);
        tile::store(y, {i, 1}, t * t);
        tile::store(y, {i, 0}, t * t * t);
        tile::store(z, {i, 0}, tile::load(y, {i, 0}, {tile_height, tile_width}));
      }};
  Arrays a;
  a.y.fill(0.5), a.z.fill(0.25);
  const GradientReport report = gradcheck(twice, {2}, a.z, a.y, a.x);
  EXPECT_TRUE(report.passed) << report;
  const TileKernel overlapping{
      "overlapping", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
        const Int i = block_index();
        const Tile<double> t = tile::load(x, {i, 0}, {tile_height, tile_width});
        tile::store_at(y, {i * 4, 0}, t);
        tile::store_at(y, {i * 4, 5}, t * t);
        const Tile<double> back = tile::load_at(y, {i * 4, 0}, {tile_height, tile_width});
        tile::store(z, {i, 0}, back * back);
      }};
  const GradientReport of_both = gradcheck(overlapping, {2}, a.z, a.y, a.x);
  EXPECT_TRUE(of_both.passed) << of_both;
}

// A later loop loads an earlier one's stores, in another order, and beyond the array.
TEST(TileInPlace, WhatAnEarlierLoopHasStored) {
  const TileKernel later{
      "later", {"z", "y", "x", "n"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x, Int n) {
        const Int i = block_index();
        for (Int k : range(n)) {
          const Tile<double> t = tile::load(x, {i, k}, {tile_height, tile_width});
          tile::store(y, {i, k}, t * t + tile::load(y, {i, k}, {tile_height, tile_width}));
        }
        Tile<double> sum = tile::zeros<double>({tile_height, tile_width});
        for (Int k : range(n, -1, -1)) {
          sum += tile::load(y, {i, k}, {tile_height, tile_width});
          if_(k != 1, [&] { tile::store(y, {i, k}, sum * 0.5); });
        }
        for (Int k : range(3)) tile::store(z, {i, k}, sum * tile::load(y, {i, k}, {tile_height, tile_width}));
      }};
  for (const int n : {0, 2, 3, 4}) {
    Arrays a;
    a.y.fill(0.5), a.z.fill(0.25);
    const GradientReport report = gradcheck(later, {2}, a.z, a.y, a.x, n);
    EXPECT_TRUE(report.passed) << n << ": " << report;
  }
}

// Quarters, elements and rows of a stored tile, and a tile of several: elements that were not stored have their
// previous values.
TEST(TileInPlace, PartsOfWhatWasStored) {
  const TileKernel parts{
      "parts", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
        const Int i = block_index();
        const Tile<double> t = tile::load(x, {i, 0}, {4, 8});
        tile::store_at(y, {i * 4, 1}, t * t);
        const Tile<double> quarter = tile::load_at(y, {i * 4 + 2, 4}, {2, 4});
        const Tile<double> around = tile::load_at(y, {i * 4, 0}, {4, 10});
        tile::store_at(y, {i * 4 + 1, 3}, quarter * 2.0);
        const Tile<double> row = tile::load_at(y, {i * 4 + 1, 0}, {8});
        tile::store_at(z, {i * 4, 0}, around * tile::sum(quarter * quarter));
        tile::store_at(z, {i * 4, 11}, tile::broadcast<double>(tile::reshape(row, {1, 8}), {4, 8}));
      }};
  const TileKernel in_steps{
      "in_steps", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
        const Int i = block_index();
        for (Int k : range(3)) {
          const Tile<double> t = tile::load(x, {i, k}, {4, 4});
          tile::store_at(y, {i * 4, k * 8 - 3}, t * t);
          tile::store_at(y, {i * 4, k * 8 + 1}, exp(t));
        }
        for (Int k : range(3)) {
          const Tile<double> t = tile::load_at(y, {i * 4, k * 8 - 3}, {4, 8});
          tile::store_at(z, {i * 4, k * 5}, tile::slice(t, {0, 2}, {4, 5}) * Double(y(i * 4 + 1, k * 8 + 1)));
        }
      }};
  for (const auto *kernel : {&parts, &in_steps}) {
    SCOPED_TRACE(kernel->name());
    Arrays a;
    a.y.fill(0.5), a.z.fill(0.25);
    const GradientReport report = gradcheck(*kernel, {2}, a.z, a.y, a.x);
    EXPECT_TRUE(report.passed) << report;
  }
}

// Whichever block has stored last, each block loads its own stores.
TEST(TileInPlace, ATileThatAllBlocksStoreAlike) {
  const TileKernel alike{
      "alike", {"z", "y", "x"}, [](Array<double, 2> z, Array<double, 2> y, Array<const double, 2> x) {
        const Int i = block_index();
        const Tile<double> t = tile::load(x, {0, 1}, {tile_height, tile_width});
        tile::store(y, {0, 1}, t * t);
        const Tile<double> back = tile::load(y, {0, 1}, {tile_height, tile_width});
        tile::store(z, {i, 0}, exp(back) * tile::load(x, {i, 0}, {tile_height, tile_width}));
      }};
  Arrays a;
  a.y.fill(0.5), a.z.fill(0.25);
  const GradientReport report = gradcheck(alike, {2}, a.z, a.y, a.x);
  EXPECT_TRUE(report.passed) << report;
}

TEST(TileInPlace, TilesThatBlocksShareAreRefused) {
  const TileKernel neighbours{"neighbours", {"y", "x"}, [](Array<double, 2> y, Array<const double, 2> x) {
                                auto [i, j] = block_index<2>();
                                tile::store(y, {i, j}, tile::load(x, {i, j}, {tile_height, tile_width}));
                                Tile<double> t = tile::load(y, {i, 0}, {tile_height, tile_width});
                                tile::store(y, {i, j}, t * t);
                              }};
  Arrays a;
  EXPECT_THAT(message_of<UserError>([&] { gradcheck(neighbours, blocks_of_tiles, a.y, a.x); }),
              AllOf(HasSubstr("array 'y' is written here and read at another index"),
                    HasSubstr("one block may read what another writes"),
                    HasSubstr("or by tiles at block_index() wherever the array is used")));
  const TileKernel everywhere{"everywhere", {"y", "x"}, [](Array<double, 2> y, Array<const double, 2> x) {
                                tile::store(y, {0, 0}, tile::load(x, {0, 0}, {tile_height, tile_width}));
                                Tile<double> t = tile::load(y, {0, 0}, {tile_height, tile_width});
                                tile::store(y, {0, 0}, t * t + tile::load(x, {block_index(), 0}, {4, 8}));
                              }};
  EXPECT_THAT(message_of<UserError>([&] { gradcheck(everywhere, {2}, a.y, a.x); }),
              HasSubstr("tiles at block_index() wherever the array is used, so that each block has a part of its own"));
}

}  // namespace
}  // namespace samite::test
