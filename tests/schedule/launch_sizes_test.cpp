// Shared memory with sizes known only at launch: the plan, and that the kernels compute the same as the CPU.
// tests/jit/cuda_scheduled_test.cpp tests the launches' requests to the driver.
#include "samite/ir/visit.h"
#include "samite/jit/definition.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "samite/samite.h"
#include "tests/schedule/on_a_gpu.h"
#include "tests/schedule/program_interpreter.h"
#include "tests/schedule/program_on_host.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Each row backwards: a block needs all of a row, however long it is.
auto mirrored() {
  return Pipeline{"mirrored", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                    Var y{"y"}, x{"x"}, xo{"xo"}, xi{"xi"};
                    Func row{"row"}, result{"result", out};
                    row(y, x) = in(y, x) * 2;
                    result(y, x) = row(y, out.extent(1) - 1 - x) + row(y, x);
                    schedule_cuda([&] {
                      result.split(x, xo, xi, 32).gpu_blocks(y).gpu_threads(xi);
                      row.compute_at(result, y).store_in(Memory::shared);
                    });
                  }};
}

// The first and the third of the Funcs a, b and c are never needed at the same time. The size of `few` is a constant.
auto in_turn() {
  return Pipeline{"in_turn", {"out", "in", "n"}, [](Array<float, 2> out, Array<const float, 2> in, Int n) {
                    Var y{"y"}, x{"x"}, xo{"xo"}, xi{"xi"};
                    Func a{"a"}, b{"b"}, c{"c"}, few{"few"}, result{"result", out};
                    Reduction k{"k", 0, n};
                    a(y, x) = in(y, x) + 1;
                    b(y, x) = a(y, in.extent(1) - 1 - x) + a(y, x);
                    c(y, x) = 0;
                    c(y, x) += b(y, k) * cast<Float>(x + 1);
                    few(y, x) = cast<Float>(x) + in(y, 0);
                    result(y, x) = c(y, in.extent(1) - 1 - x) - c(y, x) + few(y, x % 8);
                    schedule_cuda([&] {
                      result.split(x, xo, xi, 16).gpu_blocks(y).gpu_threads(xi);
                      for (const Func<float> &of : {a, b, c, few}) of.compute_at(result, y).store_in(Memory::shared);
                    });
                  }};
}

const schedules::KernelLaunch &last_launch(const schedules::Program &program) {
  return std::get<schedules::KernelLaunch>(program.steps.back().kind);
}

std::string text_of(const schedules::Program &program) {
  std::string text;
  for (const schedules::NestLine &line : program.nest) text += line.text + "\n";
  return text;
}

TEST(SizesOfLaunches, AreArgumentsThatTheHostComputes) {
  const schedules::Program program = on_a_gpu(mirrored());
  const schedules::KernelLaunch &launch = last_launch(program);
  const passes::TileMemoryPlan plan = passes::plan_tile_memory(launch.kernel);
  ASSERT_EQ(plan.tiles.size(), 1u);
  EXPECT_TRUE(plan.sized_at_launch());
  EXPECT_EQ(plan.bytes, 0);
  const std::uint32_t size = plan.tiles[0].size->parameter_index();
  EXPECT_TRUE(std::holds_alternative<schedules::HostArgument>(launch.arguments[size]));
  EXPECT_TRUE(plan.depends_on(size));
  EXPECT_EQ(plan.in_launch([&](std::uint32_t p) { return p == size ? 1000 : -1; }).bytes, 4000);
  EXPECT_THAT(text_of(program), AllOf(HasSubstr("0 bytes of shared memory and what is known at launch (row from 0 on)"),
                                      HasSubstr("store row in shared memory: f32[y 1, x ?]")));
}

TEST(SizesOfLaunches, KernelsComputeWhatTheCpuComputes) {
  const auto pipeline = mirrored();
  for (const std::int64_t columns : {1, 31, 32, 100, 257}) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < 3 * columns; ++i) values.push_back(static_cast<float>(i * i % 101));
    const AnyBuffer in = Buffer<float>(Device::cpu(), {3, columns}, values),
                    out = Buffer<float>(Device::cpu(), {3, columns});
    const Filled filled = filled_by(pipeline.definition(), {{&out}, {&in}});
    EXPECT_EQ(filled.as_on_cuda, filled.by_default) << columns << " columns";
    EXPECT_EQ(filled.on_cpu, filled.by_default) << columns << " columns";
  }
}

// The host has as much memory for a block as a device, and reports an excess like a launch.
TEST(SizesOfLaunches, AreNoMoreThanABlockHasOnTheHost) {
  const auto pipeline = mirrored();
  const auto run = [&](std::int64_t columns) {
    const AnyBuffer in = Buffer<float>(Device::cpu(), {1, columns}), out = Buffer<float>(Device::cpu(), {1, columns});
    run_on_host(*cuda_program(*pipeline.definition()), {{&out}, {&in}});
  };
  constexpr std::int64_t most = 227 * 1024 / 4;
  EXPECT_NO_THROW(run(most));
  EXPECT_THROW(run(most + 1), NoRoomInBlock);
}

TEST(SizesOfLaunches, MemoryThatIsNotThereAtOneTimeLiesInOnePlace) {
  const schedules::Program program = on_a_gpu(in_turn());
  passes::TileMemoryPlan plan = passes::plan_tile_memory(last_launch(program).kernel);
  // A thousand elements each; the second place begins after a thousand.
  plan = plan.in_launch([&](std::uint32_t parameter) {
    for (const passes::PlacedTile &tile : plan.tiles)
      if (tile.sized_at_launch && tile.size->parameter_index() == parameter) return 1000;
    return 32;
  });
  std::vector<std::int64_t> offsets;
  for (const passes::PlacedTile &tile : plan.tiles)
    if (tile.sized_at_launch) offsets.push_back(tile.offset);
  ASSERT_EQ(offsets.size(), 3u) << plan.to_string();
  const std::int64_t first = std::ranges::min(offsets);
  EXPECT_GE(first, 15 * 4) << "behind what has a constant size";
  EXPECT_EQ(std::ranges::count(offsets, first), 2) << plan.to_string();
  EXPECT_EQ(std::ranges::count(offsets, first + 32 * 128), 1) << plan.to_string();
}

TEST(SizesOfLaunches, ScalarsAndExtentsSayHowMuchThereIs) {
  const auto pipeline = in_turn();
  for (const auto &[columns, n] : {std::pair{1, 1}, {40, 3}, {57, 57}, {200, 0}}) {
    std::vector<float> values;
    for (int i = 0; i < 2 * columns; ++i) values.push_back(static_cast<float>(i * i % 11));
    const AnyBuffer in = Buffer<float>(Device::cpu(), {2, columns}, values),
                    out = Buffer<float>(Device::cpu(), {2, columns});
    const Filled filled = filled_by(pipeline.definition(), {{&out}, {&in}, {nullptr, static_cast<std::uint64_t>(n)}});
    EXPECT_EQ(filled.as_on_cuda, filled.by_default) << columns << " columns, n = " << n;
    EXPECT_EQ(filled.on_cpu, filled.by_default) << columns << " columns, n = " << n;
  }
}

// How far two quotients are apart grows with the index: as far as a launch says, not as far as an integer may go.
TEST(SizesOfLaunches, OfQuotientsThatMoveApart) {
  for (const auto &[a, b] : {std::pair{3, 4}, {2, 3}, {4, 5}, {1, 9000}}) {
    const auto pipeline = Pipeline{"apart", {"out", "in"}, [&](Array<float, 2> out, Array<const float, 2> in) {
                                     Var y{"y"}, x{"x"}, xo{"xo"}, xi{"xi"};
                                     Func table{"table"}, result{"result", out};
                                     table(y, x) = in(y, x) * 3;
                                     result(y, x) = table(y, x / a) + table(y, x / b);
                                     schedule_cuda([&] {
                                       result.split(x, xo, xi, 32).gpu_blocks(xo, y).gpu_threads(xi);
                                       table.compute_at(result, xo).store_in(Memory::shared);
                                     });
                                   }};
    const schedules::Program program = on_a_gpu(pipeline);
    ir::for_each_statement(last_launch(program).kernel.body, [&](const ir::Stmt &stmt) {
      const ir::For *loop = stmt.as<ir::For>();
      if (loop && loop->end.is_constant()) EXPECT_LE(loop->end.as_int(), 1024) << a << ' ' << b;
    });
    std::vector<float> values;
    for (int i = 0; i < 3 * 300; ++i) values.push_back(static_cast<float>(i * i % 11));
    const AnyBuffer in = Buffer<float>(Device::cpu(), {3, 300}, values), out = Buffer<float>(Device::cpu(), {3, 300});
    const Filled filled = filled_by(pipeline.definition(), {{&out}, {&in}});
    EXPECT_EQ(filled.as_on_cuda, filled.by_default) << a << ' ' << b;
  }
}

// The sign of a parameter is not known: the quotient is no farther from zero than its dividend.
TEST(SizesOfLaunches, OfQuotientsByAParameter) {
  const auto pipeline =
      Pipeline{"divided", {"out", "in", "n"}, [](Array<float, 1> out, Array<const float, 1> in, Int n) {
                 Var x{"x"};
                 Func table{"table"}, result{"result", out};
                 table(x) = in(clamp(x, 0, in.extent(0) - 1)) + cast<Float>(x);
                 result(x) = table((x - 4) / n) + table(x - out.extent(0));
                 schedule_cuda([&] { table.compute_at(result, x); });
               }};
  const schedules::Program program = on_a_gpu(pipeline);
  for (const std::int64_t n : {-3, -1, 0, 1, 2, 7}) {
    std::vector<InterpretedArray> arguments{
        {{6}, std::vector<std::int64_t>(6), std::vector<char>(6)}, {{3}, {10, 20, 40}, {1, 1, 1}}, {{1}, {n}, {1}}};
    run_program(program, arguments, true);
    const auto table = [](std::int64_t i) {
      return std::vector<std::int64_t>{10, 20, 40}[static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, 2))] + i;
    };
    for (std::int64_t x = 0; x < 6; ++x)
      EXPECT_EQ(arguments[0].values[static_cast<std::size_t>(x)], table(n == 0 ? 0 : (x - 4) / n) + table(x - 6))
          << "n = " << n << ", x = " << x;
  }
}

// 2^31 elements and more, which 32 bits could not count.
TEST(SizesOfLaunches, AreCountedInAsManyBitsAsTheyHave) {
  const auto pipeline =
      Pipeline{"far", {"out", "in", "a", "b"}, [](Array<float, 1> out, Array<const float, 1> in, Int a, Int b) {
                 Var x{"x"}, xo{"xo"}, xi{"xi"};
                 Func table{"table"}, result{"result", out};
                 table(x) = in(clamp(x, 0, in.extent(0) - 1));
                 result(x) = table(a) + table(b);
                 schedule_cuda([&] {
                   result.split(x, xo, xi, 32).gpu_blocks(xo).gpu_threads(xi);
                   table.compute_at(result, xo).store_in(Memory::shared);
                 });
               }};
  const auto run = [&](std::int32_t a, std::int32_t b) {
    const AnyBuffer in = Buffer<float>(Device::cpu(), {8}), out = Buffer<float>(Device::cpu(), {40});
    const auto scalar = [](std::int32_t of) { return std::uint64_t{static_cast<std::uint32_t>(of)}; };
    run_on_host(*cuda_program(*pipeline.definition()), {{&out}, {&in}, {nullptr, scalar(a)}, {nullptr, scalar(b)}});
  };
  EXPECT_NO_THROW(run(-5, 1000));
  EXPECT_THROW(run(-5, std::numeric_limits<std::int32_t>::max()), NoRoomInBlock);
  EXPECT_THROW(run(std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min() / 2),
               NoRoomInBlock);
}

TEST(SizesOfLaunches, AreNotLoadedAhead) {
  const auto pipeline = Pipeline{"steps", {"out", "in"}, [](Array<float, 1> out, Array<const float, 2> in) {
                                   Var x{"x"}, k{"k"}, xo{"xo"}, xi{"xi"};
                                   Func row{"row"}, sums{"sums"}, result{"result", out};
                                   Reduction r{"r", 0, in.extent(0)};
                                   row(k, x) = in(k, x);
                                   sums(x) += row(r, x) + row(r, in.extent(1) - 1 - x);
                                   result(x) = sums(x);
                                   schedule_cuda([&] {
                                     result.split(x, xo, xi, 32).gpu_blocks(xo).gpu_threads(xi);
                                     sums.compute_at(result, xi).store_in(Memory::registers);
                                     row.compute_at(sums, r).store_in(Memory::shared).pipelined(2);
                                   });
                                 }};
  EXPECT_THAT(text_of(on_a_gpu(pipeline)), HasSubstr("not loaded ahead: its size is known at launch only"));
}

}  // namespace
}  // namespace samite::test
