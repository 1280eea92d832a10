// The objects of a kernel's variants on the CPU: heavy operations on tiles, each compiled once, when it is first
// called. For CUDA a variant is a single text.
#include "samite/jit/definition.h"
#include "samite/jit/pipeline.h"
#include "samite/samite.h"
#include "tests/toolchain/cuda_sample.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

auto scaled_product(int rows, float factor = 1) {
  return TileKernel{"product",
                    [=](Array<const float, 2> a, Array<const float, 2> b, Array<float, 2> c) {
                      Tile<float> x = tile::load(a, {0, 0}, {rows, 4}), y = tile::load(b, {0, 0}, {4, 8});
                      tile::store(c, {0, 0}, factor * tile::matmul(x, y));
                    },
                    TileOptions{.threads = 64}};
}

constexpr std::uint64_t a = 1, b = 2, c = 4;  // parameters that track gradients

// Without a launch, so that the code for CUDA is made without a GPU.
std::shared_ptr<const jit::Variant> variant(const auto &kernel, std::uint64_t active = 0, int cuda = 0) {
  const jit::VariantKey key{.direction = active != 0 ? Direction::adjoint : Direction::forward,
                            .cuda = cuda,
                            .derivative = {.active = active},
                            .arrays = {.unit_stride = a | b | c}};
  return kernel.definition()->variant(key);
}

std::vector<std::string> operations(const jit::Variant &variant) {
  std::vector<std::string> operations;
  for (const codegen::EmittedObject &object : variant.host.objects) operations.push_back(object.operation);
  return operations;
}

int built(const jit::Variant &variant) {
  return static_cast<int>(std::ranges::count_if(variant.host.compile.objects, &ObjectReport::built));
}

class TileObjects : public testing::Test {
 protected:
  TemporaryFolder folder_;
  EnvironmentVariable cache_{"SAMITE_CACHE_DIR", folder_.path() / "cache"};
};

TEST_F(TileObjects, AForwardKernelHasItsProductAlone) {
  const int before = host_compile_count();
  const auto forward = variant(scaled_product(9));
  EXPECT_THAT(operations(*forward), ElementsAre("matmul f32 9x8 of f32 9x4, f32 4x8"));
  EXPECT_EQ(built(*forward), 2) << "the kernel and the product";
  EXPECT_EQ(host_compile_count() - before, 2);
}

TEST_F(TileObjects, AnAdjointHasWhatItsActiveOperandsNeed) {
  const auto kernel = scaled_product(10);
  EXPECT_THAT(operations(*variant(kernel, a | c)), ElementsAre("matmul f32 10x4 of f32 10x8, f32 4x8"));
  EXPECT_THAT(operations(*variant(kernel, b | c)), ElementsAre("matmul f32 4x8 of f32 10x4, f32 10x8"));
  int before = host_compile_count();
  const auto both = variant(kernel, a | b | c);
  EXPECT_EQ(both->host.objects.size(), 2u);
  EXPECT_EQ(built(*both), 1) << "the kernel: both products are there already";
  EXPECT_EQ(host_compile_count() - before, 1);
}

TEST_F(TileObjects, AnAdjointWithoutTrackedFactorsHasNone) {
  EXPECT_THAT(operations(*variant(scaled_product(11), c)), IsEmpty());
}

TEST_F(TileObjects, AnEditedKernelIsCompiledAlone) {
  variant(scaled_product(12));
  const int before = host_compile_count();
  const auto edited = variant(scaled_product(12, 2));
  EXPECT_EQ(host_compile_count() - before, 1);
  const std::vector<ObjectReport> &all = edited->host.compile.objects;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].built());
  EXPECT_EQ(all[1].from, ObjectReport::From::memory);
}

TEST_F(TileObjects, EachHeavyOperationIsOne) {
  const TileKernel kernel{"heavy",
                          [](Array<double, 2> x) {
                            const auto load = [&](int i) { return tile::load(x, {i, 0}, {6, 6}); };
                            Tile<double> first = tile::matmul(load(0), load(1)),
                                         second = tile::matmul(load(2), load(3));
                            Tile<double> l = tile::cholesky(first), y = tile::solve_triangular(l, second);
                            tile::store(x, {0, 0}, tile::sort(y));
                          },
                          TileOptions{.threads = 64}};
  std::vector<std::string> names;
  for (const std::string &operation : operations(*variant(kernel)))
    names.push_back(operation.substr(0, operation.find(' ')));
  EXPECT_THAT(names, ElementsAre("matmul", "cholesky", "triangular_solve", "sort_order")) << "one for both products";
}

TEST_F(TileObjects, CudaHasOneText) {
  try {
    nvrtc();
  } catch (const DeviceError &) {
    GTEST_SKIP() << "NVRTC is not installed: scripts/install-cuda-toolchain build/cuda-toolchain";
  }
  for (const int cuda : {80, 90}) {
    const int before = cuda_compile_count();
    const auto adjoint = variant(scaled_product(13), a | b | c, cuda);
    EXPECT_EQ(cuda_compile_count() - before, 1);
    EXPECT_TRUE(adjoint->host.objects.empty());
  }
}

}  // namespace
}  // namespace samite::test
