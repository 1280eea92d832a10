// Several neighbours on one thread: the text, and its results.
#include "samite/passes/threads/instances_per_thread.h"
#include "tests/codegen/cuda_on_host.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

codegen::EmitOptions side_by_side(int instances, bool aligned = true, bool unaliased = true) {
  codegen::EmitOptions options = cuda_options();
  options.cuda.instances_per_thread = instances;
  options.cuda.threads_per_block = 32;
  for (codegen::ArrayFacts &facts : options.arrays) facts.aligned_rows = aligned, facts.unaliased = unaliased;
  return options;
}

constexpr const char *plain_axpy = R"(kernel @axpy(@y: array<f32, 1>, @x: array<const f32, 1>, @a: f32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @x[%0]
  %2: f32 = mul %1, @a
  %3: f32 = load @y[%0]
  %4: f32 = add %2, %3
  store @y[%0] = %4
})";

TEST(CudaSideBySide, NeighboursAreLoadedAndStoredAtOnce) {
  const std::string text = emit_for_cuda(plain_axpy, side_by_side(4)).text;
  EXPECT_THAT(text,
              AllOf(HasSubstr("load_constant_pack<4>(&p1.data[v8]);"), HasSubstr("load_pack<4>(&p0.data[v8]);"),
                    HasSubstr("v33 = v25 + v29;"), HasSubstr("store_pack(&p0.data[v8], Pack<f32, 4>{{f32(v30), ")));
  EXPECT_THAT(emit_for_cuda(plain_axpy, side_by_side(4, false)).text, Not(HasSubstr("pack")));
}

TEST(CudaSideBySide, ThreadsHaveThe128RegistersThatTheyMayNeed) {
  EXPECT_THAT(plan_text(ir::parse_kernel(plain_axpy), side_by_side(4)), HasSubstr("threads 1 at_once 2 {"));
  EXPECT_THAT(plan_text(ir::parse_kernel(plain_axpy), side_by_side(1)), Not(HasSubstr("at_once")));
}

// Neighbours of neighbours come from the row that is loaded anyway.
TEST(CudaSideBySide, AShiftedLoadTakesFromTheAlignedOne) {
  const std::string text = emit_for_cuda(R"(kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = add %0, 1
    %2: f32 = load @x[%1]
    %3: f32 = load @x[%0]
    %4: f32 = add %2, %3
    store @y[%0] = %4
  })",
                                         side_by_side(4))
                               .text;
  EXPECT_THAT(text, AllOf(HasSubstr("const f32 v21 = g1.at[3];"), HasSubstr("const i32 v17 = v8 + 4;"),
                          HasSubstr("const f32 v25 = load_constant(&p1.data[v17]);"),
                          HasSubstr("const f32 v32 = v21 + v20;"), HasSubstr("const f32 v33 = v25 + v21;")));
}

// 64-bit indices of neighbours are adjacent, as in 32 bits. In 16 bits they are not: 32767 has no neighbour.
TEST(CudaSideBySide, AnIndexMayBeCast) {
  const auto text = [](const std::string &type) {
    return emit_for_cuda(
               "kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>) threads 1 { %0: i32 = thread_index 0 "
               "%1: " +
                   type + " = cast %0 %2: " + type + " = add %1, 1:" + type +
                   " %3: i64 = cast %2 %4: i64 = sub %3, 1:i64 %5: f32 = load @x[%4] store @y[%0] = %5 }",
               side_by_side(4))
        .text;
  };
  EXPECT_THAT(text("i64"), HasSubstr("load_constant_pack<4>(&p1.data[v"));
  EXPECT_THAT(text("i16"), AllOf(Not(HasSubstr("load_constant_pack")), HasSubstr("store_pack")));
}

TEST(CudaSideBySide, NeighboursAreAddedToAtOnce) {
  constexpr const char *text = R"(kernel @k(@y: array<T, 1>, @x: array<const T, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: T = load @x[%0]
    accumulate atomic @y[%0] += %1
  })";
  const auto of = [&](const char *type) {
    std::string kernel = text;
    for (std::size_t at; (at = kernel.find('T')) != std::string::npos;) kernel.replace(at, 1, type);
    return emit_for_cuda(kernel, side_by_side(4)).text;
  };
  EXPECT_THAT(of("f32"), HasSubstr("atomic_add_pack(&p0.data[v5], Pack<f32, 4>{{f32(v11), "));
  EXPECT_THAT(of("f64"),
              AllOf(HasSubstr("const i32 v10 = v5 + 3;"), HasSubstr("atomic_add<f64>(&p0.data[v10], v14);")));
}

// A stencil with all that matters: a condition on which neighbours differ, shifted and aligned loads, stores, plain and
// atomic additions, an exchange, and values that all neighbours share.
constexpr const char *stencil_with_sums =
    R"(kernel @stencil(@y: array<f32, 2>, @x: array<const f32, 2>, @g: array<f32, 2>,
                                                   @sum: array<f32, 1>, @b: f32) threads 2 {
  %0: i32 = thread_index 0
  %1: i32 = thread_index 1
  %2: i32 = extent @x, 1
  %3: i32 = sub %2, 2
  %4: bool = gt %1, 0
  %5: bool = lt %1, %3
  %6: bool = and %4, %5
  %7: f32 = load @x[%0, 0]
  if %6 -> (%20: f32 = %19 | %7) {
    %8: i32 = sub %1, 1
    %9: i32 = add %1, 1
    %10: i32 = add %1, 2
    %11: f32 = load @x[%0, %8]
    %12: f32 = load @x[%0, %1]
    %13: f32 = load @x[%0, %9]
    %14: f32 = load @x[%0, %10]
    %15: f32 = sub %11, %12
    %16: f32 = mul %13, %14
    %17: f32 = mul %16, @b
    %18: f32 = add %15, %17
    %19: f32 = add %18, %7
    accumulate atomic @sum[%9] += %12
    accumulate atomic @sum[%1] += %14
    accumulate @g[%0, %1] += %13
  }
  %21: f32 = exchange @g[%0, %1]
  %22: f32 = add %20, %21
  store @y[%0, %1] = %22
  %23: bool = gt %0, 1
  if %23 {
    accumulate @g[%0, %1] += %22
  } else {
    store @g[%0, %1] = 7.0
  }
  accumulate atomic @sum[0] += 1.0
})";

TEST(CudaSideBySide, AStencilGains) {
  EXPECT_EQ(passes::worthwhile_instances_per_thread(passes::lower_threads(ir::parse_kernel(stencil_with_sums))), 4);
}

// As the CPU has it.
TEST(CudaSideBySide, AStencilIsWhatItIsOneByOne) {
  for (const int width : {1, 3, 4, 16, 37, 200})
    for (const int instances : {1, 2, 4, 8})
      for (const bool grid_stride : {false, true})
        for (const bool aligned : {false, true}) {
          const int stride = (width + 7) / 8 * 8;
          const auto count = static_cast<std::size_t>(3 * stride);
          std::vector<float> x(count), g(count), y(count), sum(static_cast<std::size_t>(width + 2));
          for (std::size_t i = 0; i < count; ++i)
            x[i] = static_cast<float>(i % 7), g[i] = static_cast<float>(i % 5), y[i] = 100;
          std::vector<float> expected_g = g, expected_y = y, expected_sum = sum;
          auto rows = [&](std::vector<float> &data) { return strided(data.data(), {3, width}, {stride, 1}); };
          CompiledKernel(stencil_with_sums)
              .run({3, width}, {rows(expected_y), rows(x), rows(expected_g), array(expected_sum), scalar(0.5f)});

          codegen::EmitOptions options = side_by_side(instances, aligned);
          options.cuda.grid_stride = grid_stride;
          CudaOnHost(stencil_with_sums, options).run({3, width}, {rows(y), rows(x), rows(g), array(sum), scalar(0.5f)});
          EXPECT_EQ(y, expected_y) << width << ' ' << instances;
          EXPECT_EQ(g, expected_g) << width << ' ' << instances;
          EXPECT_EQ(sum, expected_sum) << width << ' ' << instances;
        }
}

TEST(CudaSideBySide, ElementsOfOtherSizes) {
  for (const char *type : {"f16", "bf16", "f64", "i8", "u64", "bool"}) {
    std::string text = R"(kernel @k(@y: array<T, 1>, @x: array<const T, 1>, @z: array<T, 1>) threads 1 {
      %0: i32 = thread_index 0
      %1: T = load @x[%0]
      %2: T = load @z[%0]
      store @y[%0] = %1
      store @z[%0] = %1
      store @y[%0] = %2
    })";
    for (std::size_t at; (at = text.find('T')) != std::string::npos;) text.replace(at, 1, type);
    const std::size_t size = size_of(*scalar_type_from_name(type));
    for (const int instances : {2, 4, 8}) {
      const CudaOnHost kernel(text, side_by_side(instances));
      alignas(16) unsigned char x[400], y[400], z[400];
      for (int i = 0; i < 400; ++i)
        x[i] = static_cast<unsigned char>(i % 2), z[i] = static_cast<unsigned char>(i % 3 == 0), y[i] = 9;
      const long long n = 47;
      kernel.run({n}, {strided(y, {n}, {1}), strided(x, {n}, {1}), strided(z, {n}, {1})});
      for (std::size_t i = 0; i < 400; ++i) {
        const bool inside = i < static_cast<std::size_t>(n) * size;
        ASSERT_EQ(y[i], inside ? i % 3 == 0 : 9) << type << ' ' << i;
        ASSERT_EQ(z[i], inside ? i % 2 : i % 3 == 0) << type << ' ' << i;
      }
    }
  }
}

// All neighbours iterate together, and leave a loop or a branch with the values that each of them carries.
TEST(CudaSideBySide, LoopsAreWhatTheyAreOneByOne) {
  constexpr const char *text = R"(kernel @pairs(@y: array<f32, 1>, @x: array<const f32, 1>, @g: array<f32, 1>,
                                                @n: i32) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    for %2: i32 in 0..@n step 1 carry (%3 -> %4: f32 = 1.0 then %9, %30 -> %31: i32 = 0 then %32) {
      %5: f32 = load @x[%2]
      %6: f32 = sub %5, %1
      accumulate atomic @g[%2] += %6
      %7: bool = lt %6, 2.0
      if %7 -> (%8: f32 = %10 | %3) {
        %11: f32 = load @x[%30]
        %10: f32 = add %3, %11
      }
      %32: i32 = add %30, 1
      %12: bool = lt %2, 3
      if %12 -> (%13: f32 = %14 | %8) {
        for %20: i32 in 0..%2 step 1 {
          accumulate atomic @g[%20] += %6
        }
        %15: f32 = load @x[%32]
        %14: f32 = add %15, %8
      }
      %9: f32 = add %13, 1.0
    }
    store @y[%0] = %4
  })";
  for (const bool whole : {false, true})
    for (const int instances : {1, 2, 4}) {
      constexpr int count = 256;
      std::vector<float> y(count), x(count), g(count, 1);
      for (int i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 5);
      std::vector<float> expected_y = y, expected_g = g;
      CompiledKernel(text).run({count}, {array(expected_y), array(x), array(expected_g), scalar(21)});
      CudaOnHost kernel(text, side_by_side(instances));
      kernel.whole_warps = whole;
      kernel.run({count}, {array(y), array(x), array(g), scalar(21)});
      EXPECT_EQ(y, expected_y) << instances;
      EXPECT_EQ(g, expected_g) << instances;
    }
}

}  // namespace
}  // namespace samite::test
