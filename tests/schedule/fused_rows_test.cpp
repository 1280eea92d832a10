// Fused loops without divisions in their innermost loops, if their lengths are known only at launch.
#include "samite/ir/visit.h"
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/schedule/program_interpreter.h"

#include <gmock/gmock.h>

#include <array>

namespace samite::test::fused_rows {
namespace {

const Var z{"z"}, y{"y"}, x{"x"}, t{"t"}, xo{"xo"}, to{"to"}, ti{"ti"};

using Schedule = std::function<void(Func<std::int32_t> &out)>;

ir::CapturedPipeline sums(const Schedule &schedule, bool update = false) {
  return captured_pipeline([&](Array<std::int32_t, 3> out, Array<const std::int32_t, 3> in) {
    Func<std::int32_t> last{"last", out};
    last(z, y, x) = in(z, y, x) * 2 + in(z, y, x + 1) + x * 100 + y * 10 + z;
    if (update) last(z, y, x) += in(z, y, x);
    schedule_cpu([&] { schedule(last); });
    schedule_cuda([&] { schedule(last); });
  });
}

void expect_right(const ir::CapturedPipeline &pipeline, std::int64_t depth, std::int64_t rows, std::int64_t columns,
                  bool update = false, bool gpu = false) {
  std::vector<InterpretedArray> arguments{{{depth, rows, columns}, {}, {}}, {{depth, rows, columns + 1}, {}, {}}};
  arguments[0].values.resize(static_cast<std::size_t>(depth * rows * columns));
  arguments[0].known.resize(arguments[0].values.size());
  for (std::int64_t i = 0; i < depth * rows * (columns + 1); ++i) arguments[1].values.push_back(i * 7 % 31);
  arguments[1].known.assign(arguments[1].values.size(), 1);
  const schedules::Program program = schedules::lower(pipeline, {.gpu = gpu});
  run_program(program, arguments, gpu);
  for (std::int64_t i = 0; i < depth * rows * columns; ++i) {
    const std::int64_t column = i % columns, row = i / columns % rows, plane = i / columns / rows,
                       at = (plane * rows + row) * (columns + 1) + column;
    const std::int64_t of = arguments[1].values[static_cast<std::size_t>(at)],
                       next = arguments[1].values[static_cast<std::size_t>(at + 1)];
    ASSERT_EQ(arguments[0].values[static_cast<std::size_t>(i)],
              (update ? 3 : 2) * of + next + column * 100 + row * 10 + plane)
        << depth << " x " << rows << " x " << columns << ", element " << i << "\n"
        << to_string(program);
    ASSERT_TRUE(arguments[0].known[static_cast<std::size_t>(i)]);
  }
}

// Divisions in loops of the program's kernels that have no loops inside, and in kernels that have none.
int divisions_inside(const schedules::Program &program) {
  int found = 0;
  const auto count = [&](const ir::Block &block) {
    bool innermost = true;
    int here = 0;
    ir::for_each_statement(block, [&](const ir::Stmt &stmt) {
      innermost = innermost && !stmt.as<ir::For>();
      const ir::Let *let = stmt.as<ir::Let>();
      here += let && (let->value.op == ir::Op::Div || let->value.op == ir::Op::Rem);
    });
    if (innermost) found += here;
  };
  for (const schedules::Step &step : program.steps)
    if (const auto *launch = std::get_if<schedules::KernelLaunch>(&step.kind)) {
      count(launch->kernel.body);
      ir::for_each_statement(launch->kernel.body, [&](const ir::Stmt &stmt) {
        if (const ir::For *loop = stmt.as<ir::For>()) count(loop->body);
      });
    }
  return found;
}

struct Fused {
  const char *name;
  Schedule schedule;
  bool divides_once_a_row = false;
};

const std::vector<Fused> all{
    {"serial", [](auto &out) { out.fuse(y, x, t); }},
    {"parallel", [](auto &out) { out.fuse(y, x, t).parallel(t); }},
    {"parallel, both pairs", [](auto &out) { out.parallel(z).fuse(y, x, t).parallel(t); }},
    {"parallel, with vectors inside", [](auto &out) { out.fuse(z, y, t).parallel(t).vectorize(x); }},
    {"pieces in parallel", [](auto &out) { out.fuse(y, x, t).split(t, to, ti, 7).parallel(to); }},
    {"pieces of vectors", [](auto &out) { out.fuse(y, x, t).vectorize(t, 8); }},
    {"pieces of vectors in parallel",
     [](auto &out) { out.fuse(y, x, t).split(t, to, ti, 8).vectorize(ti).parallel(to); }},
    {"three", [](auto &out) { out.fuse(y, x, t).fuse(z, t, to); }},
    {"three, in parallel", [](auto &out) { out.fuse(y, x, t).fuse(z, t, to).parallel(to); }},
    {"three, in pieces of vectors", [](auto &out) { out.fuse(y, x, t).fuse(z, t, to).vectorize(to, 4); }},
    {"three, in pieces in parallel",
     [](auto &out) { out.fuse(y, x, t).fuse(z, t, to).split(to, xo, ti, 7).parallel(xo); }},
    {"the outer two first", [](auto &out) { out.fuse(z, y, t).fuse(t, x, to); }, true},
    {"pieces that are shifted inwards", [](auto &out) { out.fuse(y, x, t).split(t, to, ti, 5, Tail::shift_inwards); }},
};

TEST(FusedRows, AreRightForAllExtents) {
  for (const Fused &fused : all) {
    SCOPED_TRACE(fused.name);
    for (const bool update : {false, true}) {
      const auto pipeline = sums(fused.schedule, update);
      for (const auto &[depth, rows, columns] : std::vector<std::array<std::int64_t, 3>>{
               {1, 1, 1}, {1, 1, 17}, {2, 9, 1}, {2, 3, 5}, {1, 4, 8}, {3, 2, 16}, {2, 0, 4}, {2, 4, 0}, {1, 3, 33}})
        expect_right(pipeline, depth, rows, columns, update);
    }
  }
}

TEST(FusedRows, DivideNothingInside) {
  for (const Fused &fused : all) {
    const schedules::Program program = schedules::lower(sums(fused.schedule), {});
    if (!fused.divides_once_a_row) EXPECT_EQ(divisions_inside(program), 0) << fused.name << "\n" << to_string(program);
  }
}

// Loops of a thread. The block divides once for each of its threads.
const std::vector<Fused> of_threads{
    {"pieces",
     [](auto &out) { out.fuse(y, x, t).split(t, to, t, 32).split(t, xo, ti, 4).gpu_blocks(to).gpu_threads(xo); }},
    {"three",
     [](auto &out) {
       out.fuse(y, x, t).fuse(z, t, t).split(t, to, t, 32).split(t, xo, ti, 4).gpu_blocks(to).gpu_threads(xo);
     }},
};

TEST(FusedRows, AThreadOfAGpuDividesNothingInside) {
  for (const Fused &fused : of_threads) {
    const auto pipeline = sums(fused.schedule);
    const schedules::Program program = schedules::lower(pipeline, {.gpu = true});
    EXPECT_EQ(divisions_inside(program), 0) << fused.name << "\n" << to_string(program);
    for (const auto &[depth, rows, columns] :
         std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {2, 9, 1}, {2, 3, 5}, {1, 4, 8}, {2, 0, 4}, {1, 3, 33}})
      expect_right(pipeline, depth, rows, columns, /*update=*/false, /*gpu=*/true);
  }
}

// A Func computed at the fused loop is computed for each of its iterations.
TEST(FusedRows, OfWhatIsComputedInside) {
  const auto pipeline = captured_pipeline([&](Array<std::int32_t, 3> out, Array<const std::int32_t, 3> in) {
    Func<std::int32_t> before{"before"}, last{"last", out};
    before(z, y, x) = in(z, y, x) * 2;
    last(z, y, x) = before(z, y, x) + in(z, y, x + 1) + x * 100 + y * 10 + z;
    schedule_cpu([&] {
      last.fuse(y, x, t);
      before.compute_at(last, t);
    });
  });
  expect_right(pipeline, 2, 3, 5);
}

}  // namespace
}  // namespace samite::test::fused_rows
