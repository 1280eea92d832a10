// Loops and pieces of more elements than 32 bits count: they are right, or refused before anything runs.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <limits>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t most_of_32_bits = std::numeric_limits<std::int32_t>::max();

class LargeLoops : public testing::Test {
 protected:
  // out(y, x) = 2 * f(y, x) + f(y, x + 1) with f(y, x) = 10 * y + x, under a schedule of all its loops.
  template <class F>
  static auto pipeline(const F &directives) {
    return Pipeline{"p", {"out"}, [&](Array<std::int32_t, 2> out) {
                      Var y{"y"}, x{"x"};
                      Func<std::int32_t> f{"f"}, output{"output", out};
                      f(y, x) = 10 * y + x;
                      output(y, x) = 2 * f(y, x) + f(y, x + 1);
                      schedule_cpu([&] { directives(f, output); });
                    }};
  }

  template <class P>
  static void expect_right(const P &pipeline, const std::string &what) {
    for (const auto &[rows, columns] : {std::pair{3, 10}, {1, 1}, {0, 5}, {4, 0}, {2, 33}}) {
      const Buffer<std::int32_t> out{Device::cpu(), {rows, columns}};
      pipeline.launch(out);
      std::vector<std::int32_t> expected;
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) expected.push_back(3 * (10 * y + x) + 1);
      EXPECT_EQ(out.to_vector(), expected) << what << ", " << rows << " x " << columns;
    }
  }

  static Buffer<std::int32_t> small() { return Buffer<std::int32_t>{Device::cpu(), {3, 10}}; }
};

// If the storage keeps earlier rows, only the kernel knows how many rows remain to be computed.
TEST_F(LargeLoops, FusedWhereOnlyTheKernelKnowsTheirLength) {
  expect_right(pipeline([](auto &f, auto &output) {
                 output.split("x", "xo", "xi", 4).parallel("y");
                 f.compute_at(output, "xo").store_at(output, "y").fuse("y", "x", "both");
               }),
               "fused");
}

TEST_F(LargeLoops, PiecesOfAnyLength) {
  for (const std::int64_t factor :
       {most_of_32_bits, most_of_32_bits - 1, std::int64_t{1} << 30, (std::int64_t{1} << 30) + 7})
    for (const Tail tail : {Tail::guard, Tail::shift_inwards}) {
      const std::string what = std::to_string(factor);
      expect_right(pipeline([&](auto &f, auto &output) {
                     f.compute_root();
                     output.split("x", "xo", "xi", factor, tail);
                   }),
                   "serial, " + what);
      expect_right(pipeline([&](auto &f, auto &output) {
                     f.compute_root().split("x", "xo", "xi", factor, tail).vectorize("xi");
                     output.split("y", "yo", "yi", factor, tail).parallel("yo").split("x", "xo", "xi", factor, tail);
                   }),
                   "parallel, " + what);
      expect_right(pipeline([&](auto &f, auto &output) {
                     output.split("y", "yo", "yi", factor, tail).split("x", "xo", "xi", factor, tail);
                     f.compute_at(output, "xo");
                   }),
                   "with f inside, " + what);
    }
}

TEST_F(LargeLoops, PiecesOfPieces) {
  constexpr std::int64_t million = 1 << 20;
  expect_right(
      pipeline([&](auto &f, auto &output) {
        f.compute_root().split("x", "xo", "xi", million).split("xo", "xoo", "xoi", million);
        output.split("x", "xo", "xi", 4).split("xo", "xoo", "xoi", most_of_32_bits).split("xoo", "a", "b", million);
      }),
      "pieces of pieces");
}

TEST_F(LargeLoops, AFactorThatNoLoopHas) {
  for (const std::int64_t factor :
       {most_of_32_bits + 1, std::int64_t{1} << 32, std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    const unsigned line = __LINE__ + 2;
    const std::string message =
        message_of<UserError>([&] { pipeline([&](auto &, auto &output) { output.split("x", "xo", "xi", factor); }); });
    EXPECT_THAT(message, AllOf(HasSubstr("large_loops_test.cpp:" + std::to_string(line) + ": "),
                               HasSubstr("split: the factor is " + std::to_string(factor) +
                                         ", but is at most 2147483647, as no loop or dimension has more elements")));
  }
}

TEST_F(LargeLoops, DimensionsBeyond32Bits) {
  constexpr std::int64_t large = std::int64_t{1} << 33;
  const auto message = [](const auto &directive) {
    return message_of<UserError>([&] { pipeline([&](auto &f, auto &) { directive(f.compute_root()); }); });
  };
  EXPECT_THAT(message([&](const Stage &f) { f.align_bounds("x", large); }),
              HasSubstr("align_bounds: the modulus is 8589934592, but is at most 2147483647"));
  EXPECT_THAT(message([&](const Stage &f) { f.bound("x", 0, large); }),
              HasSubstr("bound: the extent is 8589934592, but is at most 2147483647"));
  EXPECT_THAT(message([&](const Stage &f) { f.bound("x", large, 8); }),
              HasSubstr("bound: 8 elements from 8589934592 on have indices outside of -2147483648 to 2147483647"));
  EXPECT_THAT(message([&](const Stage &f) { f.bound("x", 10, most_of_32_bits); }),
              HasSubstr("have indices outside of"));
  EXPECT_THAT(message([&](const Stage &f) { f.pad("x", large); }), HasSubstr("pad: the number of elements is"));
}

TEST_F(LargeLoops, RoundingUpBeyond32Bits) {
  const auto p = pipeline([&](auto &f, auto &) {
    f.compute_root().split("x", "xo", "xi", 1 << 20, Tail::round_up).split("xo", "a", "b", 1 << 20, Tail::round_up);
  });
  EXPECT_THAT(message_of<UserError>([&] { p.launch(small()); }),
              HasSubstr("the splits of 'f' round 'x' up to a multiple beyond 2147483647"));
}

TEST_F(LargeLoops, LoadingBeyond32Bits) {
  const auto p = pipeline([&](auto &f, auto &output) {
    f.compute_root();
    output.split("x", "xo", "xi", most_of_32_bits).split("xo", "a", "b", 8, Tail::predicate_stores);
  });
  EXPECT_THAT(message_of<UserError>([&] { p.launch(small()); }),
              HasSubstr("the splits of 'output' round 'x' up to a multiple beyond 2147483647"));
}

// Each element takes one that is far away: the required region of f is counted in 64 bits before anything is allocated.
TEST_F(LargeLoops, ElementsThat32BitsDoNotCount) {
  const Pipeline p{"p", {"out"}, [&](Array<std::int32_t, 1> out) {
                     Var x{"x"};
                     Func<std::int32_t> f{"f"}, output{"output", out};
                     f(x) = 3 * x;
                     output(x) = f(x * 1'000'000'000);
                     schedule_cpu([&] { f.compute_root(); });
                   }};
  EXPECT_THAT(message_of<UserError>([&] { p.launch(Buffer<std::int32_t>{Device::cpu(), {10}}); }),
              HasSubstr("'f' is needed at indices from 0 to 9000000000 along 'x', which 32 bits do not count"));
}

// A tail that computes more than required of the output, and thus more of f.
TEST_F(LargeLoops, TailsBeyond32Bits) {
  const auto p = pipeline([&](auto &f, auto &output) {
    f.compute_root();
    output.split("x", "xo", "xi", most_of_32_bits, Tail::predicate_stores);
  });
  EXPECT_THAT(message_of<UserError>([&] { p.launch(small()); }),
              HasSubstr("'f' is needed at indices from 0 to 2147483647 along 'x', which 32 bits do not count"));
}

// 3 rows of 2^30 columns each, of which 10 exist.
TEST_F(LargeLoops, FusedLoopsThatNoLoopCounts) {
  const unsigned line = __LINE__ + 3;
  const auto p = pipeline([&](auto &f, auto &output) {
    f.compute_root();
    output.split("x", "xo", "xi", 1 << 30).reorder("xi", "y", "xo").fuse("y", "xi", "t");
  });
  EXPECT_THAT(
      message_of<UserError>([&] { p.launch(small()); }),
      AllOf(HasSubstr("large_loops_test.cpp:" + std::to_string(line) + ": "),
            HasSubstr("loop 't' of 'output' fuses 'y' and 'xi', which have 3 x 1073741824 iterations, more "
                      "than the 2147483647 that a loop counts; split one of them, and fuse the pieces' loops")));
}

TEST_F(LargeLoops, FusedLoopsInsideOfOthers) {
  const auto p = pipeline([&](auto &f, auto &output) {
    output.split("y", "yo", "yi", 8).parallel("yo");
    f.compute_at(output, "yo").split("x", "xo", "xi", 1 << 30).reorder("xi", "y", "xo").fuse("y", "xi", "t");
  });
  EXPECT_THAT(message_of<UserError>([&] { p.launch(small()); }), HasSubstr("'y' and 'xi', which have 3 x 1073741824"));
}

TEST_F(LargeLoops, FusedLoopsOfConstantExtents) {
  const auto p = pipeline([&](auto &f, auto &output) {
    f.compute_root();
    output.bound("y", 0, 33'000).bound("x", 0, 70'000).fuse("y", "x", "t");
  });
  EXPECT_THAT(message_of<UserError>([&] { p.launch(small()); }),
              HasSubstr("'y' and 'x', which have 33000 x 70000 iterations"));
}

TEST_F(LargeLoops, FusedLoopsOfAnOrdinaryArray) {
  expect_right(pipeline([&](auto &f, auto &output) {
                 f.compute_root().fuse("y", "x", "t").split("t", "to", "ti", 7).parallel("to");
                 output.fuse("y", "x", "t").split("t", "to", "ti", 8).vectorize("ti");
               }),
               "fused");
}

// Partial sums of a Reduction with fused pieces.
TEST_F(LargeLoops, PartialResultsOfFusedLoops) {
  const Pipeline sums{"sums", {"out", "in"}, [](Array<std::int32_t, 1> out, Array<const std::int32_t, 2> in) {
                        Reduction r{"r", {{0, in.extent(0)}, {0, 1 << 30}}};
                        r.where(r[1] < in.extent(1));
                        Var x{"x"};
                        Func<std::int32_t> f{"f", out};
                        f(x) += in(r[0], min(r[1], in.extent(1) - 1));
                        schedule_cpu([&] {
                          f.update().fuse(r[0], r[1], "t");
                          f.update().rfactor("t", "u").compute_root();
                        });
                      }};
  EXPECT_THAT(message_of<UserError>([&] { sums.launch(Buffer<std::int32_t>{Device::cpu(), {1}}, small()); }),
              HasSubstr("3221225472"));
}

// Requirements on an array are computed in 64 bits.
TEST_F(LargeLoops, IndicesThatWouldWrapRound) {
  const Pipeline far{"far", {"out", "in"}, [](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
                       Var x{"x"};
                       Func<std::int32_t> f{"f", out};
                       f(x) = in(x * (1 << 30));
                     }};
  EXPECT_THAT(message_of<UserError>([&] {
                far.launch(Buffer<std::int32_t>{Device::cpu(), {5}}, Buffer<std::int32_t>{Device::cpu(), {8}});
              }),
              HasSubstr("'f' reads 'in' at indices from 0 to 4294967296 along its dimension 0, which has 8 elements"));
}

}  // namespace
}  // namespace samite::test
