// A pipeline launch's requirements on its arrays beyond those of any launch: they must have the elements that are read
// and written.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PipelineRequirements : public testing::Test {
 protected:
  static Buffer<float> floats(std::int64_t count) { return Buffer<float>(Device::cpu(), {count}); }
  static Buffer<float> floats(std::int64_t rows, std::int64_t columns) {
    return Buffer<float>(Device::cpu(), {rows, columns});
  }

  const Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"};
};

TEST_F(PipelineRequirements, AnInputThatIsTooShort) {
  const unsigned line = __LINE__ + 4;
  const Pipeline pairs{"pairs", {"sums", "in"}, [&](Array<float, 1> sums, Array<const float, 1> in) {
                         Func f{"f", sums};
                         f(x) = in(x) +  //
                                in(x + 1);
                       }};
  pairs.launch(floats(7), floats(8));
  pairs.launch(floats(0), floats(0));
  EXPECT_THAT(message_of<UserError>([&] { pairs.launch(floats(8), floats(8)); }),
              AllOf(HasSubstr("requirements_test.cpp:" + std::to_string(line) + ": pipeline 'pairs': "),
                    HasSubstr("'f' reads 'in' at indices from 0 to 8 along its dimension 0, which has 8 elements; give "
                              "a larger array, or let a Func have values beyond its edges: repeat_edge(in)"),
                    HasSubstr("\nlaunched at ")));
}

TEST_F(PipelineRequirements, AnInputThatIsTooShortForWhatIsAligned) {
  const Pipeline p{"p", {"out", "in"}, [&](Array<float, 1> out, Array<const float, 1> in) {
                     Func f{"f"}, g{"g"}, h{"h", out};
                     f(x) = in(x);
                     g(x) = f(x) + 1.0f;
                     h(x) = g(x);
                     schedule_cpu([&] {
                       g.compute_root().align_bounds(x, 32);
                       f.compute_root();
                     });
                   }};
  p.launch(floats(32), floats(32));
  EXPECT_THAT(message_of<UserError>([&] { p.launch(floats(33), floats(33)); }),
              AllOf(HasSubstr("'f' reads 'in' at indices from 0 to 63"),
                    HasSubstr("what is computed was made larger by g.align_bounds(x, 32)")));
}

TEST_F(PipelineRequirements, AnArrayThatNoFuncFills) {
  EXPECT_THAT(message_of<UserError>([&] {
                Pipeline("p", {"out", "other"}, [&](Array<float, 1> out, Array<float, 1>) {
                  Func f{"f", out};
                  f(x) = 1;
                });
              }),
              AllOf(HasSubstr("requirements_test.cpp:"),
                    HasSubstr("pipeline 'p': no Func fills the array 'other', nor reads it; to fill it, write Func "
                              "result{\"result\", other}")));
}

TEST_F(PipelineRequirements, AnIndexBelowZero) {
  const Pipeline before{"before", {"out", "in"}, [&](Array<float, 1> out, Array<const float, 1> in) {
                          Func f{"f", out};
                          f(x) = in(x - 1);
                        }};
  EXPECT_THAT(message_of<UserError>([&] { before.launch(floats(8), floats(8)); }),
              HasSubstr("'f' reads 'in' at indices from -1 to 6 along its dimension 0, which has 8 elements"));
}

TEST_F(PipelineRequirements, AnInputOfAFuncInsideOfLoops) {
  const Pipeline blur{"blur", {"out", "in"}, [&](Array<float, 2> out, Array<const float, 2> in) {
                        Func rows{"rows"}, f{"f", out};
                        rows(y, x) = in(y, x) + in(y, x + 1);
                        f(y, x) = rows(y, x) + rows(y + 1, x);
                        schedule_cpu([&] {
                          f.split(y, yo, yi, 4).parallel(yo);
                          rows.compute_at(f, yo);
                        });
                      }};
  blur.launch(floats(6, 8), floats(7, 9));
  EXPECT_THAT(message_of<UserError>([&] { blur.launch(floats(6, 8), floats(6, 9)); }),
              HasSubstr("'rows' reads 'in' at indices from 0 to 6 along its dimension 0, which has 6 elements"));
  EXPECT_THAT(message_of<UserError>([&] { blur.launch(floats(6, 8), floats(7, 8)); }),
              HasSubstr("'rows' reads 'in' at indices from 0 to 8 along its dimension 1, which has 8 elements"));
}

TEST_F(PipelineRequirements, ARangeOfAReduction) {
  const Pipeline total{"total", {"out", "in", "n"}, [&](Array<float, 1> out, Array<const float, 2> in, Int n) {
                         Func f{"f", out};
                         Reduction k{"k", 0, n};
                         f(x) += in(x, k);
                       }};
  total.launch(floats(2), floats(2, 3), 3);
  total.launch(floats(2), floats(2, 0), 0);
  EXPECT_THAT(message_of<UserError>([&] { total.launch(floats(2), floats(2, 3), 4); }),
              HasSubstr("'f' reads 'in' at indices from 0 to 3 along its dimension 1, which has 3 elements"));
}

TEST_F(PipelineRequirements, AnUpdateOfAnArray) {
  const Pipeline steps{"steps", {"out", "n"}, [&](Array<float, 1> out, Int n) {
                         Func f{"f", out};
                         Reduction k{"k", 0, n};
                         f(x) = 0;
                         f(2 * k) = 1;
                       }};
  steps.launch(floats(5), 3);
  EXPECT_THAT(message_of<UserError>([&] { steps.launch(floats(5), 4); }),
              HasSubstr("'f' updates 'out' at indices from 0 to 6 along its dimension 0, which has 5 elements; give a "
                        "larger array, or go through fewer indices"));
}

TEST_F(PipelineRequirements, OutputsOfOneFunc) {
  const Pipeline both{"both", {"a", "b"}, [&](Array<float, 1> a, Array<float, 1> b) {
                        Func<float, float> f{"f", a, b};
                        f(x) = values(1.0f, 2.0f);
                      }};
  both.launch(floats(4), floats(4));
  EXPECT_THAT(message_of<UserError>([&] { both.launch(floats(4), floats(3)); }),
              HasSubstr("'f' fills the arrays 'a' and 'b', which have 4 and 3 elements along dimension 0; give arrays "
                        "of the same extents"));
}

TEST_F(PipelineRequirements, AnOutputOfTheExtentThatASchedulePromises) {
  const Pipeline ones{"ones", {"out"}, [&](Array<float, 1> out) {
                        Func f{"f", out};
                        f(x) = 1;
                        schedule_cpu([&] { f.bound(x, 0, 16).vectorize(x); });
                      }};
  EXPECT_THAT(
      message_of<UserError>([&] { ones.launch(floats(12)); }),
      HasSubstr("the schedule of 'f' says that 'x' goes from 0 on for 16 elements; array 'out' has 12 there; give "
                "an array of that extent, or another schedule"));
}

TEST_F(PipelineRequirements, AnOutputThatATailRoundsUp) {
  const Pipeline ones{"ones", {"out"}, [&](Array<float, 1> out) {
                        Var xo{"xo"}, xi{"xi"};
                        Func f{"f", out};
                        f(x) = 1;
                        schedule_cpu([&] { f.split(x, xo, xi, 8, Tail::round_up); });
                      }};
  ones.launch(floats(16));
  EXPECT_THAT(message_of<UserError>([&] { ones.launch(floats(12)); }),
              HasSubstr("the schedule of 'f' rounds 'x' up to a multiple of 8; array 'out' has 12 there; give an array "
                        "of such an extent, or use Tail::guard"));
}

TEST_F(PipelineRequirements, BoundsThatHoldLessThanIsNeeded) {
  const Pipeline pairs{"pairs", {"out"}, [&](Array<float, 1> out) {
                         Func f{"f"}, g{"g", out};
                         f(x) = cast<Float>(x);
                         g(x) = f(x) + f(x + 1);
                         schedule_cpu([&] { f.compute_root().bound(x, 0, 16); });
                       }};
  pairs.launch(floats(15));
  EXPECT_THAT(
      message_of<UserError>([&] { pairs.launch(floats(16)); }),
      HasSubstr("'g' calls 'f' at indices from 0 to 16 along 'x', and f.bound(x, 0, 16) says that no others are "
                "needed; leave that out, or give the bounds that are needed"));
}

// No requirements for these, because their needs are unknown.

TEST_F(PipelineRequirements, NothingOfWhatIsClamped) {
  const Pipeline edge{"edge", {"out", "in"}, [&](Array<float, 1> out, Array<const float, 1> in) {
                        Func f{"f", out};
                        f(x) = in(clamp(x - 1, 0, in.extent(0) - 1));
                      }};
  edge.launch(floats(9), floats(4));
}

TEST_F(PipelineRequirements, NothingOfWhatIsChosen) {
  const Pipeline chosen{"chosen", {"out", "in"}, [&](Array<float, 1> out, Array<const float, 1> in) {
                          Func f{"f", out}, inside = constant_exterior(in, 0.0f);
                          f(x) = inside(x - 1) + inside(x + 1);
                        }};
  chosen.launch(floats(9), floats(4));
}

TEST_F(PipelineRequirements, NothingUnderACondition) {
  const Pipeline some{"some", {"out", "in"}, [&](Array<float, 1> out, Array<const float, 1> in) {
                        Func f{"f", out};
                        Reduction k{"k", 0, 8};
                        k.where(k < in.extent(0));
                        f(x) += in(k);
                      }};
  some.launch(floats(1), floats(4));
}

TEST_F(PipelineRequirements, NothingOfDiagonalsInsideOfLoops) {
  const Pipeline diagonal{"diagonal", {"out", "in"}, [&](Array<float, 1> out, Array<const float, 1> in) {
                            Func f{"f"}, g{"g", out};
                            f(y, x) = in(y - x);
                            g(x) = f(x, x);
                            schedule_cpu([&] {
                              f.compute_at(g, x);
                              g.vectorize(x, 1);
                            });
                          }};
  diagonal.launch(floats(9), floats(1));
}

}  // namespace
}  // namespace samite::test
