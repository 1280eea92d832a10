// Funcs that share loops: compute_with.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

int times(const std::string &text, const std::string &part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

class ComputeWith : public testing::Test {
 protected:
  // Sums and differences of neighbours; the output needs more of one than of the other.
  template <class F>
  static auto pipeline(const F &directives) {
    return Pipeline{"p", {"out", "in"}, [&](Array<float, 2> out, Array<const float, 2> in) {
                      Var y{"y"}, x{"x"};
                      Func image = repeat_edge(in), sums{"sums"}, differences{"differences"}, output{"output", out};
                      sums(y, x) = image(y, x) + image(y, x + 1);
                      differences(y, x) = image(y, x) - image(y + 1, x);
                      output(y, x) = sums(y, x) * differences(y - 1, x) + differences(y + 2, x + 3);
                      schedule_cpu([&] { directives(sums, differences, output, y, x); });
                      schedule_cuda([&] { directives(sums, differences, output, y, x); });
                    }};
  }

  template <class P>
  static void expect_right(const P &pipeline) {
    for (const auto &[rows, columns] : std::vector<std::pair<int, int>>{{1, 1}, {5, 7}, {16, 8}, {19, 33}}) {
      std::vector<float> in;
      for (int i = 0; i < rows * columns; ++i) in.push_back(static_cast<float>(i * 37 % 101));
      const auto at = [&, rows = rows, columns = columns](int y, int x) {
        y = std::clamp(y, 0, rows - 1), x = std::clamp(x, 0, columns - 1);
        return in[static_cast<std::size_t>(y * columns + x)];
      };
      const auto difference = [&](int y, int x) { return at(y, x) - at(y + 1, x); };
      std::vector<float> expected;
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x)
          expected.push_back((at(y, x) + at(y, x + 1)) * difference(y - 1, x) + difference(y + 2, x + 3));
      const Buffer<float> out{Device::cpu(), {rows, columns}}, from{Device::cpu(), {rows, columns}, in};
      pipeline.launch(out, from);
      EXPECT_EQ(out.to_vector(), expected) << rows << " x " << columns;
    }
  }

  // Two arrays of different extents, from one.
  template <class F>
  static std::string message(const F &directives, bool gpu = false) {
    return message_of<UserError>([&] {
      Pipeline{"p",
               {"a", "b", "in"},
               [&](Array<float, 2> a, Array<float, 2> b, Array<const float, 2> in) {
                 Var y{"y"}, x{"x"};
                 Func f{"f", a}, g{"g", b}, h{"h"};
                 h(y, x) = in(y, x) * 2.0f;
                 f(y, x) = h(y, x);
                 f(y, x) += 1.0f;
                 g(y, x) = h(y, x) + 1.0f;
                 g(y, x) *= 2.0f;
                 schedule_cpu([&] { directives(f, g, h, y, x); });
                 schedule_cuda([&] { directives(f, g, h, y, x); });
               }}
          .program(gpu ? Device::cuda(0) : Device::cpu());
    });
  }
};

TEST_F(ComputeWith, AllLoopsAreShared) {
  const auto p = pipeline([](auto &sums, auto &differences, auto &, const Var &y, const Var &x) {
    for (auto *f : {&sums, &differences}) f->compute_root().parallel(y);
    differences.compute_with(sums, x);
  });
  expect_right(p);
  const std::string text = p.loop_nest();
  EXPECT_THAT(text,
              AllOf(HasSubstr("produce sums and differences:\n"), HasSubstr("parallel sums.y and differences.y:\n"),
                    HasSubstr("for sums.x and differences.x:\n"),
                    HasSubstr("sums(y, x) = …\n          differences(y, x) = …\n")));
  EXPECT_EQ(times(text, "kernel p_"), 2) << "one for both, and the output's";
}

TEST_F(ComputeWith, TheOuterLoopIsShared) {
  const auto p = pipeline([](auto &sums, auto &differences, auto &output, const Var &y, const Var &x) {
    sums.compute_root().parallel(y).vectorize(x, 8);
    differences.compute_root().parallel(y).split(x, "xo", "xi", 3).compute_with(sums, y);
    output.parallel(y);
  });
  expect_right(p);
  EXPECT_THAT(p.loop_nest(), AllOf(HasSubstr("parallel sums.y and differences.y:\n"), HasSubstr("for sums.x:\n"),
                                   HasSubstr("for differences.xo:\n")));
}

TEST_F(ComputeWith, InTiles) {
  expect_right(pipeline([](auto &sums, auto &differences, auto &output, const Var &y, const Var &x) {
    const Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
    output.tile(x, y, xo, yo, xi, yi, 8, 4).parallel(yo);
    for (auto *f : {&sums, &differences}) f->compute_at(output, xo).vectorize(x, 4).unroll(y, 2);
    differences.compute_with(sums, x);
  }));
}

TEST_F(ComputeWith, InARingOfRows) {
  expect_right(pipeline([](auto &sums, auto &differences, auto &output, const Var &y, const Var &x) {
    output.split(y, "yo", "yi", 4).parallel("yo").vectorize(x, 4);
    for (auto *f : {&sums, &differences}) f->store_at(output, "yo").compute_at(output, "yi").vectorize(x, 4);
    differences.compute_with(sums, x);
  }));
}

TEST_F(ComputeWith, ALoopOfTheHost) {
  const auto p = pipeline([](auto &sums, auto &differences, auto &output, const Var &y, const Var &x) {
    for (auto *f : {&sums, &differences}) f->compute_root().parallel(x);
    differences.compute_with(sums, y);
    output.parallel(y);
  });
  expect_right(p);
  EXPECT_THAT(p.loop_nest(), HasSubstr("on the host, for sums.y and differences.y:\n      kernel p_sums:\n"));
}

TEST_F(ComputeWith, BlocksAndThreads) {
  const auto p = pipeline([](auto &sums, auto &differences, auto &output, const Var &y, const Var &x) {
    const Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
    for (auto *f : {&sums, &differences}) f->compute_root().gpu_tile(x, y, xo, yo, xi, yi, 8, 4);
    differences.compute_with(sums, xi);
    output.gpu_tile(x, y, xo, yo, xi, yi, 8, 4);
  });
  expect_right(p);
  const std::string text = p.loop_nest(Device::cuda(0));
  EXPECT_THAT(text, AllOf(HasSubstr("gpu_block sums.yo and differences.yo:\n"),
                          HasSubstr("gpu_thread sums.xi and differences.xi in 0 .. 8:\n")));
  EXPECT_EQ(times(text, "kernel p_"), 2);
}

TEST_F(ComputeWith, ThreadsOfTheirOwnInBlocksOfBoth) {
  const auto p = pipeline([](auto &sums, auto &differences, auto &output, const Var &y, const Var &x) {
    const Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
    sums.compute_root().gpu_tile(x, y, xo, yo, xi, yi, 8, 4);
    differences.compute_root().gpu_tile(x, y, xo, yo, xi, yi, 8, 4).reorder(yi, xi).compute_with(sums, xo);
    output.gpu_tile(x, y, xo, yo, xi, yi, 8, 4);
  });
  expect_right(p);
  const std::string text = p.loop_nest(Device::cuda(0));
  EXPECT_LT(text.find("gpu_thread sums.yi in"), text.find("gpu_thread differences.xi in"));
  EXPECT_EQ(times(text, "kernel p_"), 2);
}

TEST_F(ComputeWith, WhatBothNeedIsComputedOnce) {
  const auto p = Pipeline{"p", {"a", "b", "in"}, [&](Array<float, 1> a, Array<float, 1> b, Array<const float, 1> in) {
                            Var x{"x"}, xo{"xo"}, xi{"xi"};
                            Func twice{"twice"}, f{"f", a}, g{"g", b};
                            twice(x) = in(x) * 2.0f;
                            f(x) = twice(x) + twice(x + 1);
                            g(x) = twice(x + 2) + 1.0f;
                            schedule_cpu([&] {
                              for (const Func<float> &of : {f, g}) of.split(x, xo, xi, 8).parallel(xo);
                              g.compute_with(f, xo);
                              twice.compute_at(f, xo);
                            });
                          }};
  EXPECT_EQ(times(p.loop_nest(), "produce twice:"), 1);
  for (const auto &[first, second] : std::vector<std::pair<int, int>>{{1, 1}, {24, 3}, {3, 24}, {16, 17}}) {
    std::vector<float> in, f, g;
    for (int i = 0; i < 32; ++i) in.push_back(static_cast<float>(i * i % 23));
    for (std::size_t i = 0; i < static_cast<std::size_t>(first); ++i) f.push_back(2 * in[i] + 2 * in[i + 1]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(second); ++i) g.push_back(2 * in[i + 2] + 1);
    const Buffer<float> a{Device::cpu(), {first}}, b{Device::cpu(), {second}}, from{Device::cpu(), {32}, in};
    p.launch(a, b, from);
    EXPECT_EQ(a.to_vector(), f) << first << ", " << second;
    EXPECT_EQ(b.to_vector(), g) << first << ", " << second;
  }
}

TEST_F(ComputeWith, UpdatesShareLoops) {
  const auto p = Pipeline{"p", {"a", "b", "in"}, [&](Array<float, 1> a, Array<float, 1> b, Array<const float, 2> in) {
                            Var x{"x"};
                            Reduction k{"k", 0, in.extent(1)};
                            Func f{"f", a}, g{"g", b};
                            f(x) = 1.0f;
                            f(x) += in(x, k);
                            g(x) = 0.0f;
                            g(x) = max(g(x), in(x, k));
                            g(x) += 0.5f;
                            schedule_cpu([&] {
                              f.update().parallel(x);
                              g.update().parallel(x).compute_with(f.update(), k);
                            });
                          }};
  EXPECT_THAT(p.loop_nest(), AllOf(HasSubstr("update 0 of f and update 0 of g:"), HasSubstr("for f.k and g.k:")));
  std::vector<float> in, f(5, 1), g(5, 0);
  for (int i = 0; i < 35; ++i) in.push_back(static_cast<float>(i * 13 % 29));
  for (std::size_t i = 0; i < 35; ++i) f[i / 7] += in[i], g[i / 7] = std::max(g[i / 7], in[i]);
  for (float &value : g) value += 0.5f;
  const Buffer<float> a{Device::cpu(), {5}}, b{Device::cpu(), {5}}, from{Device::cpu(), {5, 7}, in};
  p.launch(a, b, from);
  EXPECT_EQ(a.to_vector(), f);
  EXPECT_EQ(b.to_vector(), g);
}

// Refused programs.

TEST_F(ComputeWith, IsRefusedWhereItWouldReadWhatIsNotComputed) {
  EXPECT_THAT(
      message_of<UserError>([] {
        Pipeline{"p",
                 {"b", "in"},
                 [](Array<float, 1> b, Array<const float, 1> in) {
                   Var x{"x"};
                   Func f{"f"}, between{"between"}, g{"g", b};
                   f(x) = in(x);
                   between(x) = f(x + 1);
                   g(x) = between(x);
                   schedule_cpu([&] {
                     f.compute_root();
                     g.compute_with(f, x);
                   });
                 }}
            .program();
      }),
      AllOf(HasSubstr("compute_with_test.cpp:"),
            HasSubstr("'g' calls 'f' by way of 'between', and the loop 'x' is one for both: it would read values "
                      "of 'f' that are not yet computed; compute 'f' before, or at a loop of 'g', without "
                      "compute_with")));
}

TEST_F(ComputeWith, IsRefusedWhereLoopsAreNotTheSame) {
  EXPECT_THAT(
      message([](auto &f, auto &g, auto &, const Var &y, const Var &x) {
        f.parallel(y);
        g.vectorize(x).compute_with(f, x);
      }),
      HasSubstr("'g' is computed with 'f' as far as the loop 'x', and their loops are not the same so far: split, "
                "order and mark them alike; the loops of 'g' are: y, vectorized x; those of 'f': parallel y, x"));
  EXPECT_THAT(message([](auto &f, auto &g, auto &, const Var &, const Var &x) {
                f.split(x, "xo", "xi", 8);
                g.serial(x).compute_with(f, "xi");
              }),
              HasSubstr("'g' is computed with 'f' as far as the loop 'xi', which both must have"));
}

TEST_F(ComputeWith, IsRefusedAtDifferentPlaces) {
  EXPECT_THAT(
      message([](auto &f, auto &, auto &h, const Var &, const Var &x) {
        h.compute_at(f, x);
        h.compute_with(f, x);
      }),
      HasSubstr("'h' is computed with 'f', and 'h' is computed at the loop 'x' of 'f', 'f' computed at the root; "
                "compute both at the root, or both at the same loop"));
  EXPECT_THAT(message([](auto &f, auto &, auto &h, const Var &, const Var &x) { f.compute_with(h, x); }),
              HasSubstr("'h' inlined; compute both at the root"));
}

TEST_F(ComputeWith, IsRefusedForDefinitionsOfOneFunc) {
  EXPECT_THAT(message([](auto &f, auto &, auto &, const Var &, const Var &x) { f.update().compute_with(f, x); }),
              HasSubstr("update(0) of 'f' is computed with another definition of 'f'"));
}

TEST_F(ComputeWith, IsRefusedAgainstTheOrderOfDefinitions) {
  EXPECT_THAT(
      message([](auto &f, auto &g, auto &, const Var &y, const Var &x) {
        for (auto *of : {&f, &g}) of->serial(y), of->update().serial(y);
        g.compute_with(f.update(), x);
        g.update().compute_with(f, x);
      }),
      HasSubstr("'g' is computed with update(0) of 'f', and update(0) of 'g' with 'f': definitions of a Func are "
                "computed one after another"));
}

TEST_F(ComputeWith, IsRefusedInAChain) {
  EXPECT_THAT(message([](auto &f, auto &g, auto &h, const Var &y, const Var &) {
                h.compute_root();
                g.compute_with(h, y);
                f.compute_with(g, y);
              }),
              HasSubstr("'f' is computed with 'g', and 'g' is computed with 'h' itself; compute both with 'h'"));
}

TEST_F(ComputeWith, IsRefusedTwice) {
  EXPECT_THAT(message([](auto &f, auto &g, auto &h, const Var &y, const Var &x) {
                f.compute_with(g, y);
                f.compute_with(h, x);
              }),
              HasSubstr("'f' is computed with 'g' already, and now with 'h'; say one of them"));
}

TEST_F(ComputeWith, IsRefusedBetweenLoopsOfThreads) {
  EXPECT_THAT(
      message(
          [](auto &f, auto &g, auto &, const Var &y, const Var &x) {
            const Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
            for (auto *of : {&f, &g}) of->gpu_tile(x, y, xo, yo, xi, yi, 8, 4);
            g.compute_with(f, yi);
          },
          true),
      HasSubstr("'g' and 'f' share the loop 'yi', one of threads, and not 'xi' inside of it; share the loops of "
                "threads as far as 'xi', or none of them"));
}

TEST_F(ComputeWith, IsRefusedWhereOneIsSpecialized) {
  EXPECT_THAT(message([](auto &f, auto &g, auto &, const Var &y, const Var &) {
                f.specialize(Int(3) < 4);
                g.compute_with(f, y);
              }),
              HasSubstr("'g' is computed with 'f', and 'f' is specialized; loops that are shared have no "
                        "specializations"));
}

}  // namespace
}  // namespace samite::test
