// Threads of a block wait for each other only if one reads another one's stores.
#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/schedule/on_a_gpu.h"
#include "tests/schedule/program_interpreter.h"
#include "tests/schedule/program_on_host.h"

#include <gmock/gmock.h>

namespace samite::test::own_elements {
namespace {

int barriers(const std::string &text) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find("barrier\n", at)) != std::string::npos; ++at) ++found;
  return found;
}

// Two steps in shared memory, then the output; the last step reads its own and one `apart` elements beyond. The whole
// is done again for each of `turns` rows by the same block.
auto steps(int apart) {
  return Pipeline{"steps", {"out", "in"}, [apart](Array<float, 2> out, Array<const float, 2> in) {
                    Var y{"y"}, x{"x"}, xb{"xb"}, xt{"xt"};
                    Func first{"first"}, second{"second"}, output{"output", out};
                    first(y, x) = in(y, x) * 2.0f;
                    second(y, x) = first(y, x) + 1.0f;
                    output(y, x) = second(y, x) * 2.0f + second(y, x + apart);
                    schedule_cuda([&] {
                      output.split(x, xb, xt, 32).reorder(xt, y, xb).gpu_blocks(xb).gpu_threads(xt);
                      for (const Func<float> &f : {first, second})
                        f.compute_at(output, y).store_in(Memory::shared).gpu_threads(x);
                    });
                  }};
}

template <class P>
void expect_right(const P &pipeline, int apart) {
  constexpr std::int64_t rows = 3, columns = 45;
  std::vector<InterpretedArray> arrays{{{rows, columns}, {}, {}}, {{rows, columns + apart}, {}, {}}};
  arrays[0].values.assign(rows * columns, 0);
  arrays[0].known.assign(rows * columns, 0);
  for (std::int64_t i = 0; i < rows * (columns + apart); ++i) arrays[1].values.push_back(i * i % 101);
  arrays[1].known.assign(arrays[1].values.size(), 1);
  run_program(on_a_gpu(pipeline), arrays, true);
  std::vector<float> in(arrays[1].values.begin(), arrays[1].values.end());
  for (std::int64_t y = 0; y < rows; ++y)
    for (std::int64_t x = 0; x < columns; ++x) {
      const auto second = [&](std::int64_t column) {
        return 2 * arrays[1].values[static_cast<std::size_t>(y * (columns + apart) + column)] + 1;
      };
      ASSERT_EQ(arrays[0].values[static_cast<std::size_t>(y * columns + x)], 2 * second(x) + second(x + apart))
          << y << ", " << x;
    }
  // The emitted text, with its threads in one order or another.
  constexpr ThreadOrder::Kind orders[] = {ThreadOrder::Kind::Alternating, ThreadOrder::Kind::FirstToLast,
                                          ThreadOrder::Kind::LastToFirst, ThreadOrder::Kind::Random};
  const auto program = cuda_program(*pipeline.definition(), "cuda");
  for (const ThreadOrder::Kind order : orders) {
    const Buffer<float> out{Device::cpu(), {rows, columns}}, given{Device::cpu(), {rows, columns + apart}, in};
    run_on_host(*program, jit::views({{out}, {given}}), {HostBlocks::Grid::flat, {order, 7}});
    for (std::int64_t i = 0; i < rows * columns; ++i)
      ASSERT_EQ(out.data()[i], static_cast<float>(arrays[0].values[static_cast<std::size_t>(i)])) << i;
  }
}

TEST(OwnElements, NeedNoBarrier) {
  const auto pipeline = steps(0);
  EXPECT_EQ(barriers(to_string(on_a_gpu(pipeline).nest)), 0) << to_string(on_a_gpu(pipeline).nest);
  expect_right(pipeline, 0);
}

// One between the second step and the output, and one before the next row's second step.
TEST(OwnElements, OfNeighboursAreWaitedFor) {
  const auto pipeline = steps(1);
  EXPECT_EQ(barriers(to_string(on_a_gpu(pipeline).nest)), 2) << to_string(on_a_gpu(pipeline).nest);
  expect_right(pipeline, 1);
}

// Elements in another order than threads: each thread's own four, and then stores of another thread.
TEST(OwnElements, AreFoundInPiecesOfSeveral) {
  const auto pieces = [](bool transposed) {
    return Pipeline{"pieces", {"out", "in"}, [=](Array<float, 1> out, Array<const float, 1> in) {
                      Var x{"x"}, xb{"xb"}, xi{"xi"}, xt{"xt"}, xe{"xe"}, ft{"ft"}, fe{"fe"};
                      Func f{"f"}, output{"output", out};
                      f(x) = in(x) + 1.0f;
                      output(x) = f(x) * 2.0f;
                      schedule_cuda([&] {
                        output.bound(x, 0, 256).split(x, xb, xi, 128).split(xi, xt, xe, 4);
                        output.gpu_blocks(xb).gpu_threads(xt);
                        f.compute_at(output, xb).store_in(Memory::shared);
                        if (transposed)
                          f.split(x, fe, ft, 32).reorder(fe, ft).gpu_threads(ft);
                        else
                          f.split(x, ft, fe, 4).gpu_threads(ft);
                      });
                    }};
  };
  EXPECT_EQ(barriers(to_string(on_a_gpu(pieces(false)).nest)), 0) << to_string(on_a_gpu(pieces(false)).nest);
  EXPECT_EQ(barriers(to_string(on_a_gpu(pieces(true)).nest)), 1) << to_string(on_a_gpu(pieces(true)).nest);
}

}  // namespace
}  // namespace samite::test::own_elements
