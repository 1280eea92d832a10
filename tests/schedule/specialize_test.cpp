// Loops that are written twice, with and without a condition: specialize.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Specialize : public testing::Test {
 protected:
  // out(y, x) = in(y, x) + in(y, x + 1), then += the sum of row y.
  template <class F>
  static auto pipeline(const F &directives) {
    return Pipeline{"p", {"out", "in", "n"}, [&](Array<float, 2> out, Array<const float, 2> in, Int n) {
                      Var y{"y"}, x{"x"};
                      Reduction k{"k", 0, in.extent(1)};
                      Func f{"f"}, output{"output", out};
                      f(y, x) = in(y, x) * 2.0f;
                      output(y, x) = f(y, x) + f(y, x + 1) + cast<Float>(n);
                      output(y, x) += f(y, k);
                      schedule_cpu([&] { directives(f, output, out, n); });
                      schedule_cuda([&] { directives(f, output, out, n); });
                    }};
  }

  template <class P>
  static void expect_right(const P &pipeline) {
    for (const int n : {0, 3, 8})
      for (const int rows : {0, 1, 3})
        for (const int columns : {1, 7, 16, 48, 64, 65}) {
          const auto width = static_cast<std::size_t>(columns + 1);
          std::vector<float> in, expected;
          for (std::size_t i = 0; i < static_cast<std::size_t>(rows) * width; ++i)
            in.push_back(static_cast<float>(i * 7 % 13));
          for (std::size_t y = 0; y < static_cast<std::size_t>(rows); ++y) {
            float sum = static_cast<float>(n);
            for (std::size_t k = 0; k < width; ++k) sum += 2 * in[y * width + k];
            for (std::size_t x = 0; x + 1 < width; ++x)
              expected.push_back(sum + 2 * in[y * width + x] + 2 * in[y * width + x + 1]);
          }
          const Buffer<float> out{Device::cpu(), {rows, columns}}, from{Device::cpu(), {rows, columns + 1}, in};
          pipeline.launch(out, from, n);
          EXPECT_EQ(out.to_vector(), expected) << rows << " x " << columns << ", " << n;
        }
  }

  // The kernel of this name, as text.
  static std::string kernel(const std::string &program, const std::string &name) {
    const std::size_t begin = program.find("kernel @" + name + "(");
    if (begin == std::string::npos) return "no kernel " + name;
    return program.substr(begin, program.find("launch @", begin) - begin);
  }
};

TEST_F(Specialize, TheHostChoosesBetweenKernels) {
  const auto p = pipeline([](auto &f, auto &output, auto &, const Int &n) {
    f.compute_root();
    output.specialize(n == 8).parallel("y").vectorize("x", 8);
    output.parallel("x");
  });
  expect_right(p);
  EXPECT_THAT(p.program(), AllOf(HasSubstr("eq @n, 8"), HasSubstr("launch @p_output_special0 over"),
                                 HasSubstr("} else {"), HasSubstr("launch @p_output over")));
}

TEST_F(Specialize, AnExtentThatIsGivenIsAConstant) {
  const auto p = pipeline([](auto &f, auto &output, auto &out, const Int &) {
    f.compute_at(output, "y");
    output.parallel("y");
    output.specialize(out.extent(1) == 64).vectorize("x");
  });
  expect_right(p);
  const std::string special = kernel(p.program(), "p_output_special0");
  EXPECT_THAT(special, AllOf(HasSubstr("f32[65:i64]"), HasSubstr("for.thread"), HasSubstr("0 .. 64 step 1"),
                             Not(HasSubstr("extent @out, 1"))));
  EXPECT_THAT(kernel(p.program(), "p_output"), AllOf(HasSubstr("extent @out, 1"), Not(HasSubstr(".. 64"))));
}

TEST_F(Specialize, AnExtentThatIsAMultipleHasWholePieces) {
  const auto p = pipeline([](auto &f, auto &output, auto &out, const Int &) {
    f.compute_root();
    output.parallel("y").split("x", "xo", "xi", 16);
    output.specialize(out.extent(1) % 16 == 0).vectorize("xi");
  });
  expect_right(p);
  EXPECT_THAT(kernel(p.program(), "p_output_special0"),
              AllOf(HasSubstr("for.thread"), HasSubstr("0 .. 16 step 1"), Not(HasSubstr("min"))));
  EXPECT_THAT(kernel(p.program(), "p_output"), HasSubstr("min")) << "the last piece may be shorter";
}

TEST_F(Specialize, ARestIsKnownToo) {
  const auto p = pipeline([](auto &f, auto &output, auto &out, const Int &) {
    f.compute_root();
    output.parallel("y");
    output.specialize((out.extent(1) + 15) % 16 == 0 && out.extent(1) > 1).split("x", "xo", "xi", 16).vectorize("xi");
  });
  expect_right(p);
}

TEST_F(Specialize, AParameterThatIsTheExtentOfAReduction) {
  const Pipeline p{"p", {"out", "in", "n"}, [](Array<float, 1> out, Array<const float, 2> in, Int n) {
                     Var x{"x"};
                     Reduction k{"k", 0, n};
                     Func output{"output", out};
                     output(x) += in(x, k);
                     schedule_cpu([&] { output.update().specialize(n == 3).unroll(k); });
                   }};
  const Buffer<float> out{Device::cpu(), {2}}, in{Device::cpu(), {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}};
  p.launch(out, in, 3);
  EXPECT_THAT(out.to_vector(), testing::ElementsAre(6, 18));
  p.launch(out, in, 4);
  EXPECT_THAT(out.to_vector(), testing::ElementsAre(10, 26));
  EXPECT_THAT(kernel(p.program(), "p_output_1_special0"), Not(HasSubstr("0 .. @n")));
  EXPECT_THAT(kernel(p.program(), "p_output_1"), HasSubstr("0 .. @n"));
}

TEST_F(Specialize, TheFirstConditionThatHolds) {
  const auto p = pipeline([](auto &f, auto &output, auto &out, const Int &n) {
    f.compute_root();
    output.parallel("y");
    output.specialize(n > 5);
    output.specialize(n > 2 && out.extent(1) >= 16).vectorize("x", 16);
    output.update().specialize(n > 2).vectorize("x", 4);
  });
  expect_right(p);
  const std::string program = p.program();
  EXPECT_THAT(program, AllOf(HasSubstr("@p_output_special0"), HasSubstr("@p_output_special1"),
                             HasSubstr("@p_output_1_special0")));
  EXPECT_LT(program.find("gt @n, 5"), program.find("gt @n, 2"));
}

TEST_F(Specialize, ASpecializationOfASpecialization) {
  const auto p = pipeline([](auto &f, auto &output, auto &out, const Int &n) {
    f.compute_root();
    output.parallel("y");
    Stage long_rows = output.specialize(out.extent(1) >= 16);
    long_rows.vectorize("x", 16);
    long_rows.specialize(n == 0).unroll("x", 2);
  });
  expect_right(p);
  EXPECT_THAT(p.program(),
              AllOf(HasSubstr("@p_output_special0_special0"), HasSubstr("launch @p_output_special0 over")));
}

TEST_F(Specialize, InsideOfAKernelItIsABranch) {
  const auto p = pipeline([](auto &f, auto &output, auto &out, const Int &) {
    output.parallel("y");
    output.update().parallel("y");
    f.compute_at(output, "y");
    f.specialize(out.extent(1) % 16 == 15).vectorize("x", 16);
  });
  expect_right(p);
  EXPECT_THAT(kernel(p.program(), "p_output"),
              AllOf(HasSubstr("if %"), HasSubstr("} else {"), HasSubstr("for.thread")));
}

TEST_F(Specialize, WhatIsSaidLaterIsOfTheOthers) {
  const auto p = pipeline([](auto &f, auto &output, auto &, const Int &n) {
    f.compute_root();
    output.split("x", "xo", "xi", 4);
    output.specialize(n == 3);
    output.parallel("xo");
  });
  expect_right(p);
  EXPECT_THAT(p.program(), Not(HasSubstr("launch @p_output_special0 over (%1)")));
}

TEST_F(Specialize, ThreadsOfARowThatIsKnownToBeShort) {
  const Pipeline p{"p", {"a", "b", "in"}, [](Array<float, 1> a, Array<float, 1> b, Array<const float, 1> in) {
                     Var x{"x"};
                     Func f{"f"}, first{"first", a}, second{"second", b};
                     f(x) = in(x);
                     first(x) = f(x) + f(x + 1);
                     second(x) = f(x) - f(x + 1);
                     schedule_cuda([&] {
                       f.compute_root();
                       f.specialize(a.extent(0) <= 255 && b.extent(0) < 100).gpu_threads(x);
                       f.split(x, "block", "thread", 64).gpu_blocks("block").gpu_threads("thread");
                     });
                   }};
  EXPECT_THAT(kernel(p.program(Device::cuda(0)), "p_f_special0"), HasSubstr("0 .. 256 step 1"));
  EXPECT_THAT(kernel(p.program(Device::cuda(0)), "p_f"), HasSubstr("0 .. 64 step 1"));
}

TEST_F(Specialize, AConditionThatReadsAnArray) {
  EXPECT_THAT(message_of<UserError>([] {
                Pipeline{"p",
                         {"out", "in"},
                         [](Array<float, 1> out, Array<const float, 1> in) {
                           Var x{"x"};
                           Func output{"output", out};
                           output(x) = in(x);
                           schedule_cpu([&] { output.specialize(in(0) > 1.0f).vectorize(x); });
                         }}
                    .program();
              }),
              AllOf(HasSubstr("specialize_test.cpp:"),
                    HasSubstr("the condition of a specialization reads an array, and chooses between loops before they "
                              "run; ask for parameters and extents")));
}

TEST_F(Specialize, LoopsThatTheCopyDoesNotHave) {
  EXPECT_THAT(message_of<UserError>([] {
                pipeline([](auto &, auto &output, auto &, const Int &n) {
                  output.specialize(n == 3).vectorize("z");
                }).program();
              }),
              HasSubstr("the specialization of 'output' has no loop 'z'; its loops are, from the outermost one: y, x"));
}

TEST_F(Specialize, WhatThreadsComputeOfSharedMemory) {
  EXPECT_THAT(message_of<UserError>([] {
                Pipeline{"p",
                         {"out", "in"},
                         [](Array<float, 1> out, Array<const float, 1> in) {
                           Var x{"x"};
                           Func f{"f"}, g{"g"}, output{"output", out};
                           f(x) = in(x);
                           g(x) = f(x) + f(x + 1);
                           output(x) = g(x) + g(x + 1);
                           schedule_cuda([&] {
                             output.split(x, "block", "thread", 32).gpu_blocks("block").gpu_threads("thread");
                             g.compute_at(output, "thread").specialize(out.extent(0) > 5);
                             f.compute_at(g, x).store_in(Memory::shared);
                           });
                         }}
                    .program(Device::cuda(0));
              }),
              HasSubstr("'g' is specialized and computed by each thread"));
}

}  // namespace
}  // namespace samite::test
