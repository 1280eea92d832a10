// Threads that run several instances one after another (passes/threads/march.h): all instances run.
#include "tests/codegen/cuda_on_host.h"
#include "tests/passes/marching_stencil.h"

#include <gmock/gmock.h>

#include <string>

namespace samite::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MarchingThreads, AllInstancesRunAndNoOthers) {
  for (const int depth : {1, 4, 5, 6, 11})
    for (const int side_by_side : {1, 4}) {
      codegen::EmitOptions options = cuda_options();
      options.cuda.march = 5;
      options.cuda.instances_per_thread = side_by_side;
      for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = facts.aligned_rows = true;
      const CudaOnHost kernel(marching_stencil, options);
      const int height = 3, width = 12;
      std::vector<float> x(static_cast<std::size_t>((depth + 1) * height * width)), y(x.size(), -1.0f);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 101);
      kernel.run({depth, height, width}, {array(y, {depth + 1, height, width}), array(x, {depth + 1, height, width})});
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t next = i + static_cast<std::size_t>(height * width);
        EXPECT_EQ(y[i], next < x.size() ? x[next] - x[i] : -1.0f) << depth << ' ' << i;
      }
    }
}

TEST(MarchingThreads, WhatIsNotReadAgainIsNotKeptInCaches) {
  codegen::EmitOptions options = cuda_options();
  options.cuda.march = 5;
  options.cuda.instances_per_thread = 4;
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = facts.aligned_rows = true;
  EXPECT_THAT(emit_for_cuda(marching_stencil, options).text, HasSubstr("store_pack_streaming(&p0"));
  std::string both = marching_stencil;
  both.insert(both.find("store"), "%7: f32 = load @y[%0, %1, %2]\n");
  EXPECT_THAT(emit_for_cuda(both, options).text, Not(HasSubstr("streaming")));
}

}  // namespace
}  // namespace samite::test
