// How many statements a statement needs.

#include "samite/passes/analysis/slice.h"

#include "tests/passes/transformed.h"

namespace samite::passes {
namespace {

TEST(Slices, CountOperandsAndTheBranchesAround) {
  const ir::Kernel kernel = test::kernel_of(R"(
      %0: f32 = load @a[@i]
      %1: f32 = sin %0
      %2: f32 = cos @x
      %3: bool = gt %2, 0.0
      if %3 -> (%4: f32 = %5 | %1) {
        %5: f32 = mul %2, %2
        store @b[0] = %0
      }
      store @b[1] = %4
      store @b[2] = 1.0)");
  const Slices slices(kernel);
  const std::vector<ir::Stmt> &all = slices.statements();
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(slices.size({}), 0u);
  EXPECT_EQ(slices.size({all[8]}), 1u);  // store @b[2]
  EXPECT_EQ(slices.size({all[1]}), 2u);  // sin, load
  // store @b[0]: the branch with its condition and its results, whatever they need.
  EXPECT_EQ(slices.size({all[6]}), 7u);
  EXPECT_EQ(slices.size({all[7]}), 7u);
  EXPECT_EQ(slices.size({all[7], all[8]}), 8u);
}

}  // namespace
}  // namespace samite::passes
