// Funcs kept outside of a loop and computed inside it: each value is computed once, and no more rows are kept than are
// in use at the same time. The interpreter counts, and finds a row that was overwritten too early.
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/schedule/program_interpreter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::test::sliding {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const Var x{"x"}, y{"y"}, yo{"yo"}, yi{"yi"};
constexpr std::int64_t rows = 30, columns = 7;

std::int64_t input(std::int64_t row, std::int64_t column) { return row * row * 3 + column * 5 + row * column; }

std::string text_of(const schedules::Program &program) {
  std::string text;
  for (const schedules::NestLine &line : program.nest) text += line.text + "\n";
  return text;
}

struct Ran {
  std::string nest;
  std::vector<std::int64_t> out;
  StoreCounts counts;
};

// A pipeline of an output and an input with this many rows and columns around it.
Ran run(const ir::CapturedPipeline &pipeline, std::int64_t around_rows, std::int64_t around_columns,
        std::int64_t out_rows = rows) {
  const std::int64_t height = out_rows + 2 * around_rows, width = columns + 2 * around_columns;
  std::vector<InterpretedArray> arguments{{{out_rows, columns}, {}, {}}, {{height, width}, {}, {}}};
  arguments[0].values.resize(static_cast<std::size_t>(out_rows * columns));
  arguments[0].known.resize(arguments[0].values.size());
  for (std::int64_t i = 0; i < height * width; ++i)
    arguments[1].values.push_back(input(i / width - around_rows, i % width - around_columns));
  arguments[1].known.assign(arguments[1].values.size(), 1);
  const schedules::Program program = schedules::lower(pipeline, {});
  Ran ran{text_of(program), {}, {}};
  run_program(program, arguments, false, &ran.counts);
  ran.out = arguments[0].values;
  return ran;
}

// A chain of Funcs, each of which adds the rows above and below to its own. `schedule` gets the Funcs in between.
using Schedule = std::function<void(Func<std::int32_t> &out, std::vector<Func<std::int32_t>> &between)>;
ir::CapturedPipeline chain(int stages, const Schedule &schedule) {
  return captured_pipeline([&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in) {
    std::vector<Func<std::int32_t>> between;
    for (int s = 0; s + 1 < stages; ++s) between.emplace_back(fmt::format("f{}", s));
    Func<std::int32_t> last{"last", out};
    const auto define = [&](Func<std::int32_t> &f, int s) {
      if (s == 0)
        f(y, x) = in(y - 1 + stages, x) + in(y + stages, x) * 2 + in(y + 1 + stages, x);
      else
        f(y, x) = between[s - 1](y - 1, x) + between[s - 1](y, x) * 2 + between[s - 1](y + 1, x);
    };
    for (int s = 0; s + 1 < stages; ++s) define(between[s], s);
    define(last, stages - 1);
    schedule_cpu([&] { schedule(last, between); });
  });
}

std::int64_t expected(int stages, std::int64_t row, std::int64_t column) {
  if (stages == 0) return input(row, column);
  return static_cast<std::int32_t>(expected(stages - 1, row - 1, column) + expected(stages - 1, row, column) * 2 +
                                   expected(stages - 1, row + 1, column));
}

void expect_right(const Ran &ran, int stages) {
  for (std::size_t i = 0; i < ran.out.size(); ++i)
    ASSERT_EQ(ran.out[i],
              expected(stages, static_cast<std::int64_t>(i) / columns, static_cast<std::int64_t>(i) % columns))
        << "element " << i << "\n"
        << ran.nest;
}

TEST(Sliding, EachRowOfALineBufferIsComputedOnce) {
  const Ran ran = run(chain(2,
                            [](auto &out, auto &between) {
                              out.serial(y);
                              between[0].compute_at(out, y).store_root();
                            }),
                      2, 0);
  expect_right(ran, 2);
  EXPECT_EQ(ran.counts.at("f0"), (rows + 2) * columns) << ran.nest;
  EXPECT_THAT(ran.nest, HasSubstr("folded along y after 4")) << ran.nest;
}

TEST(Sliding, TenStencilsKeepFourRowsEach) {
  const Ran ran = run(chain(10,
                            [](auto &out, auto &between) {
                              out.serial(y);
                              for (auto &f : between) f.compute_at(out, y).store_root();
                            }),
                      10, 0);
  expect_right(ran, 10);
  for (int s = 0; s < 9; ++s) {
    EXPECT_EQ(ran.counts.at(fmt::format("f{}", s)), (rows + 2 * (9 - s)) * columns) << ran.nest;
    EXPECT_THAT(ran.nest, ContainsRegex(fmt::format("store f{} in .*, folded along y after 4\n", s)));
  }
}

TEST(Sliding, ANineRowStencilComputesEachRowOnce) {
  const auto pipeline = captured_pipeline([&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in) {
    Func<std::int32_t> f{"f"}, g{"g", out};
    f(y, x) = in(y + 4, x) * 2;
    Traced<std::int32_t> sum = f(y, x);
    for (int k = -4; k <= 4; ++k)
      if (k != 0) sum = sum + f(y + k, x) * k;
    g(y, x) = sum;
    schedule_cpu([&] {
      g.serial(y);
      f.compute_at(g, y).store_root();
    });
  });
  const Ran ran = run(pipeline, 4, 0);
  EXPECT_EQ(ran.counts.at("f"), (rows + 8) * columns) << ran.nest;
  EXPECT_THAT(ran.nest, HasSubstr("folded along y after 16"));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    std::int64_t sum = 2 * input(i / columns, i % columns);
    for (std::int64_t k = -4; k <= 4; ++k) sum += 2 * k * input(i / columns + k, i % columns);
    ASSERT_EQ(ran.out[static_cast<std::size_t>(i)], sum) << i;
  }
}

// Each task begins by computing the rows that it needs from another one.
TEST(Sliding, InPiecesOfRows) {
  const auto pipeline = chain(3, [](auto &out, auto &between) {
    out.split(y, yo, yi, 8).parallel(yo);
    for (auto &f : between) f.compute_at(out, yi).store_at(out, yo);
  });
  for (const std::int64_t out_rows : {1, 2, 7, 8, 9, 30}) {
    const Ran ran = run(pipeline, 3, 0, out_rows);
    expect_right(ran, 3);
    const std::int64_t pieces = (out_rows + 7) / 8;
    EXPECT_EQ(ran.counts.at("f1"), (out_rows + 2 * pieces) * columns) << ran.nest;
    EXPECT_EQ(ran.counts.at("f0"), (out_rows + 4 * pieces) * columns) << ran.nest;
    EXPECT_THAT(ran.nest, HasSubstr("folded along y after 4"));
  }
}

// The schedule's fold is used if it has room for the rows in use.
TEST(Sliding, InAsManyRowsAsTheScheduleSays) {
  for (const int fold : {3, 5}) {
    const Ran ran = run(chain(4,
                              [&](auto &out, auto &between) {
                                out.serial(y);
                                for (auto &f : between) f.compute_at(out, y).store_root().fold_storage(y, fold);
                              }),
                        4, 0);
    expect_right(ran, 4);
    EXPECT_EQ(ran.counts.at("f0"), (rows + 6) * columns);
    EXPECT_THAT(ran.nest, HasSubstr(fmt::format("folded along y after {}\n", fold)));
  }
  EXPECT_THROW(run(chain(4,
                         [&](auto &out, auto &between) {
                           out.serial(y);
                           for (auto &f : between) f.compute_at(out, y).store_root().fold_storage(y, 2);
                         }),
                   4, 0),
               UserError);
}

// A Func that each iteration computes anew is computed for the new rows of those that call it.
TEST(Sliding, AFuncInBetweenThatIsNotKept) {
  const Ran ran = run(chain(4,
                            [](auto &out, auto &between) {
                              out.serial(y);
                              between[0].compute_at(out, y).store_root();
                              between[1].compute_at(out, y);
                              between[2].compute_at(out, y).store_root();
                            }),
                      4, 0);
  expect_right(ran, 4);
  EXPECT_EQ(ran.counts.at("f2"), (rows + 2) * columns) << ran.nest;
  EXPECT_EQ(ran.counts.at("f0"), (rows + 6) * columns) << ran.nest;
  EXPECT_LE(ran.counts.at("f1"), 3 * (rows + 4) * columns) << ran.nest;
}

// If an image's edge is repeated, no rows beyond it exist to be computed.
TEST(Sliding, AtTheEdgesOfAnImage) {
  const auto pipeline = captured_pipeline([&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in) {
    Func<std::int32_t> f{"f"}, g{"g"}, h{"h", out};
    const auto inside = [&](const Int &row) { return clamp(row, 0, out.extent(0) - 1); };
    f(y, x) = in(y, x) * 2;
    g(y, x) = f(inside(y - 1), x) + f(inside(y + 1), x) * 3;
    h(y, x) = g(inside(y - 1), x) + g(inside(y + 1), x) * 3;
    schedule_cpu([&] {
      h.serial(y);
      f.compute_at(h, y).store_root();
      g.compute_at(h, y).store_root();
    });
  });
  for (const std::int64_t out_rows : {1, 2, 3, 30}) {
    const Ran ran = run(pipeline, 0, 0, out_rows);
    EXPECT_EQ(ran.counts.at("f"), out_rows * columns) << ran.nest;
    EXPECT_EQ(ran.counts.at("g"), out_rows * columns) << ran.nest;
    const auto at = [&](std::int64_t row) { return std::clamp<std::int64_t>(row, 0, out_rows - 1); };
    const auto g = [&](std::int64_t row, std::int64_t column) {
      return 2 * input(at(row - 1), column) + 6 * input(at(row + 1), column);
    };
    for (std::int64_t i = 0; i < out_rows * columns; ++i)
      ASSERT_EQ(ran.out[static_cast<std::size_t>(i)],
                g(at(i / columns - 1), i % columns) + 3 * g(at(i / columns + 1), i % columns))
          << out_rows << ' ' << i << ran.nest;
  }
}

// Twice as many rows of the called Func, and half as many.
TEST(Sliding, OfOtherResolutions) {
  const auto pipeline = captured_pipeline([&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in) {
    Func<std::int32_t> whole{"whole"}, half{"half"}, result{"result", out};
    whole(y, x) = in(y + 3, x) * 2;
    half(y, x) = whole(2 * y - 1, x) + whole(2 * y, x) + whole(2 * y + 1, x);
    result(y, x) = half(y / 2, x) + half(y / 2 + 1, x) * 3;
    schedule_cpu([&] {
      result.serial(y);
      whole.compute_at(result, y).store_root();
      half.compute_at(result, y).store_root();
    });
  });
  const Ran ran = run(pipeline, 3, 0);
  EXPECT_EQ(ran.counts.at("half"), (rows / 2 + 1) * columns) << ran.nest;
  EXPECT_EQ(ran.counts.at("whole"), (rows + 3) * columns) << ran.nest;
  const auto half = [&](std::int64_t row, std::int64_t column) {
    return 2 * (input(2 * row - 1, column) + input(2 * row, column) + input(2 * row + 1, column));
  };
  for (std::int64_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(ran.out[static_cast<std::size_t>(i)],
              half(i / columns / 2, i % columns) + 3 * half(i / columns / 2 + 1, i % columns));
}

// Each element of a window of 3 x 3 is computed once, as Halide does: of the row that is new to it, the column that is.
ir::CapturedPipeline window(const std::function<void(Func<std::int32_t> &out, Func<std::int32_t> &f)> &schedule) {
  return captured_pipeline([&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in) {
    Func<std::int32_t> f{"f"}, g{"g", out};
    f(y, x) = in(y + 1, x + 1) * 2;
    Traced<std::int32_t> sum = f(y, x);
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i) sum = sum + f(y + j, x + i) * (3 * j + i + 5);
    g(y, x) = sum;
    schedule_cpu([&] { schedule(g, f); });
  });
}
void expect_windows(const Ran &ran) {
  for (std::size_t k = 0; k < ran.out.size(); ++k) {
    const auto row = static_cast<std::int64_t>(k) / columns, column = static_cast<std::int64_t>(k) % columns;
    std::int64_t sum = 2 * input(row, column);
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i) sum += 2 * (3 * j + i + 5) * input(row + j, column + i);
    ASSERT_EQ(ran.out[k], sum) << k << "\n" << ran.nest;
  }
}

TEST(Sliding, InTwoLoops) {
  const auto pipeline = window([](auto &out, auto &f) {
    out.serial(y).serial(x);
    f.compute_at(out, x).store_root();
  });
  for (const std::int64_t out_rows : {1, 2, 30}) {
    const Ran ran = run(pipeline, 1, 1, out_rows);
    expect_windows(ran);
    EXPECT_EQ(ran.counts.at("f"), (out_rows + 2) * (columns + 2)) << ran.nest;
    EXPECT_THAT(ran.nest, HasSubstr("folded along y after 4"));
  }
}

TEST(Sliding, InTwoLoopsOfPieces) {
  const auto pipeline = window([](auto &out, auto &f) {
    out.split(y, yo, yi, 8).parallel(yo).serial(x);
    f.compute_at(out, x).store_at(out, yo);
  });
  for (const std::int64_t out_rows : {1, 7, 8, 9, 30}) {
    const Ran ran = run(pipeline, 1, 1, out_rows);
    expect_windows(ran);
    EXPECT_EQ(ran.counts.at("f"), (out_rows + 2 * ((out_rows + 7) / 8)) * (columns + 2)) << ran.nest;
  }
}

// A window whose rows are used cyclically along the inner loop leaves nothing for the outer one.
TEST(Sliding, InTheInnerOfTwoLoopsAlone) {
  const Ran ran = run(window([](auto &out, auto &f) {
                        out.serial(y).serial(x);
                        f.compute_at(out, x).store_root().fold_storage(x, 4);
                      }),
                      1, 1);
  expect_windows(ran);
  EXPECT_GE(ran.counts.at("f"), 3 * rows * (columns + 2)) << ran.nest;
}

// Its updates go along the loop with it: f is in(y, x) and twice the sum of three columns.
TEST(Sliding, OfAFuncWithUpdates) {
  const auto pipeline = captured_pipeline([&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in) {
    Func<std::int32_t> f{"f"}, g{"g", out};
    Reduction r{"r", 0, 3};
    f(y, x) = in(y + 1, x + 1);
    f(y, x) += 2 * in(y + 1, x + r);
    g(y, x) = f(y - 1, x) + 3 * f(y, x) + 5 * f(y + 1, x);
    schedule_cpu([&] {
      g.serial(y);
      f.compute_at(g, y).store_root();
    });
  });
  for (const std::int64_t out_rows : {1, 2, 30}) {
    const Ran ran = run(pipeline, 1, 1, out_rows);
    EXPECT_EQ(ran.counts.at("f"), (1 + 3) * (out_rows + 2) * columns) << ran.nest;
    EXPECT_THAT(ran.nest, HasSubstr("folded along y after 4"));
    const auto f = [&](std::int64_t row, std::int64_t column) {
      return input(row, column) + 2 * (input(row, column - 1) + input(row, column) + input(row, column + 1));
    };
    for (std::int64_t k = 0; k < out_rows * columns; ++k) {
      const std::int64_t row = k / columns, column = k % columns;
      ASSERT_EQ(ran.out[static_cast<std::size_t>(k)], f(row - 1, column) + 3 * f(row, column) + 5 * f(row + 1, column))
          << ran.nest;
    }
  }
}

// An update that sums over the rows themselves needs all of them again.
TEST(Sliding, NotAlongWhatAnUpdateSumsOver) {
  const auto pipeline = captured_pipeline([&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in) {
    Func<std::int32_t> f{"f"}, g{"g", out};
    Reduction r{"r", 1, rows};
    f(y, x) = in(y + 1, x);
    f(r, x) += f(r - 1, x);
    g(y, x) = f(y, x) + f(y + 1, x);
    schedule_cpu([&] {
      g.serial(y);
      f.compute_at(g, y).store_root();
    });
  });
  const Ran ran = run(pipeline, 1, 0);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(columns) * (rows + 2));
  for (std::int64_t row = 0; row < rows + 2; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      sums[static_cast<std::size_t>(row * columns + column)] =
          input(row, column) + (row == 0 ? 0 : sums[static_cast<std::size_t>((row - 1) * columns + column)]);
  for (std::int64_t k = 0; k < rows * columns; ++k)
    ASSERT_EQ(ran.out[static_cast<std::size_t>(k)],
              sums[static_cast<std::size_t>(k)] + sums[static_cast<std::size_t>(k + columns)])
        << ran.nest;
}

// Rows in shared memory that a block's threads fill together, in a loop inside of theirs or around them.
TEST(Sliding, InLoopsOfABlock) {
  const Var xb{"xb"}, xt{"xt"};
  for (const bool inside : {true, false}) {
    const auto pipeline = captured_pipeline([&](Array<std::int32_t, 2> out, Array<const std::int32_t, 2> in) {
      Func<std::int32_t> f{"f"}, g{"g", out};
      f(y, x) = in(y + 1, x) * 2;
      g(y, x) = f(y - 1, x) + 3 * f(y, x) + 5 * f(y + 1, x);
      schedule_cuda([&] {
        g.split(x, xb, xt, columns);
        if (inside)
          g.reorder(y, xt, xb);
        else
          g.reorder(xt, y, xb);
        g.gpu_blocks(xb).gpu_threads(xt);
        f.compute_at(g, y).store_at(g, xb).store_in(Memory::shared);
        g.bound(y, 0, rows).bound(x, 0, columns);
      });
    });
    std::vector<InterpretedArray> arguments{{{rows, columns}, {}, {}}, {{rows + 2, columns}, {}, {}}};
    arguments[0].values.resize(rows * columns);
    arguments[0].known.resize(rows * columns);
    for (std::int64_t k = 0; k < (rows + 2) * columns; ++k)
      arguments[1].values.push_back(input(k / columns - 1, k % columns));
    arguments[1].known.assign(arguments[1].values.size(), 1);
    const schedules::Program program = schedules::lower(pipeline, {.gpu = true});
    StoreCounts counts;
    run_program(program, arguments, true, &counts);
    EXPECT_EQ(counts.at("f"), (rows + 2) * columns) << text_of(program);
    for (std::int64_t k = 0; k < rows * columns; ++k) {
      const std::int64_t row = k / columns, column = k % columns;
      ASSERT_EQ(arguments[0].values[static_cast<std::size_t>(k)],
                2 * (input(row - 1, column) + 3 * input(row, column) + 5 * input(row + 1, column)))
          << text_of(program);
    }
  }
}

}  // namespace
}  // namespace samite::test::sliding
