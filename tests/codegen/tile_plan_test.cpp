// The placement of a product's tiles on CUDA, their sizes, and the message if they are too large.
#include "samite/base/error.h"
#include "samite/codegen/prelude.h"
#include "samite/ir/print.h"
#include "samite/samite.h"
#include "samite/toolchain/cuda_compiler.h"
#include "tests/codegen/cuda_on_host.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/format.h>

namespace samite::test {
namespace {

template <class T, class C = lang::Accumulator<T>, class Stored = C>
ir::Kernel gemm(std::int64_t rows, std::int64_t columns, std::int64_t inner, int stages, TileOptions options = {},
                tile::Precision precision = tile::Precision::full) {
  const TileKernel kernel{"gemm",
                          [=](Array<const T, 2> a, Array<const T, 2> b, Array<Stored, 2> c) {
                            auto [i, j] = block_index<2>();
                            Tile<C> sum = tile::zeros<C>({rows, columns});
                            const Int steps = tile::ceil_div(a.extent(1), static_cast<int>(inner));
                            for (Int k : range(steps, pipelined(stages)))
                              tile::matmul(tile::load(a, {i, k}, {rows, inner}),
                                           tile::load(b, {k, j}, {inner, columns}), sum, precision);
                            if constexpr (std::is_same_v<Stored, C>)
                              tile::store(c, {i, j}, sum);
                            else
                              tile::store(c, {i, j}, tile::cast<Stored>(sum));
                          },
                          options};
  return kernel.ir();
}

passes::TileMemoryPlan plan(const ir::Kernel &kernel) { return emit_for_cuda(kernel, cuda_options()).tile_memory; }

TEST(TilePlan, SumsAreInRegisters) {
  const passes::TileMemoryPlan own = plan(gemm<float>(128, 128, 16, 1));
  ASSERT_EQ(own.in_registers.size(), 1u);
  EXPECT_EQ(own.in_registers[0].registers, 128 * 128 / 256);
  EXPECT_EQ(own.bytes, 2 * 128 * 16 * 4);
}

// Pairs of B's columns are read together if the warps have whole pieces of them.
TEST(TilePlan, ProductsInTF32AreTurned) {
  const auto turned = [](int rows, int columns) {
    const auto source = emit_for_cuda(gemm<float>(rows, columns, 32, 1, {}, tile::Precision::tf32), cuda_options());
    return source.text.find("TransposedMatrixPieces") != std::string::npos;
  };
  EXPECT_TRUE(turned(128, 128));
  EXPECT_TRUE(turned(40, 32));
  EXPECT_FALSE(turned(32, 40));
}

TEST(TilePlan, OrWhereTheUserSays) {
  const passes::TileMemoryPlan own = plan(gemm<float>(128, 128, 16, 1, {.sums_in_shared_memory = true}));
  EXPECT_TRUE(own.in_registers.empty());
  EXPECT_EQ(own.bytes, (2 * 128 * 16 + 128 * 128) * 4);
}

// Tiles that are too small for 4 by 4 elements of each thread have single ones.
TEST(TilePlan, SmallSumsAreSpreadOverAllThreads) {
  const auto registers = [](int rows, int columns) {
    return plan(gemm<float>(rows, columns, 16, 1)).in_registers.at(0).registers;
  };
  EXPECT_EQ(registers(64, 64), 16);
  EXPECT_EQ(registers(32, 32), 4);
  EXPECT_EQ(registers(16, 16), 1);
  EXPECT_EQ(registers(8, 8), 1);
}

// Sums may take at most 128 registers of a thread.
TEST(TilePlan, LargeSumsAreInSharedMemory) {
  EXPECT_EQ(plan(gemm<float>(128, 128, 16, 1, {.threads = 128})).in_registers.size(), 1u);
  EXPECT_TRUE(plan(gemm<float>(128, 128, 16, 1, {.threads = 64})).in_registers.empty());
  EXPECT_TRUE(plan(gemm<double>(128, 128, 16, 1, {.threads = 128})).in_registers.empty());
}

// At an array's edge, where sums are stored one by one from the front of their registers.
TEST(TilePlan, SumsGoAroundInEightTurnsAtMost) {
  const auto turns_by = [](std::int64_t rows, std::int64_t columns, int threads, int front) {
    const std::string text = plan_text(gemm<bfloat16>(rows, columns, 32, 1, {.threads = threads}));
    return text.find(fmt::format(" rotates {} ", front)) != std::string::npos;
  };
  EXPECT_TRUE(turns_by(128, 256, 256, 16)) << "128 sums of a thread";
  EXPECT_TRUE(turns_by(64, 64, 64, 8));
  EXPECT_TRUE(turns_by(64, 64, 256, 2)) << "16, and two lie together";
  EXPECT_TRUE(turns_by(16, 16, 64, 2));
}

TEST(TilePlan, EachStageHasItsBuffers) {
  EXPECT_EQ(plan(gemm<float>(128, 128, 16, 3)).bytes, 3 * 2 * 128 * 16 * 4);
  EXPECT_EQ(plan(gemm<bfloat16>(128, 128, 32, 4)).bytes, 4 * 2 * 128 * 32 * 2);
}

// No load is prefetched if the same loop may write to its array.
TEST(TilePlan, LoopsThatWriteToArraysLoadInTurn) {
  const TileKernel kernel{"in_turn", [](Array<float, 2> x, Array<float, 2> y) {
                            Tile<float> sum = tile::zeros<float>({16, 16});
                            for (Int k : range(4, pipelined(3))) {
                              Tile<float> t = tile::load(x, {k, 0}, {16, 16});
                              tile::matmul(t, t, sum);
                              tile::store(x, {k + 1, 0}, sum);
                            }
                            tile::store(y, {0, 0}, sum);
                          }};
  for (const passes::PlacedTile &tile : plan(kernel.ir()).tiles) EXPECT_EQ(tile.stages, 1);
}

// The arrays' layout determines which loads take the slower path.
TEST(TilePlan, LoadsInUnits) {
  auto in_units = [](const ir::Kernel &kernel, bool aligned) {
    codegen::EmitOptions options = cuda_options();
    for (codegen::ArrayFacts &array : options.arrays) array.aligned_rows = aligned;
    std::vector<bool> found(2);
    for (const codegen::TileLoadSite &site : emit_for_cuda(kernel, options).tile_loads) {
      EXPECT_TRUE(site.where.known());
      found.at(site.array) = site.in_units;
    }
    return found;
  };
  EXPECT_EQ(in_units(gemm<float>(32, 32, 16, 3), true), (std::vector{true, true}));
  EXPECT_EQ(in_units(gemm<float>(32, 32, 16, 3), false), (std::vector{false, false}));
  EXPECT_EQ(in_units(gemm<float>(32, 32, 15, 1), true), (std::vector{false, true}));
}

// A tile that is only transposed on its way to an array has no memory besides the one it was loaded into.
TEST(TilePlan, WhatIsStoredElsewhereNeedsNoMemoryBeforehand) {
  const TileKernel kernel{"exchange", [](Array<float, 2> y, Array<const float, 2> x) {
                            Tile<float> keep = tile::load(x, {0, 0}, {64, 64});
                            tile::store(y, {1, 0}, tile::transpose(tile::load(x, {1, 0}, {64, 64})));
                            tile::store(y, {0, 0}, tile::transpose(keep));
                          }};
  EXPECT_EQ(plan(kernel.ir()).bytes, 32768);
  const TileKernel scaled{"scaled", [](Array<float, 2> y, Array<const float, 2> x) {
                            Tile<float> keep = tile::load(x, {0, 0}, {64, 64});
                            tile::store(y, {1, 0}, tile::transpose(tile::load(x, {1, 0}, {64, 64})));
                            tile::store(y, {0, 0}, tile::transpose(keep) * 2 + 1);
                          }};
  EXPECT_EQ(plan(scaled.ir()).bytes, 32768);
}

// A mask is stored as bytes; coordinates are recomputed.
TEST(TilePlan, MasksAreBytes) {
  const TileKernel kernel{"masked", [](Array<float, 2> y, Array<const float, 2> x) {
                            Tile<int> row = tile::reshape(tile::arange(64), {1, 64}),
                                      column = tile::reshape(row, {64, 1});
                            Tile<bool> lower = column >= row;
                            Tile<float> t = select(lower, tile::load(x, {0, 0}, {64, 64}), 0.f);
                            Tile<float> sums = tile::sum(t, {1});
                            tile::store(y, {0, 0}, select(lower, t / sums, 0.f));
                            tile::store(y, {1, 0}, select(tile::transpose(lower), t / sums, 0.f));
                          }};
  for (const passes::PlacedTile &tile : plan(kernel.ir()).tiles) {
    if (tile.elements != 64 * 64) continue;
    EXPECT_TRUE(tile.type == ScalarType::Bool || tile.type == ScalarType::Float32) << plan(kernel.ir()).to_string();
    EXPECT_EQ(tile.bytes, tile.type == ScalarType::Bool ? 4096 : 16384);
  }
}

TEST(TilePlan, TooLarge) {
  const passes::TileMemoryPlan own = plan(gemm<float>(128, 128, 128, 2));
  EXPECT_EQ(own.bytes, 2 * 2 * 128 * 128 * 4);
  EXPECT_EQ(own.too_large(own.bytes), "");
  const std::string text = own.too_large(232448);
  EXPECT_NE(text.find("29696 bytes too many"), text.npos) << text;
  EXPECT_NE(text.find("16384 elements at"), text.npos) << text;
  EXPECT_NE(text.find("tile_plan_test.cpp:"), text.npos) << text;
  EXPECT_NE(text.find("would fit with 12672, or with fewer stages of its loop"), text.npos) << text;
  EXPECT_NE(own.too_large(1000).find("make several of them smaller"), text.npos);
  EXPECT_NE(own.to_string().find("131072 B at 0: 16384 of f32, 2 times, statements "), text.npos) << own.to_string();
  EXPECT_NE(own.to_string().find("64 elements in each thread's registers: 16384 of f32"), text.npos);
}

TEST(TilePlan, StagesOutOfRange) {
  for (int stages : {0, 17}) try {
      gemm<float>(16, 16, 16, stages);
      ADD_FAILURE() << "no error";
    } catch (const UserError &error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("tile_plan_test.cpp:"), text.npos) << text;
      EXPECT_NE(text.find("pipelined(" + std::to_string(stages) + "): a loop has 1 to 16 stages"), text.npos) << text;
    }
}

TEST(TilePlan, PrecisionOfOtherTypes) {
  try {
    gemm<double>(16, 16, 16, 1, {}, tile::Precision::tf32);
    ADD_FAILURE() << "no error";
  } catch (const UserError &error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("tile_plan_test.cpp:"), text.npos) << text;
    EXPECT_NE(text.find("factors of f64 with Precision::tf32"), text.npos) << text;
  }
}

// The parser reads what the printer wrote.
TEST(TilePlan, LoweredTextIsParsed) {
  const ir::Kernel lowered = passes::lower_tiles(
      gemm<float>(32, 32, 16, 3, {.sums_in_shared_memory = true}, tile::Precision::tf32), passes::gpu_architecture(90));
  const std::string text = ir::to_string(lowered);
  EXPECT_NE(text.find("tile_load"), text.npos) << text;
  EXPECT_NE(text.find(" stages 3"), text.npos) << text;
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

// No product of the usual sizes spills registers, on any architecture.
class TilePlanCompile : public CudaCompilerTest {};

TEST_F(TilePlanCompile, ProductsFitIntoRegisters) {
  auto expect_fits = [](const char *name, const ir::Kernel &kernel) {
    const codegen::EmittedSource source = emit_for_cuda(kernel, cuda_options());
    for (const std::string &architecture : cuda_architectures()) {
      const auto report =
          compile_cuda({.name = name, .text = source.text}, codegen::cuda_prelude(source.text), architecture)
              .image->report();
      ASSERT_EQ(report.kernels.size(), 1u);
      const CudaKernelResources &needs = report.kernels[0];
      EXPECT_EQ(needs.spill_store_bytes + needs.spill_load_bytes + needs.local_bytes, 0u)
          << name << ' ' << architecture << ' ' << report.to_string();
      EXPECT_EQ(needs.shared_bytes, 0u) << "all of it is asked for when it is launched";
      if (std::getenv("SAMITE_TEST_SHOW"))
        std::cout << name << ' ' << architecture << ": " << report.to_string() << source.tile_memory.to_string();
    }
  };
  expect_fits("f32", gemm<float>(128, 128, 16, 3));
  expect_fits("tf32", gemm<float>(128, 128, 32, 3, {}, tile::Precision::tf32));
  expect_fits("bf16", gemm<bfloat16>(128, 128, 32, 4));
  expect_fits("f16", gemm<half>(128, 128, 64, 3));
  expect_fits("f16, stored as f16", gemm<half, float, half>(128, 128, 32, 4));
  expect_fits("e4m3", gemm<f8e4m3>(128, 128, 64, 3));
  expect_fits("e5m2", gemm<f8e5m2>(128, 128, 64, 3));
  expect_fits("f64", gemm<double>(64, 64, 16, 3, {.threads = 128}));
  expect_fits("int8", gemm<std::int8_t>(64, 128, 32, 2));
}

}  // namespace
}  // namespace samite::test
