// Reductions in two steps, through a Func of partial results: rfactor.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Small whole numbers, whose sums are exact in any order.
std::vector<float> numbers(int count) {
  std::vector<float> made;
  for (int i = 0; i < count; ++i) made.push_back(static_cast<float>(i * 7 % 13) - 5);
  return made;
}

class Rfactor : public testing::Test {
 protected:
  // out(x) = the sum of in(x, k) over k.
  template <class F>
  static auto sums(const F &directives) {
    return Pipeline{"p", {"out", "in"}, [&](Array<float, 1> out, Array<const float, 2> in) {
                      Var x{"x"};
                      Reduction k{"k", 0, in.extent(1)};
                      Func output{"output", out};
                      output(x) += in(x, k);
                      schedule_cpu([&] { directives(output, x, Var(k)); });
                      schedule_cuda([&] { directives(output, x, Var(k)); });
                    }};
  }

  template <class P>
  static void expect_sums(const P &pipeline) {
    for (const int rows : {1, 5})
      for (const int columns : {0, 1, 7, 8, 9, 101}) {
        const std::vector<float> in = numbers(rows * columns);
        std::vector<float> expected(static_cast<std::size_t>(rows));
        for (std::size_t i = 0; i < in.size(); ++i) expected[i / static_cast<std::size_t>(columns)] += in[i];
        const Buffer<float> out{Device::cpu(), {rows}}, from{Device::cpu(), {rows, columns}, in};
        pipeline.launch(out, from);
        EXPECT_EQ(out.to_vector(), expected) << rows << " x " << columns;
      }
  }

  template <class F>
  static std::string refusal(const F &directives) {
    return message_of<UserError>([&] { sums(directives).program(); });
  }
};

TEST_F(Rfactor, TheOuterLoopOfASplit) {
  const auto p = sums([](auto &output, const Var &x, const Var &k) {
    Stage partial = output.update().split(k, "ko", "ki", 8).rfactor("ko", "u");
    partial.compute_root().parallel("u").update().parallel("u");
    output.update().parallel(x);
  });
  expect_sums(p);
  EXPECT_THAT(p.program(), AllOf(HasSubstr("// output_partial"), HasSubstr("launch @p_output_partial_1 over")));
}

TEST_F(Rfactor, TheInnerLoopOfASplitAsLanes) {
  const auto p = sums([](auto &output, const Var &x, const Var &k) {
    Stage partial = output.update().split(k, "ko", "ki", 8).rfactor("ki", "u");
    partial.compute_at(output, x).vectorize("u").update().reorder("u", "ko", x).vectorize("u");
    output.update().parallel(x).unroll("ki");
  });
  expect_sums(p);
  EXPECT_THAT(p.program(), HasSubstr("for.thread")) << "eight sums at a time";
}

TEST_F(Rfactor, AWholeVariable) {
  const auto p = sums([](auto &output, const Var &, const Var &k) {
    output.update().rfactor(k, "u").compute_root().update().parallel("u");
  });
  expect_sums(p);
}

TEST_F(Rfactor, LoopsThatAreSplitAgain) {
  expect_sums(sums([](auto &output, const Var &, const Var &k) {
    Stage partial = output.update()
                        .split(k, "ko", "ki", 12)
                        .split("ki", "kio", "kii", 5)
                        .split("ko", "koo", "koi", 3)
                        .rfactor({{"koi", "u"}, {"kii", "v"}});
    partial.compute_root().update().parallel("u");
  }));
}

TEST_F(Rfactor, LoopsThatAreFusedAndRenamed) {
  expect_sums(sums([](auto &output, const Var &, const Var &k) {
    Stage partial = output.update()
                        .split(k, "ko", "ki", 6)
                        .split("ki", "a", "b", 3)
                        .reorder("a", "b")
                        .fuse("b", "a", "c")
                        .rename("c", "d")
                        .rfactor("d", "u");
    partial.compute_root().update().vectorize("u");
  }));
}

TEST_F(Rfactor, ALoopThatKeepsItsName) {
  expect_sums(sums([](auto &output, const Var &, const Var &k) {
    output.update().split(k, k, "ki", 4).rfactor(k, "u").compute_root().update().vectorize("u");
  }));
}

TEST_F(Rfactor, OfThePartialResultsAgain) {
  expect_sums(sums([](auto &output, const Var &x, const Var &k) {
    Stage blocks = output.update().split(k, "ko", "ki", 16).rfactor("ko", "u");
    blocks.compute_at(output, x);
    Stage lanes = blocks.update().split("ki", "kio", "kii", 4).rfactor("kii", "v");
    lanes.compute_at(blocks, "u").vectorize("v").update().reorder("v", "kio").vectorize("v");
    output.update().parallel(x);
  }));
}

TEST_F(Rfactor, OfWhatIsLeft) {
  expect_sums(sums([](auto &output, const Var &, const Var &k) {
    output.update().split(k, "ko", "ki", 3).rfactor("ko", "u").compute_root();
    output.update().split("ko", "koo", "koi", 4).rfactor("koi", "v").compute_root();
  }));
}

TEST_F(Rfactor, DirectivesBeforeItGoWhereTheirLoopsAre) {
  const auto p = sums([](auto &output, const Var &x, const Var &k) {
    Stage partial = output.update()
                        .split(k, "ko", "ki", 8)
                        .unroll("ki")
                        .split(x, "xo", "xi", 2)
                        .reorder("xi", "ko", "xo")
                        .parallel("xo")
                        .rfactor("ko", "u");
    partial.compute_root();
  });
  expect_sums(p);
  EXPECT_THAT(p.program(), HasSubstr("launch @p_output_1 over"));
}

TEST_F(Rfactor, WhatIsCalledIsComputedNoFurtherThanBefore) {
  // `doubled` reads all of the array, and nothing beyond it, though the last piece of eight goes beyond.
  const Pipeline p{"p", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
                     Var x{"x"};
                     Reduction k{"k", 0, in.extent(0)};
                     Func doubled{"doubled"}, output{"output", out};
                     doubled(x) = in(x) * 2.0f;
                     output(x) += doubled(k);
                     schedule_cpu([&] {
                       doubled.compute_root();
                       Stage partial = output.update().split(k, "ko", "ki", 8).rfactor("ko", "u");
                       partial.compute_root().update().parallel("u");
                       doubled.in(partial).compute_at(partial, "u");
                     });
                   }};
  EXPECT_THAT(p.program(), HasSubstr("min")) << "a piece";
  const Buffer<float> out{Device::cpu(), {2}}, in{Device::cpu(), {11}, std::vector<float>(11, 1)};
  p.launch(out, in);
  EXPECT_THAT(out.to_vector(), testing::ElementsAre(22, 22));
}

TEST_F(Rfactor, OfADomainOfTwoVariablesWithACondition) {
  const Pipeline p{"p", {"out", "in"}, [](Array<float, 1> out, Array<const float, 2> in) {
                     Var x{"x"};
                     Reduction r{"r", {{1, in.extent(0) - 1}, {0, in.extent(1)}}};
                     r.where(r[0] + r[1] < 9);
                     Func output{"output", out};
                     output(x) = 1.0f;
                     output(x) += in(r[0], r[1]) * cast<Float>(x + 1);
                     schedule_cpu([&] {
                       Stage partial = output.update().rfactor(r[0], "u");
                       partial.compute_root().update().split(r[1], "ro", "ri", 4).unroll("ri").parallel("u");
                     });
                     schedule("both", [&] {
                       Stage partial = output.update().split(r[1], "ro", "ri", 4).rfactor({{"ri", "u"}, {r[0], "v"}});
                       partial.compute_root().update().vectorize("u");
                     });
                   }};
  const int rows = 5, columns = 7;
  const std::vector<float> in = numbers(rows * columns);
  float sum = 0;
  for (int a = 1; a < rows; ++a)
    for (int b = 0; b < columns; ++b)
      if (a + b < 9) sum += in[static_cast<std::size_t>(a * columns + b)];
  for (const std::string schedule : {"cpu", "both"}) {
    const Buffer<float> out{Device::cpu(), {3}}, from{Device::cpu(), {rows, columns}, in};
    p.launch({.schedule = schedule}, out, from);
    EXPECT_THAT(out.to_vector(), testing::ElementsAre(1 + sum, 1 + 2 * sum, 1 + 3 * sum)) << schedule;
  }
}

TEST_F(Rfactor, AHistogram) {
  const Pipeline p{"p", {"out", "in"}, [](Array<std::int32_t, 1> out, Array<const std::int32_t, 2> in) {
                     Var bin{"bin"};
                     Reduction r{"r", {{0, in.extent(0)}, {0, in.extent(1)}}};
                     Func<std::int32_t> output{"output", out};
                     output(bin) = 0;
                     output(clamp(in(r[0], r[1]), 0, 9)) += 1;
                     schedule_cpu([&] {
                       Stage partial = output.update().rfactor(r[0], "row");
                       partial.compute_root().parallel("row").update().parallel("row");
                       output.update().vectorize(bin);
                     });
                   }};
  std::vector<std::int32_t> in, expected(10);
  for (int i = 0; i < 7 * 31; ++i) in.push_back(i * i % 10);
  for (const std::int32_t value : in) ++expected[static_cast<std::size_t>(value)];
  const Buffer<std::int32_t> out{Device::cpu(), {10}}, from{Device::cpu(), {7, 31}, in};
  p.launch(out, from);
  EXPECT_EQ(out.to_vector(), expected);
}

TEST_F(Rfactor, AnIndexOfWhatIsLeftStaysOne) {
  // output(r0) = the sum of row r0, whose partial results are added only to row r0.
  const Pipeline p{"p", {"out", "in"}, [](Array<float, 1> out, Array<const float, 2> in) {
                     Var x{"x"};
                     Reduction r{"r", {{0, in.extent(0)}, {0, in.extent(1)}}};
                     Func output{"output", out};
                     output(x) = 0.0f;
                     output(r[0]) += in(r[0], r[1]);
                     schedule_cpu([&] { output.update().rfactor(r[0], "u").compute_at(output, r[0]); });
                   }};
  const std::vector<float> in = numbers(3 * 4);
  const Buffer<float> out{Device::cpu(), {3}}, from{Device::cpu(), {3, 4}, in};
  p.launch(out, from);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(out.to_vector()[i], in[4 * i] + in[4 * i + 1] + in[4 * i + 2] + in[4 * i + 3]);
}

// Each operation, from its identity on, with a partial result that nothing goes into.
template <class T, class F>
void expect_reduces(const F &update, T first, const std::function<T(T, T)> &combined) {
  const Pipeline p{"p", {"out", "in"}, [&](Array<T, 1> out, Array<const T, 1> in) {
                     Var x{"x"};
                     Reduction k{"k", 0, in.extent(0)};
                     k.where(k[0] != 3);
                     Func<T> output{"output", out};
                     output(x) = Traced<T>(first);
                     update(output, x, in(k));
                     schedule_cpu([&] {
                       output.update().split(k, "ko", "ki", 1).rfactor("ko", "u").compute_root().update().parallel("u");
                     });
                   }};
  std::vector<T> in;
  for (int i = 0; i < 9; ++i) in.push_back(static_cast<T>(i * 5 % 7 + 1));
  T expected = first;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (i != 3) expected = combined(expected, in[i]);
  const Buffer<T> out{Device::cpu(), {2}}, from{Device::cpu(), {9}, in};
  p.launch(out, from);
  EXPECT_EQ(out.to_vector(), (std::vector<T>{expected, expected}));
}

template <class T>
void expect_arithmetic() {
  expect_reduces<T>([](auto &f, const Var &x, const auto &v) { f(x) += v; }, T(3), std::plus<T>());
  expect_reduces<T>([](auto &f, const Var &x, const auto &v) { f(x) -= v; }, T(100), std::minus<T>());
  expect_reduces<T>([](auto &f, const Var &x, const auto &v) { f(x) = v * f(x); }, T(1), std::multiplies<T>());
  expect_reduces<T>([](auto &f, const Var &x, const auto &v) { f(x) = min(f(x), v); }, T(5),
                    [](T a, T b) { return std::min(a, b); });
  expect_reduces<T>([](auto &f, const Var &x, const auto &v) { f(x) = max(v, f(x)); }, T(0),
                    [](T a, T b) { return std::max(a, b); });
}
template <class T>
void expect_bits() {
  expect_reduces<T>([](auto &f, const Var &x, const auto &v) { f(x) = f(x) & v; }, T(7), std::bit_and<T>());
  expect_reduces<T>([](auto &f, const Var &x, const auto &v) { f(x) = f(x) | v; }, T(8), std::bit_or<T>());
  expect_reduces<T>([](auto &f, const Var &x, const auto &v) { f(x) = f(x) ^ v; }, T(1), std::bit_xor<T>());
}

TEST(RfactorOperations, OfFloatingNumbers) {
  expect_arithmetic<float>();
  expect_arithmetic<double>();
}
TEST(RfactorOperations, OfIntegers) {
  expect_arithmetic<std::int32_t>();
  expect_arithmetic<std::uint32_t>();
  expect_arithmetic<std::int64_t>();
  expect_arithmetic<std::uint64_t>();
  expect_bits<std::int32_t>();
  expect_bits<std::uint64_t>();
}
TEST(RfactorOperations, OfNarrowIntegersLeastAndGreatest) {
  const auto least = [](auto &f, const Var &x, const auto &v) { f(x) = min(f(x), v); };
  const auto greatest = [](auto &f, const Var &x, const auto &v) { f(x) = max(f(x), v); };
  expect_reduces<std::int8_t>(least, 6, [](auto a, auto b) { return std::min(a, b); });
  expect_reduces<std::int8_t>(greatest, -9, [](auto a, auto b) { return std::max(a, b); });
  expect_reduces<std::uint16_t>(least, 6, [](auto a, auto b) { return std::min(a, b); });
  expect_reduces<std::uint16_t>(greatest, 0, [](auto a, auto b) { return std::max(a, b); });
}

TEST_F(Rfactor, EachOfSeveralValuesByItsOperation) {
  const Pipeline p{
      "p", {"sums", "greatest", "in"}, [](Array<float, 1> sums, Array<float, 1> greatest, Array<const float, 1> in) {
        Var x{"x"};
        Reduction k{"k", 0, in.extent(0)};
        Func<float, float> both{"both", sums, greatest};
        both(x) = values(0.0f, -100.0f);
        both(x) = values(both(x).get<0>() + in(k), max(both(x).get<1>(), in(k)));
        schedule_cpu([&] {
          Stage partial = both.update().split(k, "ko", "ki", 4).rfactor("ki", "u");
          partial.compute_at(both, x).update().vectorize("u");
          both.update().parallel(x);
        });
      }};
  const std::vector<float> in = numbers(18);
  float sum = 0;
  for (const float value : in) sum += value;
  const Buffer<float> sums{Device::cpu(), {1}}, greatest{Device::cpu(), {1}}, from{Device::cpu(), {18}, in};
  p.launch(sums, greatest, from);
  EXPECT_EQ(sums.to_vector()[0], sum);
  EXPECT_EQ(greatest.to_vector()[0], *std::ranges::max_element(in));
}

TEST_F(Rfactor, ThreadsOfABlockHavePartialSums) {
  const auto p = sums([](auto &output, const Var &x, const Var &k) {
    output.gpu_blocks(x);
    Stage partial = output.update().gpu_blocks(x).split(k, "ko", "ki", 128).rfactor("ki", "u");
    partial.compute_at(output, x).store_in(Memory::shared).gpu_threads("u").update().gpu_threads("u");
  });
  EXPECT_THAT(p.program(Device::cuda(0)),
              AllOf(HasSubstr("local shared $0: f32[128:i64]"), HasSubstr("barrier"), HasSubstr("0 .. 128")));
}

// Refused programs.

TEST_F(Rfactor, LoopsThatAreNotThere) {
  EXPECT_THAT(refusal([](auto &output, const Var &, const Var &) { output.update().rfactor("z", "u"); }),
              AllOf(HasSubstr("rfactor_test.cpp:"),
                    HasSubstr("rfactor: update(0) of 'output' has no loop 'z' of a Reduction; it has: k")));
  EXPECT_THAT(refusal([](auto &output, const Var &x, const Var &) { output.update().rfactor(x, "u"); }),
              HasSubstr("has no loop 'x' of a Reduction; it has: k"));
  EXPECT_THAT(
      refusal([](auto &output, const Var &, const Var &k) { output.update().split(k, "ko", "ki", 4).rfactor(k, "u"); }),
      HasSubstr("has no loop 'k' of a Reduction; it has: ki, ko"));
}

TEST_F(Rfactor, NamesThatAreTaken) {
  EXPECT_THAT(refusal([](auto &output, const Var &x, const Var &k) { output.update().rfactor(k, x); }),
              HasSubstr("with the new variable 'x', which has a variable or a loop of that name"));
  EXPECT_THAT(refusal([](auto &output, const Var &, const Var &k) {
                output.update().split(k, "ko", "ki", 4).rfactor("ko", "ki");
              }),
              HasSubstr("with the new variable 'ki'"));
  EXPECT_THAT(refusal([](auto &output, const Var &, const Var &k) { output.update().rfactor({{k, "u"}, {k, "v"}}); }),
              HasSubstr("loop 'k' of update(0) of 'output' is named twice"));
}

TEST_F(Rfactor, LoopsThatAreNotOfTheReductionAlone) {
  EXPECT_THAT(refusal([](auto &output, const Var &x, const Var &k) {
                output.update().split(k, "ko", "ki", 4).fuse(x, "ko", "both").rfactor("ki", "u");
              }),
              HasSubstr("a loop of a Reduction is fused with one of a variable of 'output' itself"));
  EXPECT_THAT(refusal([](auto &output, const Var &, const Var &k) {
                output.update().split(k, "ko", "ki", 4).reorder("ko", "ki").fuse("ki", "ko", "c").rfactor("c", "u");
              }),
              HasSubstr("'ki' is fused with 'ko', whose number of iterations is known at launch only"));
}

TEST_F(Rfactor, ATailThatIsShifted) {
  EXPECT_THAT(
      refusal([](auto &output, const Var &, const Var &k) {
        output.update().split(k, "ko", "ki", 4, Tail::shift_inwards).rfactor("ko", "u");
      }),
      HasSubstr("is split with a tail shifted inwards, which would update some elements twice; use Tail::guard"));
}

TEST_F(Rfactor, WhatIsSpecialized) {
  EXPECT_THAT(refusal([](auto &output, const Var &, const Var &k) {
                output.update().specialize(Bool(true));
                output.update().rfactor(k, "u");
              }),
              HasSubstr("update(0) of 'output' is specialized before; say rfactor first"));
}

template <class F>
std::string refusal_of_update(const F &update) {
  return message_of<UserError>([&] {
    Pipeline{"p",
             {"out", "in"},
             [&](Array<float, 1> out, Array<const float, 1> in) {
               Var x{"x"};
               Reduction k{"k", 1, in.extent(0) - 1};
               Func output{"output", out};
               output(x) = 0.0f;
               update(output, x, k, in);
               schedule_cpu([&] { output.update().rfactor(k, "u").compute_root(); });
             }}
        .program();
  });
}

TEST_F(Rfactor, OperationsThatHaveAnOrder) {
  const std::string operations = "is not output(…) op value, where op is +, -, *, min, max, &, | or ^";
  EXPECT_THAT(refusal_of_update([](auto &f, const Var &x, auto &k, auto &in) { f(x) = f(x) / in(k); }),
              AllOf(HasSubstr("rfactor: update(0) of 'output' "), HasSubstr(operations)));
  EXPECT_THAT(refusal_of_update([](auto &f, const Var &x, auto &k, auto &in) { f(x) = in(k)-f(x); }),
              HasSubstr(operations));
  EXPECT_THAT(refusal_of_update([](auto &f, const Var &x, auto &k, auto &in) { f(x) = in(k)*f(x) + 1.0f; }),
              HasSubstr(operations));
}

TEST_F(Rfactor, UpdatesThatReadOtherElements) {
  EXPECT_THAT(refusal_of_update([](auto &f, const Var &, auto &k, auto &) { f(k) += f(k - 1); }),
              HasSubstr("reads 'output' elsewhere, too, so that its steps have an order"));
}

// The greatest number of each row and its place, the first of equal ones: values(in, k) of 1, 7, 7, 3 is (7, 1).
template <class F>
auto places_of_greatest(const F &directives) {
  return Pipeline{
      "p", {"out", "places", "in"}, [&](Array<float, 1> out, Array<std::int32_t, 1> places, Array<const float, 2> in) {
        Var x{"x"};
        Reduction k{"k", 0, in.extent(1)};
        Func<float, std::int32_t> best{"best", out, places};
        best(x) = values(-100.0f, -1);
        const auto [value, place] = best(x);
        const Bool better = in(x, k) > value;
        best(x) = values(select(better, in(x, k), value), select(better, cast<Int>(k), place));
        schedule_cpu([&] { directives(best, Var(k)); });
      }};
}

TEST_F(Rfactor, TheGreatestValueAndItsPlace) {
  for (const bool in_parallel : {false, true}) {
    const auto p = places_of_greatest([&](auto &best, const Var &k) {
      Stage partial = best.update().split(k, "ko", "ki", 8).rfactor("ko", "u");
      partial.compute_root();
      if (in_parallel) partial.update().parallel("u");
    });
    for (const int columns : {0, 1, 7, 8, 30}) {
      constexpr int rows = 3;
      const std::vector<float> in = numbers(rows * columns);
      std::vector<float> greatest(rows, -100.0f);
      std::vector<std::int32_t> where(rows, -1);
      for (int i = 0; i < rows * columns; ++i) {
        const auto row = static_cast<std::size_t>(i / columns);
        if (in[static_cast<std::size_t>(i)] <= greatest[row]) continue;
        greatest[row] = in[static_cast<std::size_t>(i)];
        where[row] = i % columns;
      }
      const Buffer<float> out{Device::cpu(), {rows}}, from{Device::cpu(), {rows, columns}, in};
      const Buffer<std::int32_t> places{Device::cpu(), {rows}};
      p.launch(out, places, from);
      EXPECT_EQ(out.to_vector(), greatest) << columns;
      EXPECT_EQ(places.to_vector(), where) << columns;
    }
  }
}

TEST_F(Rfactor, ThePlaceOfAValueInLanesWouldNotBeTheFirst) {
  const auto p =
      places_of_greatest([&](auto &best, const Var &k) { best.update().split(k, "ko", "ki", 8).rfactor("ki", "u"); });
  EXPECT_THAT(message_of<UserError>([&] { p.program(); }),
              HasSubstr("update(0) of 'best' finds the place of a value, and of equal ones the first: its partial "
                        "results have to follow each other as its Reduction does"));
}

TEST_F(Rfactor, ComplexProducts) {
  const Pipeline p{"p",
                   {"real", "imaginary", "a", "b"},
                   [](Array<std::int32_t, 1> real, Array<std::int32_t, 1> imaginary, Array<const std::int32_t, 2> a,
                      Array<const std::int32_t, 2> b) {
                     Var x{"x"};
                     Reduction k{"k", 0, a.extent(1)};
                     Func<std::int32_t, std::int32_t> f{"f", real, imaginary};
                     f(x) = values(1, 2);
                     const auto [re, im] = f(x);
                     f(x) = values(re * a(x, k) - im * b(x, k), re * b(x, k) + im * a(x, k));
                     schedule_cpu([&] {
                       Stage partial = f.update().split(k, "ko", "ki", 4).rfactor("ki", "u");
                       partial.compute_root().update().vectorize("u");
                     });
                   }};
  constexpr int rows = 2, columns = 11;
  std::vector<std::int32_t> a, b, real, imaginary;
  for (int i = 0; i < rows * columns; ++i) {
    a.push_back(i % 3 - 1);
    b.push_back(i % 4 - 1);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    std::int32_t re = 1, im = 2;
    for (std::size_t k = row * columns; k < (row + 1) * columns; ++k) {
      const std::int32_t next = re * a[k] - im * b[k];
      im = re * b[k] + im * a[k];
      re = next;
    }
    real.push_back(re);
    imaginary.push_back(im);
  }
  const Buffer<std::int32_t> first{Device::cpu(), {rows}}, second{Device::cpu(), {rows}};
  p.launch(first, second, Buffer<std::int32_t>{Device::cpu(), {rows, columns}, a},
           Buffer<std::int32_t>{Device::cpu(), {rows, columns}, b});
  EXPECT_EQ(first.to_vector(), real);
  EXPECT_EQ(second.to_vector(), imaginary);
}

}  // namespace
}  // namespace samite::test
