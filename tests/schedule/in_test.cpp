// Funcs that a schedule puts between a Func and those that call it: in and clone_in.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class In : public testing::Test {
 protected:
  // Two consumers of f: sums(x) = f(x) + f(x + 1) and out(x) = sums(x) * f(x). Each schedule gives the same.
  template <class F>
  static auto pipeline(const F &directives) {
    return Pipeline{"p", {"out", "in"}, [&](Array<float, 1> out, Array<const float, 1> in) {
                      Var x{"x"};
                      Func f{"f"}, sums{"sums"}, output{"output", out};
                      f(x) = in(x) * 2.0f;
                      sums(x) = f(x) + f(x + 1);
                      output(x) = sums(x) * f(x);
                      schedule_cpu([&] { directives(f, sums, output, x); });
                      schedule_cuda([&] { directives(f, sums, output, x); });
                    }};
  }

  // The first line of the kernel of a Func, with its parameters.
  static std::string kernel_of(const std::string &func, const std::string &program) {
    const std::size_t begin = program.find("kernel @p_" + func + "(");
    return begin == std::string::npos ? "none" : program.substr(begin, program.find('\n', begin) - begin);
  }
  static constexpr auto reads = [](const std::string &func) { return HasSubstr("@" + func + ": array<const f32, 1>"); };

  template <class P>
  static void expect_right(const P &pipeline) {
    for (const int count : {1, 7, 37}) {
      std::vector<float> in, expected;
      for (int i = 0; i <= count; ++i) in.push_back(static_cast<float>(i * 5 % 11));
      for (std::size_t i = 0; i + 1 < in.size(); ++i) expected.push_back((2 * in[i] + 2 * in[i + 1]) * 2 * in[i]);
      const Buffer<float> out{Device::cpu(), {count}}, from{Device::cpu(), {count + 1}, in};
      pipeline.launch(out, from);
      EXPECT_EQ(out.to_vector(), expected) << count << " elements";
    }
  }
};

TEST_F(In, AllCallersCallTheNewFunc) {
  const auto p = pipeline([](auto &f, auto &sums, auto &output, const Var &x) {
    f.in().compute_root().vectorize(x, 8);
    sums.compute_root();
    output.parallel(x, 16);
  });
  expect_right(p);
  EXPECT_THAT(p.program(), AllOf(HasSubstr("// f_in"), Not(HasSubstr("// f\n")), HasSubstr("launch @p_output over")));
  EXPECT_THAT(kernel_of("sums", p.program()), reads("f_in"));
}

TEST_F(In, IsInlinedWhereNothingPlacesIt) {
  const auto p = pipeline([](auto &f, auto &, auto &, const Var &) { f.in(); });
  expect_right(p);
  EXPECT_THAT(p.program(), Not(HasSubstr("temporary")));
}

TEST_F(In, OneConsumerCallsIt) {
  const auto p = pipeline([](auto &f, auto &sums, auto &output, const Var &x) {
    f.compute_root();
    sums.compute_root();
    f.in(output).compute_at(output, "xo").vectorize(x);
    output.split(x, "xo", "xi", 8).parallel("xo");
  });
  expect_right(p);
  EXPECT_THAT(p.program(), AllOf(HasSubstr("// f\n"), Not(HasSubstr("// f_in\n"))));
  EXPECT_THAT(kernel_of("sums", p.program()), reads("f"));
}

TEST_F(In, OneForAConsumerGoesBeforeOneForAll) {
  const auto all_first = pipeline([](auto &f, auto &sums, auto &output, const Var &) {
    f.in().compute_root();
    f.in(output).compute_root();
    sums.compute_root();
  });
  const auto consumer_first = pipeline([](auto &f, auto &sums, auto &output, const Var &) {
    f.in(output).compute_root();
    f.in().compute_root();
    sums.compute_root();
  });
  expect_right(all_first);
  expect_right(consumer_first);
  EXPECT_THAT(kernel_of("sums", all_first.program()), reads("f_in"));
  EXPECT_THAT(kernel_of("output", all_first.program()), reads("f_in_1"));
  EXPECT_THAT(kernel_of("sums", consumer_first.program()), reads("f_in_1"));
  EXPECT_THAT(kernel_of("output", consumer_first.program()), reads("f_in"));
  for (const auto &p : {all_first, consumer_first})
    for (const std::string func : {"f_in", "f_in_1"})
      EXPECT_THAT(kernel_of(func, p.program()), reads("in")) << "both call f itself, which is inlined";
}

TEST_F(In, IsOneFuncHoweverOftenItIsAskedFor) {
  const auto p = pipeline([](auto &f, auto &sums, auto &output, const Var &x) {
    f.in().compute_root();
    f.in().vectorize(x, 4);
    f.clone_in(sums).compute_root();
    f.clone_in(sums).parallel(x, 4);
    output.parallel(x, 16);
  });
  expect_right(p);
  EXPECT_THAT(p.program(), AllOf(HasSubstr("// f_in\n"), HasSubstr("// f_clone\n"), Not(HasSubstr("// f_in_1")),
                                 Not(HasSubstr("// f_clone_1"))));
}

TEST_F(In, OfTheNewFunc) {
  const auto p = pipeline([](auto &f, auto &sums, auto &, const Var &) {
    f.in(sums).compute_root();
    f.in(sums).in().compute_root();
    sums.compute_root();
  });
  expect_right(p);
  EXPECT_THAT(kernel_of("f_in_in", p.program()), reads("f_in"));
  EXPECT_THAT(kernel_of("sums", p.program()), reads("f_in_in"));
}

TEST_F(In, ABlockLoadsItsPartIntoSharedMemory) {
  const auto p = pipeline([](auto &f, auto &, auto &output, const Var &x) {
    f.compute_root();
    output.split(x, "block", "thread", 32).gpu_blocks("block").gpu_threads("thread");
    f.in().compute_at(output, "block").store_in(Memory::shared);
  });
  EXPECT_THAT(p.program(Device::cuda(0)),
              AllOf(HasSubstr("local shared $0: f32[33:i64]"), HasSubstr("barrier"), HasSubstr("// f\n")));
}

TEST_F(In, OfAFuncOfTwoValuesWithAnUpdate) {
  const Pipeline p{"p", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
                     Var x{"x"};
                     Reduction k{"k", 0, 5};
                     Func<float, std::int32_t> both{"both"};
                     Func output{"output", out};
                     both(x) = values(in(x), 1);
                     both(x) = values(both(x).get<0>() + in(k), both(x).get<1>() + 1);
                     output(x) = both(x).get<0>() * cast<Float>(both(x).get<1>());
                     schedule_cpu([&] {
                       both.compute_root();
                       both.in().compute_at(output, x);
                       output.parallel(x);
                     });
                     schedule("clone", [&] {
                       both.clone_in(output).compute_at(output, x);
                       both.clone_in(output).update().unroll(k);
                       output.parallel(x);
                     });
                   }};
  const std::vector<float> in{1, 2, 3, 4, 5, 6, 7};
  std::vector<float> expected;
  for (const float value : in) expected.push_back((value + 15) * 6);
  for (const std::string schedule : {"cpu", "clone"}) {
    const Buffer<float> out{Device::cpu(), {7}}, from{Device::cpu(), {7}, in};
    p.launch({.schedule = schedule}, out, from);
    EXPECT_EQ(out.to_vector(), expected) << schedule;
  }
  EXPECT_THAT(p.program(), AllOf(HasSubstr("// both_0"), HasSubstr("// both_1"), HasSubstr("@p_both_1(")));
  EXPECT_THAT(p.program(Device::cpu(), "clone"), Not(HasSubstr("temporary"))) << "both itself is not needed";
}

TEST_F(In, ACloneIsComputedByAScheduleOfItsOwn) {
  const auto p = pipeline([](auto &f, auto &sums, auto &output, const Var &x) {
    f.compute_root().vectorize(x, 8);
    Stage copy = f.clone_in(output);
    copy.compute_at(output, "xo");
    sums.compute_root();
    output.split(x, "xo", "xi", 4).parallel("xo");
  });
  expect_right(p);
  EXPECT_THAT(kernel_of("sums", p.program()), reads("f"));
  EXPECT_THAT(kernel_of("output", p.program()), AllOf(reads("in"), Not(reads("f"))));
}

TEST_F(In, WhatItIsForHasToCallTheFunc) {
  const auto refusal = [](const auto &directives) {
    return message_of<UserError>([&] { pipeline(directives).program(); });
  };
  EXPECT_THAT(
      refusal([](auto &f, auto &sums, auto &, const Var &) { sums.in(f); }),
      AllOf(HasSubstr("in_test.cpp:"), HasSubstr("in of 'sums' for 'f', which does not call it; it calls: none")));
  EXPECT_THAT(refusal([](auto &f, auto &, auto &output, const Var &) { output.clone_in(f); }),
              HasSubstr("clone_in of 'output' for 'f', which does not call it"));
  EXPECT_THAT(refusal([](auto &, auto &, auto &output, const Var &) { output.in(); }),
              HasSubstr("in of 'output', which no other Func calls"));
  EXPECT_THAT(refusal([](auto &f, auto &, auto &, const Var &) { f.in(f); }),
              HasSubstr("in of 'f' for 'f' itself; name a Func that calls it"));
}

}  // namespace
}  // namespace samite::test
