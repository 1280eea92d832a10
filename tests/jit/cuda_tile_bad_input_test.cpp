// Errors of tile kernels on CUDA, as a program sees them.
#include "samite/jit/definition.h"
#include "samite/jit/failure_report.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Matrices = TileKernel<void(Array<float, 2>, Array<const float, 2>)>;

class CudaTileBadInput : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<Arguments>("turned", [](const Arguments &, const LaunchBox &) {});
  }
  struct Arguments {
    MatrixArgument<float> y, x;
  };

  // y = x transposed, by a tile of that many rows and columns in shared memory.
  static Matrices turned(std::int64_t extent) {
    return {"turned", {"y", "x"}, [=](Array<float, 2> y, Array<const float, 2> x) {
              Tile<float> whole = tile::load(x, {0, 0}, {extent, extent});
              tile::store(y, {0, 0}, tile::transpose(whole));
            }};
  }
};
SAMITE_CUDA_SUITE(CudaTileBadInput);

TEST_P(CudaTileBadInput, MoreSharedMemoryThanTheDeviceHas) {
  Buffer<float> y{device(), {300, 300}}, x{device(), {300, 300}};
  const std::string message = message_of<UserError>([&] { turned(300).launch({1}, y, x); });
  const auto most = static_cast<std::int64_t>(CudaDevice::of(0)->context().limits().shared_bytes_opt_in),
             bytes = std::int64_t{360000};
  EXPECT_THAT(message, AllOf(HasSubstr("kernel 'turned': its tiles take 360000 bytes of a block's shared memory"),
                             HasSubstr("the device has " + std::to_string(most)),
                             HasSubstr(std::to_string(bytes - most) + " bytes too many"),
                             HasSubstr("would fit with " + std::to_string(most / 4))));
  // Each allocation, with its live range and line.
  EXPECT_THAT(message, AllOf(HasSubstr("360000 B at 0: 90000 of f32, statements "), HasSubstr(" to "),
                             HasSubstr("cuda_tile_bad_input_test.cpp:")));
  EXPECT_EQ(message.find("would fit with"), message.rfind("would fit with"));
}

TEST_P(CudaTileBadInput, WhatFitsIsLaunched) {
  Buffer<float> y{device(), {100, 100}}, x{device(), {100, 100}};
  turned(100).launch({1}, y, x);
  y.to_vector();
}

// Rows of 252 bytes are not at multiples of 16: the variant says which loads are slower for it.
TEST_P(CudaTileBadInput, ArraysOfUnalignedRowsAreLoadedElementByElement) {
  const auto in_units = [](const Launch &launch) {
    std::vector<bool> loads;
    for (const codegen::TileLoadSite &site : launch.variant().gpu.tile_loads) {
      EXPECT_THAT(site.where.to_string(), HasSubstr("cuda_tile_bad_input_test.cpp:"));
      loads.push_back(site.in_units);
    }
    return loads;
  };
  const Matrices kernel = turned(32);
  Buffer<float> y{device(), {64, 64}}, aligned{device(), {64, 64}}, unaligned{device(), {64, 63}};
  EXPECT_THAT(in_units(kernel.record({1}, y, aligned)), ElementsAre(true));
  EXPECT_THAT(in_units(kernel.record({1}, y, unaligned)), ElementsAre(false));
}

TEST(TileFailureReport, NoRoomForKeptTiles) {
  jit::Variant variant;
  variant.key.cuda = 90;
  variant.key.direction = Direction::adjoint;
  variant.gpu.form.tile_threads = 128;
  variant.text.sites = {SourceLocation{intern_file("gemm.cpp"), 17}};
  codegen::Failure failure;
  failure.kind = codegen::FailureKind::out_of_memory;
  failure.dimension = 1;
  failure.index = 70000, failure.extent = 65536;
  const auto text = [&] {
    return message_of<DeviceError>([&] { jit::throw_failure(variant, "gemm", "cuda:0", failure); });
  };
  EXPECT_THAT(text(), AllOf(HasSubstr("kernel 'gemm' (adjoint)"),
                            HasSubstr("what the adjoint keeps of the loop, at gemm.cpp:17"),
                            HasSubstr("more than the 65536 bytes for each of the block's 128 threads"),
                            HasSubstr("raise LaunchOptions::cuda.workspace_bytes to 70000 or more"),
                            HasSubstr("LaunchOptions::memory_limit of less than")));
  failure.index = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(text(), HasSubstr("raise LaunchOptions::cuda.workspace_bytes; with a"));
}

}  // namespace
}  // namespace samite::test
