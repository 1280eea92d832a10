// A thread's contiguous sums of a product are stored to the block's memory, loaded from there, and added to arrays
// together: run on the host and compared with sums in double.
#include "samite/samite.h"
#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/guarded.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

namespace samite::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Small products and their sums are exact in bf16.
template <class T>
std::vector<T> small_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> numbers(-8, 8);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(T(static_cast<float>(numbers(engine)) / 8));
  return values;
}

struct Tiles {
  std::int64_t rows, columns, inner;
};

// The sums of the first product are a factor of the second one, with negative ones halved, by a tile of conditions; a
// tile that both read element by element is also in memory. All blocks of a row add to the same window.
template <class T>
auto chained(Tiles tiles, int threads) {
  return TileKernel{"chained",
                    [=](Array<const T, 2> a, Array<const T, 2> b, Array<const T, 2> weights, Array<T, 2> y) {
                      const auto [m, n, k] = tiles;
                      Int i = block_index<2>()[0];
                      Tile<T> w = tile::load(weights, {0, 0}, {n, n});
                      Tile<float> sum = tile::zeros<float>({m, n});
                      tile::matmul(tile::load(a, {i, 0}, {m, k}), tile::load(b, {0, 0}, {k, n}), sum);
                      Tile<bool> positive = sum > 0.0f;
                      Tile<T> factor = tile::cast<T>(select(positive, sum, sum * 0.5f));
                      Tile<float> second = tile::zeros<float>({m, n});
                      tile::matmul(factor, w, second);
                      tile::atomic_add(y, {i, 0}, tile::cast<T>(select(positive, second, -second)));
                    },
                    TileOptions{.threads = threads}};
}

// Facts about arrays whose rows begin and end with 16 bytes.
template <class T>
codegen::EmitOptions of_whole_rows() {
  codegen::EmitOptions options = cuda_options();
  for (codegen::ArrayFacts &facts : options.arrays) {
    facts.unit_stride = facts.unaliased = facts.aligned_rows = true;
    facts.row_divisor = 16 / static_cast<std::int64_t>(sizeof(T));
  }
  return options;
}

// `rows` and `columns` are the arrays' extents, which the tiles may exceed. Protected memory follows the result.
template <class T>
void expect_chained(Tiles tiles, std::int64_t rows, std::int64_t columns, int threads = 64,
                    const codegen::EmitOptions &options = cuda_options()) {
  SCOPED_TRACE(::testing::Message() << rows << " x " << columns << " in " << tiles.rows << " x " << tiles.columns
                                    << " x " << tiles.inner << " by " << threads);
  const auto a = small_numbers<T>(rows * tiles.inner, 1), b = small_numbers<T>(tiles.inner * columns, 2),
             weights = small_numbers<T>(columns * columns, 3);
  std::vector<T> y(static_cast<std::size_t>(rows * columns), T(0.5f));
  const Guarded added(y.size() * sizeof(T), /*at_end=*/true);
  std::memcpy(added.data(), y.data(), y.size() * sizeof(T));
  const auto kernel = chained<T>(tiles, threads);
  const CudaOnHost run(kernel.ir(), options);
  const long long down = (rows + tiles.rows - 1) / tiles.rows;
  run.run({down, 2}, {array(a, {rows, tiles.inner}), array(b, {tiles.inner, columns}),
                      array(weights, {columns, columns}), strided(added.data(), {rows, columns}, {columns, 1})});
  std::memcpy(y.data(), added.data(), y.size() * sizeof(T));
  const auto at = [](const std::vector<T> &matrix, std::int64_t width, std::int64_t i, std::int64_t j) {
    return static_cast<double>(static_cast<float>(matrix[static_cast<std::size_t>(i * width + j)]));
  };
  for (std::int64_t i = 0; i < rows; ++i) {
    std::vector<double> sums(static_cast<std::size_t>(columns)), factors(sums.size());
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < tiles.inner; ++k) sum += at(a, tiles.inner, i, k) * at(b, columns, k, j);
      sums[static_cast<std::size_t>(j)] = sum;
      factors[static_cast<std::size_t>(j)] = static_cast<float>(T(static_cast<float>(sum > 0 ? sum : sum / 2)));
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      double second = 0;
      for (std::int64_t k = 0; k < columns; ++k)
        second += factors[static_cast<std::size_t>(k)] * at(weights, columns, k, j);
      const float added =
          static_cast<float>(T(static_cast<float>(sums[static_cast<std::size_t>(j)] > 0 ? second : -second)));
      const float expected = static_cast<float>(T(static_cast<float>(T(0.5f + added)) + added));
      ASSERT_NEAR(at(y, columns, i, j), expected, std::abs(expected) * 0.02 + 1e-4) << i << ' ' << j;
    }
  }
}

template <class T>
class ElementsInBlock : public ::testing::Test {};
using Types = ::testing::Types<float, half, bfloat16>;
TYPED_TEST_SUITE(ElementsInBlock, Types);

TYPED_TEST(ElementsInBlock, OfWholeTiles) {
  expect_chained<TypeParam>({32, 32, 32}, 64, 32);
  expect_chained<TypeParam>({64, 64, 16}, 64, 64, 128);
  expect_chained<TypeParam>({16, 128, 16}, 16, 128, 32);
}

// Pieces that are not a power of two, so that their places are not separate bits; an odd number of columns, none of
// them adjacent; and arrays that end within a tile, at an odd column.
TYPED_TEST(ElementsInBlock, OfOddTiles) {
  expect_chained<TypeParam>({96, 48, 16}, 96, 48, 128);
  expect_chained<TypeParam>({48, 24, 16}, 48, 24);
  expect_chained<TypeParam>({32, 33, 16}, 32, 33);
  expect_chained<TypeParam>({32, 32, 16}, 41, 29);
  expect_chained<TypeParam>({64, 64, 16}, 70, 51, 128);
}

// Rows that end within a tile, with a unit of 16 bytes: each pack is inside or outside. Few packs of a thread, and
// many.
TYPED_TEST(ElementsInBlock, OfRowsThatEndWithAUnit) {
  const codegen::EmitOptions known = of_whole_rows<TypeParam>();
  expect_chained<TypeParam>({32, 32, 16}, 32, 32, 64, known);
  expect_chained<TypeParam>({32, 32, 16}, 41, 24, 64, known);
  expect_chained<TypeParam>({32, 32, 16}, 31, 8, 64, known);
  expect_chained<TypeParam>({64, 64, 16}, 70, 56, 128, known);
  expect_chained<TypeParam>({64, 64, 16}, 3, 16, 32, known);
}

template <class T>
std::string text_of(Tiles tiles, const codegen::EmitOptions &options = cuda_options()) {
  return emit_for_cuda(chained<T>(tiles, 64).ir(), options).text;
}

// The plan's loops, as text.
template <class T>
std::string loops_of(Tiles tiles, const codegen::EmitOptions &options = cuda_options()) {
  return plan_text(chained<T>(tiles, 64).ir(), options);
}

TEST(ElementsInBlockText, AreAskedForAtOnceWhereTheyAreInsideAsAWhole) {
  const std::string known = loops_of<bfloat16>({32, 32, 32}, of_whole_rows<bfloat16>());
  EXPECT_THAT(known, AllOf(HasSubstr("(add @p3 rows (0) in_units) bounds (%"), HasSubstr(" in_packs"),
                           Not(HasSubstr("corners"))));
  EXPECT_THAT(loops_of<bfloat16>({32, 32, 32}), AllOf(HasSubstr("corners 2"), Not(HasSubstr("in_packs"))));
}

TEST(ElementsInBlockText, AreStoredAndLoadedTogetherWhereTheyLieSo) {
  EXPECT_THAT(text_of<bfloat16>({32, 32, 32}), HasSubstr("StoreInBlock<bf16, 2>"));
  EXPECT_THAT(text_of<bfloat16>({32, 32, 32}), HasSubstr("LoadInBlock<bool, 2>"));
  EXPECT_THAT(loops_of<bfloat16>({32, 32, 32}), HasSubstr("(add @p3 rows (0)) bounds (%"));
  EXPECT_THAT(text_of<float>({32, 32, 32}), HasSubstr("StoreInBlock<f32, 4>"));
  EXPECT_THAT(loops_of<float>({32, 32, 32}), HasSubstr("(add @p3 rows (0)) bounds (%"));
  EXPECT_THAT(text_of<float>({32, 33, 32}), Not(HasSubstr("InBlock<")));
}

}  // namespace
}  // namespace samite::test
