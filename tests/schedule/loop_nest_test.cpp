// The loops of a lowered pipeline, as its user reads them.
#include "examples/pipelines/tensor_product_steps.h"
#include "samite/schedule/lower.h"
#include "tests/base/count.h"
#include "tests/lang/captured_pipeline.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace samite::test {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class F>
std::string loop_nest(const F &function, bool gpu) {
  return to_string(schedules::lower(captured_pipeline(function), {.gpu = gpu}).nest);
}

// The lines from the one with these words on that are inside of it.
std::string inside_of(const std::string &text, const std::string &words) {
  const std::size_t at = text.find(words);
  EXPECT_NE(at, std::string::npos) << words << "\n" << text;
  const std::size_t begin = text.rfind('\n', at) + 1;
  const std::string deeper(text.find_first_not_of(' ', begin) - begin + 1, ' ');
  std::size_t end = text.find('\n', at) + 1;
  while (text.compare(end, deeper.size(), deeper) == 0) end = text.find('\n', end) + 1;
  return text.substr(begin, end - begin);
}

// As bench/cuda_pipelines.cpp has it: the weights of 16 terms in shared memory, 4 sums in each thread's registers.
std::string tensor_product() {
  return loop_nest(
      [](Array<float, 2> result, Array<const float, 2> input, Array<const float, 3> weight,
         Array<const std::int32_t, 2> input_map, Array<const std::int32_t, 2> output_map) {
        Var n{"n"}, p{"p"}, c{"c"}, m{"m"};
        Func gather_input{"gather_input"}, gather_weight{"gather_weight"}, product{"product"}, output{"output", result};
        Reduction k{"k", 0, 64};
        Reduction pairs{"pairs", {{0, 27}, {0, input_map.extent(1)}}};
        const Var offset = pairs[0], pair = pairs[1];
        gather_input(n, p, c) = input(input_map(n, p), c);
        gather_weight(n, c, m) = weight(n, c, m);
        product(n, p, m) += gather_input(n, p, k) * gather_weight(n, k, m);
        output(output_map(offset, pair), m) += product(offset, pair, m);
        Var block{"block"}, rest{"rest"}, thread{"thread"}, own{"own"}, mb{"mb"}, mt{"mt"}, c1{"c1"}, c0{"c0"};
        schedule_cuda([&] {
          output.update().atomic().split(pair, block, rest, 128).split(rest, thread, own, 4).split(m, mb, mt, 32);
          output.update().reorder(own, mt, thread, mb, block, offset).gpu_blocks(mb, block, offset);
          output.update().gpu_threads(mt, thread);
          product.compute_at(output, mt).store_in(Memory::registers);
          product.update().split(k, c1, c0, 16).reorder(m, p, n, c0, c1);
          gather_weight.compute_at(product, c1).store_in(Memory::shared);
        });
      },
      true);
}

TEST(LoopNest, HasTheThreadsAndTheSharedMemoryOfAKernel) {
  EXPECT_THAT(tensor_product(), HasSubstr("kernel pipeline_output_1, 1024 threads a block, 2048 bytes of shared memory "
                                          "(gather_weight at 0):\n"));
}

TEST(LoopNest, SaysWhereEachFuncIsKept) {
  const std::string text = tensor_product();
  EXPECT_THAT(text, HasSubstr("store product in registers: f32[n 1, p 4, m 1], 4 elements, 16 bytes"));
  EXPECT_THAT(text, HasSubstr("store gather_weight in shared memory: f32[n 1, c 16, m 32], 512 elements, 2048 bytes, "
                              "pitch 32\n"));
}

TEST(LoopNest, HasTheBarriersOfALoop) {
  const std::string loop = inside_of(tensor_product(), "for product.c1 in 0 .. 4:");
  EXPECT_EQ(count(loop, "barrier\n"), 2);
  EXPECT_LT(loop.find("barrier"), loop.find("produce gather_weight"));
  EXPECT_LT(loop.find("produce gather_weight"), loop.rfind("barrier"));
  EXPECT_LT(loop.rfind("barrier"), loop.find("for product.c0 in 0 .. 16:"));
}

TEST(LoopNest, HasALineForEachLoop) {
  const std::string text = tensor_product();
  for (const char *line : {"gpu_block output.pairs0 in 0 .. 27:\n", "gpu_block output.block:\n",
                           "gpu_thread output.thread in 0 .. 32:\n", "unrolled product.p in 0 .. 4:\n",
                           "gpu_thread gather_weight.c in 0 .. 16:\n", "unrolled output.own in 0 .. 4:\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_EQ(count(text, "output(…, m) += …, atomically\n"), 1) << "what is unrolled is there once";
}

TEST(LoopNest, KeepsTheNamesOfLoopsThatNobodyHasSplit) {
  const auto nest = [](bool gpu) {
    return loop_nest(
        [](Array<float, 1> out, Array<const float, 1> in) {
          Var x{"x"};
          Func twice{"twice"}, result{"result", out};
          twice(x) = in(x) * 2.0f;
          result(x) = twice(x) + twice(x + 1);
          const auto directives = [&] { twice.compute_root(); };
          schedule_cpu(directives);
          schedule_cuda(directives);
        },
        gpu);
  };
  EXPECT_THAT(nest(false), HasSubstr("parallel result.x:\n"));
  EXPECT_THAT(nest(false), HasSubstr("vectorized result.x_i:\n"));
  EXPECT_THAT(nest(true), HasSubstr("gpu_block result.x:\n"));
  EXPECT_THAT(nest(true), HasSubstr("  consume twice:\n    produce result:\n"));
}

TEST(LoopNest, OfTheCpu) {
  const std::string text = loop_nest(
      [](Array<float, 2> out, Array<const float, 2> in) {
        Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"};
        Func rows{"rows"}, blur{"blur", out};
        rows(y, x) = in(y, x) + in(y, x + 1);
        blur(y, x) = rows(y, x) + rows(y + 1, x);
        schedule_cpu([&] {
          blur.bound(x, 0, 64).split(y, yo, yi, 8).parallel(yo).vectorize(x);
          rows.compute_at(blur, yi).store_at(blur, yo).fold_storage(y, 2).vectorize(x);
        });
      },
      false);
  EXPECT_EQ(text, R"(pipeline pipeline:
  produce blur:
    kernel pipeline_blur:
      parallel blur.yo:
        store rows in memory of its task: f32[y ?, x 64], 128 elements, 512 bytes, pitch 64, folded along y after 2
        for blur.yi:
          produce rows:
            for rows.y:
              vectorized rows.x in 0 .. 64:
                rows(y, x) = …
          consume rows:
            vectorized blur.x in 0 .. 64:
              blur(y, x) = …
)");
}

TEST(LoopNest, OfFuncsAtTheRoot) {
  const std::string text = loop_nest(
      [](Array<float, 1> out) {
        Var x{"x"};
        Func f{"f"}, g{"g", out};
        f(x) = cast<Float>(x);
        g(x) = f(x) + f(x + 1);
        schedule_cpu([&] { f.compute_root(); });
      },
      false);
  EXPECT_THAT(text, HasSubstr("  store f in device memory: f32[x ?]\n  produce f:\n    kernel pipeline_f:\n"));
  EXPECT_LT(text.find("produce f:"), text.find("produce g:"));
}

TEST(LoopNest, OfALoopOfTheHost) {
  const std::string text = loop_nest(
      [](Array<float, 2> out) {
        Var y{"y"}, x{"x"};
        Func f{"f", out};
        Reduction k{"k", 0, 3};
        f(y, x) = 0;
        f(y, x) += cast<Float>(k);
        schedule_cpu([&] { f.update().reorder(x, y, k).parallel(y); });
      },
      false);
  const std::string update = inside_of(text, "update 0 of f:");
  EXPECT_THAT(update,
              HasSubstr("    update 0 of f:\n      on the host, for f.k in 0 .. 3:\n        kernel pipeline_f_1:\n"
                        "          parallel f.y:\n            for f.x:\n              f(y, x) += …\n"));
}

TEST(LoopNest, SaysNothingTwice) {
  const std::string text = loop_nest(
      [](Array<float, 1> out) {
        Var x{"x"}, xb{"xb"}, xt{"xt"};
        Func f{"f"}, g{"g", out};
        f(x) = cast<Float>(x);
        g(x) = f(x) + f(x + 1);
        schedule_cuda([&] {
          g.split(x, xb, xt, 64).gpu_blocks(xb).gpu_threads(xt);
          f.compute_at(g, xb).store_in(Memory::shared);
        });
      },
      true);
  EXPECT_EQ(count(text, "produce f:"), 1) << "blocks whose piece is not whole have the same loops once more";
  EXPECT_EQ(count(text, "barrier\n"), 1);
  EXPECT_THAT(text, HasSubstr("kernel pipeline_g, 64 threads a block, 260 bytes of shared memory (f at 0):\n"));
  EXPECT_THAT(text, Not(HasSubstr("?")));
}

// docs/pipelines.md shows the printed nest.
TEST(LoopNest, IsInTheDocumentationAsItIs) {
  std::stringstream document;
  document << std::ifstream(SAMITE_SOURCE_DIR "/docs/pipelines.md").rdbuf();
  const auto pipeline = pipelines::tensor_product_steps();
  for (const char *schedule : {"first", "tiled"}) {
    const std::string text = pipeline.loop_nest(Device::cuda(0), schedule);
    std::istringstream kernel(inside_of(text, "kernel tensor_product_output_1"));
    std::string shown = "```text\n";
    for (std::string line; std::getline(kernel, line);) shown += line.substr(6) + "\n";
    EXPECT_NE(document.str().find(shown + "```\n"), std::string::npos) << schedule << "\n" << shown;
  }
}

}  // namespace
}  // namespace samite::test
