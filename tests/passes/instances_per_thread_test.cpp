#include "samite/passes/threads/instances_per_thread.h"

#include "samite/ir/parse.h"
#include "samite/passes/threads/lower_threads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace samite::passes {
namespace {

constexpr const char *streaming_axpy = R"(kernel @axpy(@y: array<f32, 1>, @x: array<const f32, 1>, @a: f32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @x[%0]
  %2: f32 = mul %1, @a
  %3: f32 = load @y[%0]
  %4: f32 = add %2, %3
  store @y[%0] = %4
})";

TEST(InstancesPerThread, WhichKernelsGain) {
  const auto worth = [](std::string_view text) {
    return worthwhile_instances_per_thread(lower_threads(ir::parse_kernel(text)));
  };
  EXPECT_EQ(worth(streaming_axpy), 4);
  EXPECT_EQ(worth(R"(kernel @k(@y: array<f64, 1>, @x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    %2: f64 = cast %1
    store @y[%0] = %2
  })"),
            2);
  EXPECT_EQ(worth(R"(kernel @k(@y: array<f16, 1>) threads 1 {
    %0: i32 = thread_index 0
    store @y[%0] = 0.0:f16
  })"),
            8);
  EXPECT_EQ(worth(R"(kernel @transposed(@y: array<f32, 2>) threads 2 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    store @y[%1, %0] = 0.0
  })"),
            1);
  const auto loop = [](const char *element, const char *end) {
    return fmt::format(R"(kernel @loop(@y: array<f32, 1>, @x: array<const f32, 1>, @n: i32) threads 1 {{
      %0: i32 = thread_index 0
      for %1: i32 in 0..{} step 1 {{
        %2: f32 = load @x[{}]
        accumulate @y[%0] += %2
      }}
    }})",
                       end, element);
  };
  EXPECT_EQ(worth(loop("%1", "@n")), 4);
  EXPECT_EQ(worth(loop("%0", "@n")), 1);  // nothing to share
  EXPECT_EQ(worth(loop("%1", "%0")), 1);  // not alike
}

TEST(InstancesPerThread, ALaunchMustFillTheDevice) {
  const auto instances = [](std::vector<std::int64_t> extents) { return instances_per_thread(4, extents, 100); };
  EXPECT_EQ(instances({1 << 20}), 4);
  EXPECT_EQ(instances({192 * 100 * 4 - 1}), 2);
  EXPECT_EQ(instances({192 * 100 * 2 - 1}), 1);
  EXPECT_EQ(instances({1 << 20, 64}), 2);  // a row would not fill a warp
  EXPECT_EQ(instances({1 << 20, 3}), 1);
  EXPECT_EQ(instances_per_thread(1, std::vector<std::int64_t>{1 << 30}, 100), 1);
}

TEST(InstancesPerThread, AMultiprocessorRunsSoManyBlocksAtOnceAsRegistersAllow) {
  ir::Kernel kernel = ir::parse_kernel(streaming_axpy);
  EXPECT_EQ(blocks_at_once(kernel, {.threads = 256, .instances_of_thread = 1, .march = 1}), 0)
      << "the compiler decides";
  EXPECT_EQ(blocks_at_once(kernel, {.threads = 256, .instances_of_thread = 4, .march = 1}), 2);
  EXPECT_EQ(blocks_at_once(kernel, {.threads = 256, .instances_of_thread = 4, .march = 5}), 3);
  EXPECT_EQ(blocks_at_once(kernel, {.threads = 1024, .instances_of_thread = 4, .march = 1}), 1) << "one at least";
  kernel.parameters[0].role = ir::Role::Gradient;
  EXPECT_EQ(blocks_at_once(kernel, {.threads = 256, .instances_of_thread = 4, .march = 5}), 2) << "an adjoint";
}

}  // namespace
}  // namespace samite::passes
