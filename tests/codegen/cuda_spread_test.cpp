// Tiles in the registers of a block's threads: they are loaded, processed and reduced, and nothing else. Blocks of 64
// threads run on the host, compared with sums in double and with the CPU's kernels.
#include "samite/jit/definition.h"
#include "tests/codegen/cuda_tile_kernel.h"
#include "tests/codegen/guarded.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace samite::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using FloatIn = Array<const float, 2>;
using FloatOut = Array<float, 2>;

template <class T>
struct Matrix {
  long long rows, columns;
  std::vector<T> values = {};

  Argument argument() { return array(values, {rows, columns}); }
  T at(long long i, long long j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};

template <class T>
Matrix<T> matrix(long long rows, long long columns) {
  Matrix<T> made{rows, columns, std::vector<T>(static_cast<std::size_t>(rows * columns))};
  for (std::size_t i = 0; i < made.values.size(); ++i) made.values[i] = static_cast<T>(std::sin(double(i * i % 1013)));
  return made;
}

codegen::EmitOptions known_arrays() {
  codegen::EmitOptions options = cuda_options();
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = true;
  return options;
}

// For arrays whose rows all begin with units of 16 bytes.
codegen::EmitOptions arrays_in_units() {
  codegen::EmitOptions options = known_arrays();
  for (codegen::ArrayFacts &facts : options.arrays) facts.unit_stride = facts.aligned_rows = true;
  return options;
}

// And end with one.
codegen::EmitOptions arrays_of_whole_units() {
  codegen::EmitOptions options = arrays_in_units();
  for (codegen::ArrayFacts &facts : options.arrays) facts.row_divisor = 4;
  return options;
}

// Rows that fill the tile, that end before it does, and that do not begin at multiples of 16 bytes. Each with and
// without the knowledge of where they begin, and that they end with a unit.
enum class Known { nothing, begin, end };
constexpr std::pair<long long, Known> softmaxes[] = {
    {512, Known::nothing}, {500, Known::nothing}, {511, Known::nothing}, {600, Known::nothing},
    {512, Known::begin},   {500, Known::begin},   {516, Known::begin},   {512, Known::end},
    {500, Known::end},     {4, Known::end},       {508, Known::end},     {516, Known::end}};

TEST(CudaSpread, Softmax) {
  const TileKernel softmax{"softmax",
                           [](FloatIn x, FloatOut y) {
                             Tile<float> row = tile::load(x, {block_index(), 0}, {512});
                             Tile<float> e = exp(row - tile::max(row));
                             tile::store(y, {block_index(), 0}, e / tile::sum(e));
                           },
                           of_64};
  const CudaOnHost anywhere(softmax.ir(), known_arrays()), in_units(softmax.ir(), arrays_in_units()),
      whole(softmax.ir(), arrays_of_whole_units());
  EXPECT_EQ(anywhere.source().tile_memory.in_registers.size(), 4u) << "two tiles, and what each is reduced to";
  const auto text = [](const CudaOnHost &kernel) { return kernel.source().text; };
  EXPECT_THAT(text(anywhere), HasSubstr("whole_units"));
  EXPECT_THAT(text(in_units), Not(HasSubstr("whole_units"))) << "which is known";
  EXPECT_THAT(plan_text(softmax.ir(), arrays_in_units()), Not(HasSubstr("in_packs")));
  EXPECT_THAT(plan_text(softmax.ir(), arrays_of_whole_units()), HasSubstr("in_packs"));
  for (const auto &[length, known] : softmaxes) {
    SCOPED_TRACE(length);
    const CudaOnHost &kernel = known == Known::nothing ? anywhere : known == Known::begin ? in_units : whole;
    Matrix<float> x = matrix<float>(3, length), y = matrix<float>(3, length);
    const Guarded stored(y.values.size() * sizeof(float), /*at_end=*/true);
    std::memcpy(stored.data(), y.values.data(), y.values.size() * sizeof(float));
    const Guarded loaded(x.values.size() * sizeof(float), /*at_end=*/true);
    std::memcpy(loaded.data(), x.values.data(), x.values.size() * sizeof(float));
    kernel.run({3},
               {strided(loaded.data(), {3, length}, {length, 1}), strided(stored.data(), {3, length}, {length, 1})});
    std::memcpy(y.values.data(), stored.data(), y.values.size() * sizeof(float));
    const long long taken = std::min(length, 512ll);
    for (long long i = 0; i < 3; ++i) {
      double largest = length < 512 ? 0 : -1e9, sum = 0;
      for (long long j = 0; j < taken; ++j) largest = std::max<double>(largest, x.at(i, j));
      for (long long j = 0; j < taken; ++j) sum += std::exp(x.at(i, j) - largest);
      sum += static_cast<double>(512 - taken) * std::exp(-largest);
      for (long long j = 0; j < taken; ++j) ASSERT_NEAR(y.at(i, j), std::exp(x.at(i, j) - largest) / sum, 1e-8) << j;
      for (long long j = taken; j < length; ++j) ASSERT_EQ(y.at(i, j), matrix<float>(3, length).at(i, j));
    }
  }
}

// Rows loaded by loops and ending within the tile are read only up to their ends.
TEST(CudaSpread, RowsThatEndWithAUnitAreReadNoFurther) {
  const TileKernel scaled{"scaled",
                          [](Array<const bfloat16, 2> x, Array<const float, 1> weight, Array<bfloat16, 2> y) {
                            Tile<float> row = tile::cast<float>(tile::load(x, {block_index(), 0}, {512}));
                            Tile<float> apart = row - tile::max(row);
                            tile::store(y, {block_index(), 0},
                                        tile::cast<bfloat16>(apart * tile::load(weight, {0}, {512})));
                          },
                          of_64};
  const CudaOnHost kernel(scaled.ir(), arrays_of_whole_units());
  EXPECT_THAT(kernel.source().text, HasSubstr(".load_if("));
  constexpr long long rows = 3;
  for (const long long length : {512, 504, 256, 8, 520}) {
    SCOPED_TRACE(length);
    const auto count = static_cast<std::size_t>(rows * length);
    const Guarded x(count * sizeof(bfloat16), /*at_end=*/true), y(count * sizeof(bfloat16), /*at_end=*/true),
        weight(static_cast<std::size_t>(length) * sizeof(float), /*at_end=*/true);
    std::vector<bfloat16> values;
    std::vector<float> weights;
    for (std::size_t i = 0; i < count; ++i) values.push_back(bfloat16(static_cast<float>(i * 7 % 64) / 8 + 1));
    for (long long j = 0; j < length; ++j) weights.push_back(static_cast<float>(j % 5) - 2);
    std::memcpy(x.data(), values.data(), count * sizeof(bfloat16));
    std::memcpy(weight.data(), weights.data(), weights.size() * sizeof(float));
    kernel.run({rows}, {strided(x.data(), {rows, length}, {length, 1}), strided(weight.data(), {length}, {1}),
                        strided(y.data(), {rows, length}, {length, 1})});
    std::vector<bfloat16> result(count);
    std::memcpy(result.data(), y.data(), count * sizeof(bfloat16));
    for (long long i = 0; i < rows; ++i) {
      const auto at = [&](const auto &of, long long j) {
        return static_cast<float>(of[static_cast<std::size_t>(i * length + j)]);
      };
      const long long taken = std::min(length, 512ll);
      float largest = 0;  // all are greater; elements outside are zero
      for (long long j = 0; j < taken; ++j) largest = std::max(largest, at(values, j));
      for (long long j = 0; j < taken; ++j)
        ASSERT_EQ(at(result, j),
                  static_cast<float>(bfloat16((at(values, j) - largest) * weights[static_cast<std::size_t>(j)])))
            << i << ' ' << j;
    }
  }
}

TEST(CudaSpread, RowsAndAll) {
  const auto sums = [](auto rows, auto columns) {
    return TileKernel{"sums",
                      [=](FloatIn x, FloatOut of_rows, FloatOut all) {
                        Tile<float> t = tile::load(x, {block_index(), 0}, {rows, columns});
                        tile::store(of_rows, {block_index(), 0}, tile::sum(t * 2, {1}));
                        all(0, block_index()) = tile::min(t);
                      },
                      of_64};
  };
  for (const auto &[rows, columns] : {std::pair{8ll, 64ll}, {3ll, 256ll}, {2ll, 384ll}, {9ll, 132ll}, {5ll, 130ll}}) {
    SCOPED_TRACE(columns);
    const CudaOnHost kernel(sums(rows, columns).ir(), known_arrays());
    EXPECT_FALSE(kernel.source().tile_memory.in_registers.empty());
    Matrix<float> x = matrix<float>(2 * rows, columns), of_rows = matrix<float>(2 * rows, 1), all = matrix<float>(1, 2);
    kernel.run({2}, {x.argument(), of_rows.argument(), all.argument()});
    for (long long b = 0; b < 2; ++b) {
      float least = 1e9f;
      for (long long i = b * rows; i < (b + 1) * rows; ++i) {
        double sum = 0;
        for (long long j = 0; j < columns; ++j) sum += 2.0 * x.at(i, j), least = std::min(least, x.at(i, j));
        ASSERT_NEAR(of_rows.at(i, 0), sum, 1e-4) << i;
      }
      ASSERT_EQ(all.at(0, b), least);
    }
  }
}

// In aligned arrays, four elements are loaded and stored together; in others one by one.
TEST(CudaSpread, ReadsAndWritesInALoop) {
  const TileKernel kernel{"loop",
                          [](FloatIn x, Array<const double, 1> scale, FloatOut y, Array<float, 1> reversed) {
                            Tile<float> t = tile::load(x, {block_index(), 0}, {2, 256});
                            Tile<float> more = t - tile::sum(t);
                            Tile<double> s = tile::load(scale, {0}, {256});
                            Tile<double> scaled = more * tile::reshape(s, {1, 256});
                            tile::store(y, {block_index(), 0}, tile::cast<float>(scaled));
                            const Tile<std::int32_t> place =
                                tile::coordinate({2, 256}, 0) * 256 + (255 - tile::coordinate({2, 256}, 1));
                            tile::scatter_add(reversed, place, more);
                          },
                          of_64};
  const CudaOnHost on_host(kernel.ir(), known_arrays());
  EXPECT_FALSE(on_host.source().tile_memory.in_registers.empty());
  for (const long long length : {256ll, 255ll, 200ll}) {
    SCOPED_TRACE(length);
    Matrix<float> x = matrix<float>(2, length), y = matrix<float>(2, length);
    std::vector<float> reversed(512);
    std::vector<double> scale(256);
    std::iota(scale.begin(), scale.end(), 1.0);
    on_host.run({1}, {x.argument(), array(scale, {256}), y.argument(), array(reversed, {512})});
    const double sum = std::accumulate(x.values.begin(), x.values.end(), 0.0);
    for (long long i = 0; i < 2; ++i)
      for (long long j = 0; j < length; ++j) {
        const double more = x.at(i, j) - sum;
        ASSERT_NEAR(y.at(i, j), more * static_cast<double>(j + 1), 1e-3) << i << ' ' << j;
        ASSERT_NEAR(reversed[static_cast<std::size_t>(i * 256 + 255 - j)], more, 1e-4);
      }
  }
}

// Elements are written where they were read: both may be the same array.
TEST(CudaSpread, InPlace) {
  const TileKernel kernel{"in_place",
                          [](FloatIn x, FloatOut y) {
                            Tile<float> row = tile::load(x, {block_index(), 0}, {512});
                            tile::store(y, {block_index(), 0}, row / tile::sum(row * row));
                          },
                          of_64};
  const CudaOnHost on_host(kernel.ir());
  Matrix<float> x = matrix<float>(2, 512), before = x;
  on_host.run({2}, {x.argument(), x.argument()});
  for (long long i = 0; i < 2; ++i) {
    double sum = 0;
    for (long long j = 0; j < 512; ++j) sum += double(before.at(i, j)) * before.at(i, j);
    for (long long j = 0; j < 512; ++j) ASSERT_NEAR(x.at(i, j), before.at(i, j) / sum, 1e-7);
  }
}

// Compared with the CPU, including the gradient.
TEST(CudaSpread, Adjoint) {
  const TileKernel kernel{"norm",
                          [](Array<const double, 2> x, Array<double, 2> y) {
                            Tile<double> t = tile::load(x, {block_index(), 0}, {2, 256});
                            Tile<double> centred = t - tile::sum(t, {1}) * (1.0 / 256);
                            Tile<double> scale = rsqrt(tile::sum(centred * centred, {1}) + 1e-3);
                            tile::store(y, {block_index(), 0}, centred * scale);
                          },
                          of_64};
  for (const ir::Kernel &each : {kernel.ir(), kernel.definition()->adjoint(3, false).kernel})
    for (const long long length : {256ll, 255ll}) {
      std::vector<Matrix<double>> cpu, cuda;
      for (std::size_t i = 0; i < each.parameters.size(); ++i) cpu.push_back(matrix<double>(4, length));
      cuda = cpu;
      auto arguments = [](std::vector<Matrix<double>> &all) {
        std::vector<Argument> made;
        for (Matrix<double> &one : all) made.push_back(one.argument());
        return made;
      };
      CompiledKernel(each).run({2}, arguments(cpu));
      CudaOnHost(each).run({2}, arguments(cuda));
      for (std::size_t a = 0; a < cpu.size(); ++a)
        for (std::size_t i = 0; i < cpu[a].values.size(); ++i)
          ASSERT_NEAR(cuda[a].values[i], cpu[a].values[i], 1e-11) << each.parameters[a].name << ' ' << i;
    }
}

TileKernel<void(FloatIn, FloatOut)> squares(long long rows, long long columns) {
  return {"squares",
          [=](FloatIn x, FloatOut y) {
            const Tile<float> t = tile::load(x, {block_index(), 0}, {rows, columns});
            tile::store(y, {block_index(), 0}, t * tile::max(t));
          },
          of_64};
}

// The windows of later blocks, some of which reach beyond the array, down and to the right: only existing elements are
// read, and an array may have no rows for the last blocks.
TEST(CudaSpread, FetchesWhatLaterBlocksLoad) {
  constexpr long long rows = 8, columns = 2000, blocks = 515, outside = 13;  // 64 blocks load 4 MB
  const CudaOnHost kernel(squares(rows, 2048).ir(), arrays_in_units());
  EXPECT_THAT(kernel.source().text, HasSubstr("tile_prefetch<8, 2048>"));
  const Matrix<float> x = matrix<float>(rows * blocks - outside, columns);
  Matrix<float> y = x;
  const Guarded guarded(x.values.size() * sizeof(float), /*at_end=*/true);
  std::memcpy(guarded.data(), x.values.data(), x.values.size() * sizeof(float));
  kernel.run({blocks}, {strided(guarded.data(), {x.rows, columns}, {columns, 1}), y.argument()});
  for (long long b = 0; b < blocks; ++b) {
    const long long end = std::min((b + 1) * rows, x.rows);
    float most = 0;  // beyond the row
    for (long long i = b * rows; i < end; ++i)
      for (long long j = 0; j < columns; ++j) most = std::max(most, x.at(i, j));
    for (long long i = b * rows; i < end; ++i)
      for (long long j = 0; j < columns; ++j) ASSERT_EQ(y.at(i, j), x.at(i, j) * most) << i << ' ' << j;
  }
}

// Tiles that are needed as a whole, in another order, or repeatedly, are in shared memory.
TEST(CudaSpread, OtherTilesAreShared) {
  const auto in_registers = [](auto function) {
    const TileKernel kernel{"kernel", function, of_64};
    return emit_for_cuda(kernel.ir(), cuda_options()).tile_memory.in_registers.size();
  };
  EXPECT_EQ(in_registers([](FloatIn x, FloatOut y) {
              tile::store(y, {0, 0}, tile::transpose(tile::load(x, {0, 0}, {32, 32})));
            }),
            0u);
  EXPECT_EQ(in_registers(
                [](FloatIn x, FloatOut y) { tile::store(y, {0, 0}, tile::sum(tile::load(x, {0, 0}, {32, 32}), {0})); }),
            0u);
  EXPECT_EQ(in_registers([](FloatIn x, FloatOut y) {
              tile::store(y, {0, 0}, tile::inclusive_scan(tile::load(x, {0, 0}, {2, 512}), 1));
            }),
            0u);
  EXPECT_EQ(in_registers([](FloatIn x, FloatOut y) { y(0, 0) = tile::sum(tile::load(x, {0, 0}, {512})); }), 2u)
      << "with the sum, which each thread has";
  EXPECT_EQ(in_registers([](FloatIn x, FloatOut y) { y(0, 0) = tile::sum(tile::load(x, {0, 0}, {100})); }), 0u)
      << "less than 4 elements for each thread";
  EXPECT_EQ(in_registers([](FloatIn x, FloatOut y) { y(0, 0) = tile::sum(tile::load(x, {0, 0}, {64, 256})); }), 0u)
      << "256 registers";
}

class CudaSpreadCompile : public CudaCompilerTest {};

TEST_F(CudaSpreadCompile, EveryArchitecture) {
  const TileKernel softmax{"softmax", [](FloatIn x, FloatOut y) {
                             Tile<float> row = tile::load(x, {block_index(), 0}, {8192});
                             Tile<float> e = exp(row - tile::max(row));
                             tile::store(y, {block_index(), 0}, e / tile::sum(e));
                           }};
  expect_compiles(softmax.ir(), true);
  expect_compiles(softmax.definition()->adjoint(3, false).kernel, true);
}

TEST_F(CudaSpreadCompile, WithRowsThatAreFetchedAhead) {
  for (const auto &[rows, columns] : {std::pair{1ll, 8192ll}, {8ll, 512ll}}) {
    const codegen::EmittedSource source = emit_for_cuda(squares(rows, columns).ir(), arrays_in_units());
    EXPECT_THAT(source.text, HasSubstr("tile_prefetch"));
    const auto report =
        compile_cuda({.name = "squares", .text = source.text}, codegen::cuda_prelude(source.text), "sm_90a")
            .image->report();
    EXPECT_EQ(report.kernels.at(0).spill_store_bytes + report.kernels.at(0).local_bytes, 0u);
  }
}

}  // namespace
}  // namespace samite::test
