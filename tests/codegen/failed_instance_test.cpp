// Debug mode: every failure is reported with the index of its instance, on the CPU and as CUDA runs it.
#include "tests/codegen/cuda_tile_kernel.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using codegen::FailedInstance;
using codegen::FailureKind;
using testing::ElementsAre;

std::vector<std::int64_t> index_of(const FailedInstance &instance) {
  return {instance.index.begin(), instance.index.begin() + instance.rank};
}

struct Failed {
  FailureKind kind;
  std::vector<std::int64_t> instance;
};

// From everything that runs kernels.
std::vector<Failed> failures(const std::string &text, const std::vector<long long> &begin,
                             const std::vector<long long> &end, const std::vector<Argument> &arguments) {
  std::vector<Failed> all;
  const codegen::Failure cpu = CompiledKernel(text, options(true, false, true)).run_box(begin, end, arguments);
  all.push_back({cpu.kind, index_of(cpu.instance)});
  for (const bool grid_stride : {false, true}) {
    codegen::EmitOptions form = cuda_options(true, false, true);
    form.cuda.grid_stride = grid_stride;
    const codegen::CudaFailure cuda = CudaOnHost(text, form).run_box(begin, end, arguments).failure;
    all.push_back({cuda.kind, index_of(cuda.instance)});
  }
  return all;
}

// Statements of instance (2, 3, 37) of 4 by 5 by 41, in which %at is -1; it is 0 in all others.
std::string kernel_of_three(const std::string &statements) {
  return R"(kernel @k(@a: array<i32, 1>) threads 3 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    %2: i32 = thread_index 2
    %3: i32 = mul %0, 1000
    %4: i32 = mul %1, 100
    %5: i32 = add %3, %4
    %6: i32 = add %5, %2
    %7: bool = eq %6, 2337
    )" + statements +
         " }";
}

TEST(FailedInstance, OfEachKindOfCheck) {
  struct Row {
    std::string statements;
    FailureKind kind;
  };
  const std::string at = "%8: i32 = select %7, -1, 0 ";
  const Row rows[] = {
      {at + "store @a[%8] = 1", FailureKind::index_out_of_bounds},
      {at + "%9: i32 = load @a[%8] store @a[0] = %9", FailureKind::index_out_of_bounds},
      {at + "accumulate atomic @a[%8] += 1", FailureKind::index_out_of_bounds},
      {"if %7 { store @a[9] = 1 }", FailureKind::index_out_of_bounds},  // one element for all lanes
      {"if %7 { accumulate atomic @a[9] += 1 }", FailureKind::index_out_of_bounds},
      {at + "%9: i32 = add %8, 1 %10: i32 = div 7, %9 store @a[0] = %10", FailureKind::integer_division_by_zero},
      {"if %7 { %8: i32 = extent @a, 0 %9: i32 = sub %8, 3 %10: i32 = rem 7, %9 store @a[0] = %10 }",
       FailureKind::integer_division_by_zero},
      {at + "local $0: i32[4] local_store $0[%8] = 1 %9: i32 = local_load $0[0] store @a[0] = %9",
       FailureKind::local_index_out_of_bounds},
  };
  for (const Row &row : rows) {
    const std::vector<int> a(3);
    for (const Failed &failed : failures(kernel_of_three(row.statements), {1, 2, 5}, {4, 5, 41}, {array(a)})) {
      EXPECT_EQ(failed.kind, row.kind) << row.statements;
      EXPECT_THAT(failed.instance, ElementsAre(2, 3, 37)) << row.statements;
    }
  }
}

TEST(FailedInstance, OfFourDimensions) {
  const std::string text = R"(kernel @k(@a: array<i32, 1>) threads 4 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    %2: i32 = thread_index 2
    %3: i32 = thread_index 3
    %4: bool = eq %0, 1
    %5: bool = eq %1, 0
    %6: bool = eq %2, 2
    %7: bool = eq %3, 8
    if %4 { if %5 { if %6 { if %7 { store @a[%3] = 1 } } } }
  })";
  const std::vector<int> a(3);
  for (const Failed &failed : failures(text, {0, 0, 0, 0}, {2, 2, 3, 9}, {array(a)}))
    EXPECT_THAT(failed.instance, ElementsAre(1, 0, 2, 8));
}

// All threads of a block take part in it.
TEST(FailedInstance, OfATileKernelIsTheBlock) {
  const TileKernel blocks{"blocks",
                          [](Array<double, 1> y, Array<const double, 2> x) {
                            auto [i, j] = block_index<2>();
                            Tile<double> row = tile::load(x, {i, 0}, {24});
                            Int beyond = select(i == 1, j, Int(0));
                            tile::store(y, {0}, row + x(0, beyond * 12));
                          },
                          of_64};
  const std::vector<double> y(24), x(std::size_t{4} * 24);
  const std::vector<Argument> arguments{array(y), array(x, {4, 24})};
  const codegen::Failure cpu = CompiledKernel(blocks.ir(), options(true, false, true)).run({4, 3}, arguments);
  EXPECT_THAT(index_of(cpu.instance), ElementsAre(1, 2));
  for (const bool grid_stride : {false, true}) {
    codegen::EmitOptions form = cuda_options(true, false, true);
    form.cuda.grid_stride = grid_stride;
    const codegen::CudaFailure cuda = CudaOnHost(blocks.ir(), form).run({4, 3}, arguments).failure;
    EXPECT_EQ(cuda.kind, FailureKind::index_out_of_bounds);
    EXPECT_THAT(index_of(cuda.instance), ElementsAre(1, 2));
  }
}

// If all instances fail, the reported one is any of them.
TEST(FailedInstance, IsInsideOfTheLaunch) {
  const std::vector<int> a(3);
  for (const Failed &failed :
       failures("kernel @k(@a: array<i32, 1>) threads 1 { accumulate atomic @a[3] += 1 }", {5}, {13}, {array(a)})) {
    ASSERT_EQ(failed.instance.size(), 1u);
    EXPECT_GE(failed.instance[0], 5);
    EXPECT_LT(failed.instance[0], 13);
  }
}

TEST(FailedInstance, IsNamedInDebugModeAlone) {
  const std::string text = "kernel @k(@a: array<i32, 1>) threads 1 { %0: i32 = thread_index 0 store @a[%0] = 1 }";
  EXPECT_THAT(CompiledKernel(text).source().text, testing::Not(testing::HasSubstr("self")));
  EXPECT_THAT(emit_for_cuda(text).text, testing::Not(testing::HasSubstr("self")));
}

}  // namespace
}  // namespace samite::test
