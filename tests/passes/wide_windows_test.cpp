// The conditions for wider windows of a gathered gradient, and the changes: the tiles of both factors and of the
// product.
#include "samite/passes/adjoint/wide_windows.h"

#include "samite/ir/parse.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using namespace ir;

// The gradient of A in the adjoint of C[i, j] = A[i, k] B[k, j]: blocks of 64 x 64, and `terms` in a step. `step`: the
// columns of A from one window to the next. `of_b`: the first element of B's windows.
struct AdjointShape {
  int terms = 16, step = 16;
  std::string of_b = "%7, %3";
};

std::optional<WideWindows> widened(const AdjointShape &shape) {
  const std::string terms = std::to_string(shape.terms);
  const Kernel kernel = parse_kernel(
      "kernel @k(@a: array<const f32, 2>, @b: array<const f32, 2>, @c: array<const f32, 2>, "
      "@ag: gradient of @a array<f32, 2>, @cg: gradient of @c array<f32, 2>) blocks 2 of 64 { "
      "%0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 64 %3: i32 = mul %1, 64 "
      "%4: i32 = extent @a, 1 %5: i32 = div %4, " +
      terms + " %20: tile<f32, 64, 64> = exchange @cg[%2, %3] for %6: i32 in 0 .. %5 step 1 { %7: i32 = mul %6, " +
      std::to_string(shape.step) + " %21: tile<f32, " + terms + ", 64> = load @b[" + shape.of_b + "] " +
      "%22: tile<f32, 64, " + terms + "> = matmul %20, transposed %21, 0.0:tile<f32, 64, " + terms + "> " +
      "accumulate atomic @ag[%2, %7] += %22 } }");
  verify(kernel, Form::structured, "the test");
  std::vector<Stmt> slice;
  const For *loop = nullptr;
  const Accumulate *added = nullptr;
  const Let *product = nullptr;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const auto *let = stmt.as<Let>()) {
      slice.push_back(stmt);
      if (let->value.op == Op::MatMul) product = let;
    }
    if (const auto *own = stmt.as<For>()) loop = own;
    if (const auto *own = stmt.as<Accumulate>()) added = own;
  });
  const IndexForms forms(kernel);
  return wide_windows(*added, *product, slice, *loop, /*freed=*/1, forms);
}

// Four windows of 16 columns are as wide as the forward's tile: a step has 16 of a block's 64 terms.
TEST(WideWindows, NeighboursAreOneWindow) {
  const auto wide = widened({});
  ASSERT_TRUE(wide.has_value());
  EXPECT_EQ(wide->by, 4);
  EXPECT_EQ(wide->dimension, 1);
  EXPECT_EQ(wide->extent, 16);
  EXPECT_EQ(wide->rest, 0);
  EXPECT_EQ(wide->loads, (std::array<LocalId, 2>{20, 21}));
  EXPECT_EQ(wide->along_terms, (std::array{1, 1}));
  EXPECT_EQ(wide->types.at(20), Type(ScalarType::Float32, TileShape{64, 16}));
  EXPECT_EQ(wide->types.at(21), Type(ScalarType::Float32, TileShape{64, 16}));
  EXPECT_EQ(wide->types.at(22), Type(ScalarType::Float32, TileShape{64, 64}));
}

TEST(WideWindows, NotWhereWindowsAreNoNeighbours) {
  EXPECT_FALSE(widened({.step = 32})) << "there are columns between them";
  EXPECT_FALSE(widened({.of_b = "%7, %2"})) << "the terms are not those of the block";
  EXPECT_FALSE(widened({.terms = 64, .step = 64})) << "they are as wide as the forward's tile";
  EXPECT_FALSE(widened({.terms = 24, .step = 24})) << "24 columns do not divide 64";
}

}  // namespace
}  // namespace samite::passes
