// NVIDIA's compiler compiles the main loops of compute capability 9.0 as intended: products follow one another without
// waiting, and no register is spilled. It warns otherwise (C7504 to C7518).
#include "samite/codegen/prelude.h"
#include "tests/codegen/sm90_product_test.h"
#include "tests/toolchain/cuda_sample.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Sm90Compile : public CudaCompilerTest {
 protected:
  void SetUp() override {
    CudaCompilerTest::SetUp();
    if (!IsSkipped() && std::ranges::count(nvrtc().architectures, 90) == 0) GTEST_SKIP() << "no compute capability 9.0";
  }
};

std::shared_ptr<const CudaImage> compile(const std::string &text, int threads, const std::string &sum,
                                         const std::string &body) {
  const std::string kernel = text + fmt::format(R"(
namespace samite {{
extern "C" __global__ void __launch_bounds__({}, 1)
    kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, {} *c, i32 columns, i32 steps) {{
{}
}}
}}  // namespace samite
)",
                                                threads, sum, body);
  return compile_cuda({.name = "product", .text = kernel}, codegen::cuda_prelude(kernel), "sm_90a").image;
}

void expect_compiles(const GroupProductShape &shape) {
  SCOPED_TRACE(testing::Message() << shape.kind << ' ' << shape.rows << 'x' << shape.columns << 'x' << shape.terms
                                  << ' ' << shape.transposed_a << shape.transposed_b << ' ' << shape.roles);
  const auto image = compile(group_product_text(shape), shape.threads(), shape.sum,
                             "product_of_block(&a, &b, c, blockIdx.x, blockIdx.y, columns, steps, steps);");
  EXPECT_THAT(image->log(), Not(HasSubstr("C75")));
  const CudaKernelResources needs = image->report().kernels.at(0);
  EXPECT_EQ(needs.spill_store_bytes + needs.spill_load_bytes + needs.local_bytes, 0u);
}

TEST_F(Sm90Compile, ProductsOf16Bits) {
  expect_compiles({});
  expect_compiles({.roles = true});
  expect_compiles({.rows = 64, .columns = 128, .down = 1, .across = 2, .transposed_a = true});
  expect_compiles({.kind = "WgmmaF16", .rows = 256, .columns = 64, .stages = 2, .transposed_b = true});
  expect_compiles({.transposed_a = true, .roles = true, .limited = true});
}

TEST_F(Sm90Compile, ProductsOf32And8Bits) {
  expect_compiles(
      {.kind = "WgmmaTF32", .element = "f32", .bytes = 4, .columns = 64, .terms = 32, .transposed_b = true});
  expect_compiles({.kind = "WgmmaE4M3",
                   .element = "u8",
                   .bytes = 1,
                   .columns = 96,
                   .terms = 128,
                   .transposed_b = true,
                   .roles = true});
  for (const char *kind : {"WgmmaE5M2", "WgmmaE4M3E5M2", "WgmmaE5M2E4M3"})
    expect_compiles({.kind = kind, .element = "u8", .bytes = 1, .columns = 8, .terms = 128, .transposed_b = true});
  for (const char *kind : {"WgmmaI8", "WgmmaU8"})
    expect_compiles(
        {.kind = kind, .element = "u8", .sum = "i32", .bytes = 1, .columns = 16, .terms = 128, .transposed_b = true});
}

TEST_F(Sm90Compile, FewRows) {
  expect_compiles({.rows = 16, .columns = 64, .terms = 128, .down = 1, .roles = true});
  expect_compiles({.kind = "WgmmaE4M3",
                   .element = "u8",
                   .bytes = 1,
                   .rows = 8,
                   .columns = 64,
                   .terms = 256,
                   .stages = 8,
                   .down = 1,
                   .transposed_b = true,
                   .roles = true});
}

TEST_F(Sm90Compile, TurnedProducts) {
  for (GroupProductShape shape :
       {turned_product(256, 128, 1, 2), turned_product(128, 128, 1, 2), turned_product(32, 64, 1, 1)})
    for (const bool roles : {false, true})
      for (const bool together : {false, true}) {
        shape.roles = roles, shape.transposed_b = together;
        expect_compiles(shape);
      }
}

// Sums that are read while products are running, to show that the tests above would notice.
TEST_F(Sm90Compile, TheWarningIsHeard) {
  const GroupProductShape shape{.columns = 64};
  const auto image = compile(group_product_text(shape), shape.threads(), shape.sum, R"(
  f32 sums[Product::registers] = {};
  for (i32 step = 0; step < steps; ++step) {
    begin_products();
    GroupProduct<Product, WgmmaBF16, 64, false, false>::begin(sums, u64(step), u64(step));
    end_group_of_products();
    if (threadIdx.x % 3 == 0) sums[step & 1] += 1;
  }
  wait_for_products<0>();
  add_sums(c, sums, 0, 0, columns);)");
  EXPECT_THAT(image->log(), HasSubstr("C75"));
}

}  // namespace
}  // namespace samite::test
