// Refused pipelines, and their messages: the line, what was expected and given, the remedy.
#include "samite/base/error.h"
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ScheduleErrors : public testing::Test {
 protected:
  // The error is in the line below the call.
  void wrong_below(unsigned line = __builtin_LINE()) { line_ = line + 1; }

  // Lowers the pipeline of this function, under its schedule for the target.
  template <class F>
  void lower(const F &function, bool gpu) {
    const ir::CapturedPipeline captured = captured_pipeline(function);
    try {
      schedules::lower(captured, {.gpu = gpu});
    } catch (const UserError &error) {
      message_ = error.what();
    }
  }
  template <class F>
  void on_cpu(const F &function) {
    lower(function, false);
  }
  template <class F>
  void on_cuda(const F &function) {
    lower(function, true);
  }

  // The expected and the given, then the remedy.
  void says(const std::string &facts, const std::string &remedy) const {
    EXPECT_THAT(message_, AllOf(HasSubstr(at_line(__FILE__, line_) + ": "), HasSubstr(facts), HasSubstr(remedy)));
  }

  const Var y{"y"}, x{"x"}, i{"i"}, yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
  std::string message_ = "no error";
  unsigned line_ = 0;
};

TEST_F(ScheduleErrors, ALoopOfAFuncWithoutAny) {
  on_cpu([&](Array<float, 1> result) {
    Func f{"f"}, g{"g", result};
    f() = 1;
    g(x) = f();
    schedule_cpu([&] {
      wrong_below();
      f.compute_root().vectorize(x);
    });
  });
  says("'f' has no loop 'x'; it has none", "");
}

// Names.

TEST_F(ScheduleErrors, ALoopThatIsNotThere) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      wrong_below();
      f.vectorize("z");
    });
  });
  says("'f' has no loop 'z'", "its loops are, from the outermost one: y, x");
}

TEST_F(ScheduleErrors, ALoopOfAFuncThatHasNone) {
  on_cpu([&](Array<float, 1> result) {
    Func total{"total"}, f{"f", result};
    total() = 3;
    f(x) = total();
    schedule_cpu([&] {
      wrong_below();
      total.vectorize("x");
    });
  });
  says("'total' has no loop 'x'", "it has none");
}

TEST_F(ScheduleErrors, ALoopThatHasBeenSplit) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.split(x, xo, xi, 8);
      wrong_below();
      f.vectorize(x);
    });
  });
  says("'f' has no loop 'x'", "its loops are, from the outermost one: y, xo, xi");
}

TEST_F(ScheduleErrors, ALoopOfAnUpdateThatIsNotThere) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    Reduction k{"k", 0, 4};
    f(y, x) = 0;
    f(y, x) += cast<Float>(k);
    schedule_cpu([&] {
      wrong_below();
      f.update().unroll("kk");
    });
  });
  says("update(0) of 'f' has no loop 'kk'", "its loops are, from the outermost one: y, x, k");
}

TEST_F(ScheduleErrors, OneNameForTwoSplits) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.split(y, yo, i, 8);
      wrong_below();
      f.split(x, xo, i, 8);
    });
  });
  says("'f' has, or had, a loop 'i' already", "give the new loop a name of its own");
}

TEST_F(ScheduleErrors, OneNameForBothPiecesOfASplit) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      wrong_below();
      f.split(x, i, i, 8);
    });
  });
  says("'f' is split into two loops of one name, 'i'", "give the inner one another name");
}

TEST_F(ScheduleErrors, ALoopIsSplitOnce) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.split(x, xo, xi, 8);
      wrong_below();
      f.split(x, "a", "b", 4);
    });
  });
  says("'f' has no loop 'x'", "its loops are, from the outermost one: y, xo, xi");
}

TEST_F(ScheduleErrors, LoopsThatAreFusedAreNextToEachOther) {
  on_cpu([&](Array<float, 3> result) {
    Func f{"f", result};
    f(i, y, x) = 0;
    schedule_cpu([&] {
      wrong_below();
      f.fuse(i, x, "both");
    });
  });
  says("'i' and 'x' of 'f' are fused and 'x' is not the loop directly inside of 'i'",
       "reorder them first. The loops are, from the outermost one: i, y, x");
}

TEST_F(ScheduleErrors, ReorderNamesALoopOnce) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      wrong_below();
      f.reorder(x, y, x);
    });
  });
  says("reorder names 'x' of 'f' twice", "name each loop once");
}

TEST_F(ScheduleErrors, ADimensionThatIsNotThere) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.split(x, xo, xi, 8);
      wrong_below();
      f.bound(xi, 0, 8);
    });
  });
  says("'f' has no dimension 'xi'", "its dimensions are: y, x");
}

TEST_F(ScheduleErrors, ReorderStorageNamesADimensionOnce) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cpu([&] {
      f.compute_root();
      wrong_below();
      f.reorder_storage(y, y);
    });
  });
  says("reorder_storage names 'y' twice", "name each dimension once");
}

TEST_F(ScheduleErrors, ReorderStorageNamesAllDimensions) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cpu([&] {
      f.compute_root();
      wrong_below();
      f.reorder_storage(y);
    });
  });
  says("reorder_storage names 1 of the 2 dimensions of 'f'", "name all, the innermost one first");
}

// Places.

TEST_F(ScheduleErrors, ComputedAtALoopThatIsNotThere) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cpu([&] {
      g.split(y, yo, yi, 8);
      wrong_below();
      f.compute_at(g, y);
    });
  });
  says("'f' is computed at the loop 'y' of 'g', which has no such loop", "it has: yo, yi, x");
}

TEST_F(ScheduleErrors, ComputedAtALoopThatIsNotAroundItsUse) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g"}, h{"h", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    h(y, x) = g(y, x) + f(y, x);
    schedule_cpu([&] {
      g.compute_root();
      wrong_below();
      f.compute_at(h, y);
    });
  });
  says("'f' is computed at the loop 'y' of 'h', which is not around its call in 'g'",
       "compute it at a loop of 'g', or at one around both");
}

TEST_F(ScheduleErrors, ComputedAtALoopOfAFuncThatDoesNotCallIt) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g"}, h{"h", result};
    f(y, x) = 0;
    g(y, x) = 1;
    h(y, x) = g(y, x) + f(y, x);
    schedule_cpu([&] {
      g.compute_root();
      wrong_below();
      f.compute_at(g, y);
    });
  });
  says("'f' is computed at the loop 'y' of 'g', which is not around its call in 'h'",
       "compute it at a loop of 'h', or at one around both");
}

TEST_F(ScheduleErrors, ComputedInAnInnerLoopThatIsInOneDefinitionOnly) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    Reduction k{"k", 0, 4};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    g(y, x) += f(y, k);
    schedule_cpu([&] {
      wrong_below();
      f.compute_at(g, k);
    });
  });
  says("'f' is computed at the loop 'k' of 'g', which is not around its call in 'g'", "compute it at a loop of 'g'");
}

TEST_F(ScheduleErrors, ComputedAtALoopOfItself) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cpu([&] {
      wrong_below();
      f.compute_at(f, y);
    });
  });
  says("'f' is computed at a loop of 'f' itself", "name the Func that calls it");
}

TEST_F(ScheduleErrors, ComputedAtALoopOfWhatIsInlined) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g"}, h{"h", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    h(y, x) = g(y, x);
    schedule_cpu([&] {
      wrong_below();
      f.compute_at(g, y);
    });
  });
  says("'f' is computed at a loop of 'g', which is inlined and has no loops", "compute 'g' somewhere first");
}

TEST_F(ScheduleErrors, KeptInsideOfTheLoopWhereItIsComputed) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cpu([&] {
      wrong_below();
      f.compute_at(g, y).store_at(g, x);
    });
  });
  says("'f' is kept at the loop 'x' of 'g', which is not around the place where it is computed",
       "store it at the loop where it is computed, or at one outside of that");
}

TEST_F(ScheduleErrors, WhatFillsAnArrayIsComputedAtTheRoot) {
  on_cpu([&](Array<float, 2> result, Array<float, 2> input) {
    Func f{"f", result}, g{"g", input};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cpu([&] {
      wrong_below();
      f.compute_at(g, y);
    });
  });
  says("'f' fills an array of the caller's, and is computed at the root", "leave it there");
}

TEST_F(ScheduleErrors, WhatFillsAnArrayIsNotInlined) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      wrong_below();
      f.compute_inline();
    });
  });
  says("'f' fills an array, and cannot be inlined", "leave it at the root");
}

TEST_F(ScheduleErrors, WhatHasUpdatesIsNotInlined) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    Reduction k{"k", 0, 4};
    f(y, x) = 0;
    f(y, x) += cast<Float>(k);
    g(y, x) = f(y, x);
    schedule_cpu([&] {
      wrong_below();
      f.compute_inline();
    });
  });
  says("'f' has updates, and cannot be inlined", "compute it at a loop of what calls it: f.compute_at(caller, loop)");
}

TEST_F(ScheduleErrors, WhatIsInlinedHasNoLoops) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cpu([&] {
      wrong_below();
      f.vectorize(x);
    });
  });
  says("'f' is inlined where it is called, and has no loops", "say f.compute_root() or f.compute_at(caller, loop)");
}

TEST_F(ScheduleErrors, WhatIsInlinedHasNoMemory) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cuda([&] {
      g.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      wrong_below();
      f.store_in(Memory::shared);
    });
  });
  says("'f' is inlined where it is called, and is kept nowhere", "say f.compute_root() or f.compute_at(caller, loop)");
}

// Kinds of loops.

TEST_F(ScheduleErrors, BlocksInsideOfThreads) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cuda([&] {
      f.gpu_threads(y);
      wrong_below();
      f.gpu_blocks(x);
    });
  });
  says("loop 'x' of 'f' is one of blocks, inside of 'y', which is one of threads", "reorder them: blocks are outside");
}

TEST_F(ScheduleErrors, BlocksInsideOfAnotherKernel) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x);
    schedule_cuda([&] {
      g.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      f.compute_at(g, xo).store_in(Memory::shared);
      wrong_below();
      f.gpu_blocks(y);
    });
  });
  says("loop 'y' of 'f' is one of blocks, and 'f' is computed inside of a kernel",
       "make it one of threads, or compute 'f' at the root");
}

TEST_F(ScheduleErrors, ALoopBetweenBlocks) {
  on_cuda([&](Array<float, 3> result) {
    Func f{"f", result};
    f(i, y, x) = 0;
    schedule_cuda([&] {
      f.split(x, xo, xi, 32).gpu_threads(xi);
      wrong_below();
      f.gpu_blocks(i, xo);
    });
  });
  says("loop 'y' of 'f' is between loops of blocks",
       "reorder them so that the loops of blocks are directly inside of "
       "each other");
}

TEST_F(ScheduleErrors, ALoopBetweenThreads) {
  on_cuda([&](Array<float, 3> result) {
    Func f{"f", result};
    f(i, y, x) = 0;
    schedule_cuda([&] {
      f.bound(i, 0, 4).bound(y, 0, 4).bound(x, 0, 4);
      wrong_below();
      f.gpu_threads(i, x);
    });
  });
  says("loop 'y' of 'f' is between loops of threads",
       "reorder them so that the loops of threads are directly inside of each other");
}

TEST_F(ScheduleErrors, FourDimensionsOfThreads) {
  on_cuda([&](Array<float, 4> result) {
    Var n{"n"};
    Func f{"f", result};
    f(n, i, y, x) = 0;
    schedule_cuda([&] {
      f.gpu_threads(n, i, y);
      wrong_below();
      f.gpu_threads(x);
    });
  });
  says("'f' has 4 loops of threads", "a block has three dimensions: fuse some of them");
}

TEST_F(ScheduleErrors, MoreThreadsThanABlockHas) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cuda([&] {
      wrong_below();
      f.gpu_tile(x, y, xo, yo, xi, yi, 64, 32);
    });
  });
  says("the loops of threads of 'f' make 2048 threads (32 x 64)", "a block has 1024 at most: split by smaller factors");
}

TEST_F(ScheduleErrors, AsManyThreadsAsALaunchSays) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cuda([&] {
      wrong_below();
      f.gpu_blocks(y).gpu_threads(x);
    });
  });
  says("loop 'x' of 'f' is one of threads and has a number of iterations that is known at launch only",
       "split it by a number of threads");
}

TEST_F(ScheduleErrors, ThreadsInsideOfThreads) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x) + f(y, x + 1);
    schedule_cuda([&] {
      g.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      f.compute_at(g, xi);
      wrong_below();
      f.gpu_threads(x);
    });
  });
  says("'f' has loops of threads, and is computed inside of such",
       "compute it outside of them, or leave its own serial");
}

TEST_F(ScheduleErrors, ThreadsThatDoNotGoThroughALoopTogether) {
  on_cuda([&](Array<float, 1> result) {
    Func f{"f"}, g{"g", result};
    f(x) = cast<Float>(x);
    g(x) = f(x) + f(x + 1);
    schedule_cuda([&] {
      g.bound(x, 0, 126);
      wrong_below();
      g.split(x, xo, xi, 4).gpu_threads(xo);
      f.compute_at(g, xi).store_in(Memory::shared);
    });
  });
  says(
      "the threads of a block go through loop 'xi' of 'g' together, because shared memory is filled in it, and its "
      "number of iterations differs between them",
      "split it into pieces that are all whole, or compute what is in shared memory outside of it");
}

TEST_F(ScheduleErrors, SharedMemoryOfOneThread) {
  on_cuda([&](Array<float, 1> result) {
    Func f{"f"}, g{"g", result};
    f(x) = cast<Float>(x);
    g(x) = f(x) + f(x + 1);
    schedule_cuda([&] {
      g.split(x, xo, i, 128).split(i, "t", xi, 4).gpu_blocks(xo).gpu_threads("t");
      wrong_below();
      f.compute_at(g, xi).store_at(g, "t").store_in(Memory::shared);
    });
  });
  says("'f' is kept by each thread, and not in shared memory", "store it at a loop of blocks, or in registers");
}

TEST_F(ScheduleErrors, AParallelLoopInsideOfAVector) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.vectorize(y);
      wrong_below();
      f.parallel(x);
    });
  });
  says("loop 'x' of 'f' is parallel inside of 'y', which is vectorized", "reorder them");
}

// The largest number of the extent's type is not a useful number for a message.
TEST_F(ScheduleErrors, AnUnrolledPartOfALoopAsLongAsALaunchSays) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      wrong_below();
      f.split(y, yo, yi, 3).unroll(yo);
    });
  });
  says("loop 'yo' of 'f' is unrolled and has a number of iterations that is known at launch only",
       "split it, and unroll the inner loop");
}

TEST_F(ScheduleErrors, AnUnrolledLoopAsLongAsALaunchSays) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      wrong_below();
      f.unroll(x);
    });
  });
  says("loop 'x' of 'f' is unrolled and has a number of iterations that is known at launch only",
       "split it, and unroll the inner loop");
}

TEST_F(ScheduleErrors, TooLongAnUnrolledLoop) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.bound(x, 0, 5000);
      wrong_below();
      f.unroll(x);
    });
  });
  says("loop 'x' of 'f' is unrolled and has 5000 iterations, more than 1024", "split it, and unroll the inner loop");
}

TEST_F(ScheduleErrors, TooManyCopiesOfUnrolledLoops) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.bound(x, 0, 97);
      f.bound(y, 0, 97);
      f.unroll(y);
      wrong_below();
      f.unroll(x);
    });
  });
  says("loop 'x' of 'f' is unrolled inside of others, which makes 97 x 97 copies of its body, more than 8192",
       "leave one of them serial");
}

TEST_F(ScheduleErrors, TooManyCopiesOfALoop) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    Reduction k{"k", 0, 100};
    f(y, x) = 0;
    wrong_below();
    f(y, x) += cast<Float>(k);
    schedule_cpu([&] {
      f.bound(x, 0, 300);
      f.update().reorder(k, x, y).unroll(x);
    });
  });
  says("loop 'k' of 'f' is inside of unrolled ones, which make 300 copies of it, more than 256",
       "reorder it outside of them");
}

// Races.

TEST_F(ScheduleErrors, AParallelReduction) {
  on_cpu([&](Array<float, 1> result) {
    Func f{"f", result};
    Reduction k{"k", 0, 100};
    f(x) = 0;
    f(x) += cast<Float>(k);
    schedule_cpu([&] {
      wrong_below();
      f.update().parallel(k);
    });
  });
  says(
      "loop 'k' of 'f' goes through the reduction variable 'k' in any order, and several of its iterations may update "
      "one element",
      "say update().atomic(), or keep that loop serial");
}

TEST_F(ScheduleErrors, AVectorOfUpdatesThatMeet) {
  on_cpu([&](Array<float, 1> result, Array<const std::int32_t, 1> input) {
    Func f{"f", result};
    Reduction k{"k", 0, 100};
    f(x) = 0;
    f(input(k)) += 1.0f;
    schedule_cpu([&] {
      wrong_below();
      f.update().vectorize(k, 8);
    });
  });
  says("loop 'k_i' of 'f' goes through the reduction variable 'k' in any order",
       "say update().atomic(), or keep that loop serial");
}

TEST_F(ScheduleErrors, ThreadsOfAReductionThatReadsWhatItWrites) {
  on_cuda([&](Array<float, 1> result) {
    Func f{"f", result};
    Reduction k{"k", 1, 63};
    f(x) = cast<Float>(x);
    f(k) = f(k) + f(k - 1);
    schedule_cuda([&] {
      wrong_below();
      f.update().gpu_threads(k);
    });
  });
  says("loop 'k' of 'f' goes through the reduction variable 'k' in any order", "keep that loop serial");
}

TEST_F(ScheduleErrors, AnAtomicUpdateThatHasNoAtomicStep) {
  on_cpu([&](Array<float, 1> result) {
    Func f{"f", result};
    Reduction k{"k", 0, 100};
    f(x) = 1;
    wrong_below();
    f(x) = f(x) * 0.5f + cast<Float>(k);
    schedule_cpu([&] { f.update().atomic().parallel(k); });
  });
  says("an update of 'f' is atomic, and is no f(…) += value, min or max of itself and a value",
       "keep its loops serial, without atomic()");
}

TEST_F(ScheduleErrors, AtomicUpdatesOfWhatABlockShares) {
  on_cuda([&](Array<float, 1> result, Array<const std::int32_t, 2> input) {
    Func f{"f"}, g{"g", result};
    Reduction k{"k", 0, 128};
    f(y, x) = 0;
    f(y, clamp(input(y, k), 0, 15)) += 1.0f;
    g(y) = f(y, 0);
    schedule_cuda([&] {
      f.bound(x, 0, 16);
      g.split(y, yo, yi, 1).gpu_blocks(yo).gpu_threads(yi);
      f.compute_at(g, yo).store_in(Memory::shared);
      wrong_below();
      f.update().atomic().gpu_threads(k);
    });
  });
  says("iterations of loop 'k' update one element of 'f' at the same time, and atomic updates are of device memory",
       "compute 'f' at the root, or keep that loop serial");
}

TEST_F(ScheduleErrors, AnOrderThatTheResultDependsOn) {
  on_cpu([&](Array<float, 1> result) {
    Func f{"f", result};
    Reduction k{"k", {{0, 4}, {0, 4}}};
    f(x) = 1;
    wrong_below();
    f(x) = f(x) * 0.5f + cast<Float>(k[0] * k[1]);
    schedule_cpu([&] { f.update().reorder(k[0], k[1]); });
  });
  says("the schedule changes the order in which update(0) of 'f' goes through its reduction",
       "its result depends on the order: leave the loops over its reduction in theirs");
}

TEST_F(ScheduleErrors, AnUpdateWithATailThatIsShifted) {
  on_cpu([&](Array<float, 1> result) {
    Func f{"f", result};
    f(x) = 0;
    f(x) += 1.0f;
    schedule_cpu([&] {
      wrong_below();
      f.update().split(x, xo, xi, 8, Tail::shift_inwards);
    });
  });
  says("an update of 'f' is split with a tail shifted inwards, which would update some elements twice",
       "use Tail::guard");
}

TEST_F(ScheduleErrors, BoundsOfAnArrayThatDoNotBeginAtZero) {
  on_cpu([&](Array<float, 1> result) {
    wrong_below();
    Func f{"f", result};
    f(x) = 0;
    schedule_cpu([&] { f.bound(x, 1, 8); });
  });
  says("the schedule of 'f' says that 'x' goes from 1 on", "'f' fills an array, whose elements begin at 0");
}

// Directives that would change nothing, or contradict each other.

TEST_F(ScheduleErrors, ALoopOfTwoKinds) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.unroll(x);
      wrong_below();
      f.vectorize(x);
    });
  });
  says("loop 'x' of 'f' is unrolled (", "and now vectorized; a loop is one of them: split 'x', and say it of the two");
}

TEST_F(ScheduleErrors, ALoopThatIsSerialAfterAll) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] { f.parallel(y).serial(y).vectorize(y).vectorize(y); });
  });
  EXPECT_EQ(message_, "no error");
}

TEST_F(ScheduleErrors, AVectorizedLoopThatIsFused) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cpu([&] {
      f.vectorize(x);
      wrong_below();
      f.fuse(y, x, "t");
    });
  });
  says("loop 'x' of 'f' is vectorized (", "and is fused with 'y', which is serial; fuse them first");
}

TEST_F(ScheduleErrors, MemoryOfTheCallersArray) {
  const auto with = [&](const auto &directive) {
    on_cpu([&](Array<float, 2> result) {
      Func f{"f", result};
      f(y, x) = 0;
      schedule_cpu([&] { directive(f); });
    });
  };
  const std::string fact = "'f' fills the array 'p0', and is kept as the caller has made that";
  with([&](const Stage &f) {
    wrong_below();
    f.reorder_storage(y, x);
  });
  says(fact, "give a view with its dimensions in another order");
  with([&](const Stage &f) {
    wrong_below();
    f.pad(x, 3);
  });
  says(fact, "give a view of a larger array");
  with([&](const Stage &f) {
    wrong_below();
    f.fold_storage(y, 2);
  });
  says("'f' fills the array 'p0'", "leave fold_storage out");
}

TEST_F(ScheduleErrors, AFoldOfWhatIsKeptWhole) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = cast<Float>(y);
    g(y, x) = f(y, x) + f(y + 1, x);
    schedule_cpu([&] {
      wrong_below();
      f.compute_root().fold_storage(y, 4);
    });
  });
  says("'f' is computed at the root, whole", "f.compute_at(caller, loop).store_root(), or leave fold_storage out");
}

TEST_F(ScheduleErrors, AFoldOfWhatNoIterationLeavesToTheNext) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = cast<Float>(y);
    g(y, x) = f(y, x) + f(y + 1, x);
    schedule_cpu([&] {
      wrong_below();
      f.compute_at(g, y).fold_storage(y, 4);
    });
  });
  says("'f' is kept at the loop 'y' where it is computed", "store it outside of that loop");
}

// f(k / 4) += …: the lanes of a vector update one element.
TEST_F(ScheduleErrors, APromiseThatNoIterationsMeetWhereTheyDo) {
  const auto with = [&](const auto &index, const auto &directive) {
    message_ = "no error";
    on_cpu([&](Array<std::int32_t, 1> result, Array<const std::int32_t, 1> input) {
      Func<std::int32_t> f{"f", result};
      Reduction k{"k", 0, 64};
      f(x) = 0;
      f(index(k, input)) += input(k);
      schedule_cpu([&] { directive(f.update().allow_race_conditions()); });
    });
  };
  const auto always_0 = [](const auto &, const auto &) { return Int(0); };
  const auto quarter = [](const auto &k, const auto &) { return k / 4; };
  const auto last_bits = [](const auto &k, const auto &) { return k & 7; };
  const auto loaded = [](const auto &k, const auto &input) { return clamp(input(k), 0, 9); };
  const auto twice = [](const auto &k, const auto &) { return 2 * k; };
  with(always_0, [&](const Stage &update) {
    wrong_below();
    update.vectorize("k", 8);
  });
  says("iterations 0 and 1 of loop 'k_i' update one element of 'f'",
       "Say update().atomic(), keep that loop serial, or go through partial results");
  with(quarter, [&](const Stage &update) {
    wrong_below();
    update.parallel("k");
  });
  says("iterations 0 and 1 of loop 'k' update one element of 'f'", "allow_race_conditions() promises that no two do");
  with(last_bits, [&](const Stage &update) {
    wrong_below();
    update.vectorize("k", 16);
  });
  says("iterations 0 and 8 of loop 'k_i' update one element of 'f'", "update().rfactor(loop, variable)");
  const auto by_four = [](const Stage &update) { update.vectorize("k", 4); };
  with(loaded, by_four);
  EXPECT_EQ(message_, "no error");
  with(twice, by_four);
  EXPECT_EQ(message_, "no error");
  with(last_bits, by_four);
  EXPECT_EQ(message_, "no error");
}

// Regions and memory.

TEST_F(ScheduleErrors, AFuncAtAnIndexWithoutBounds) {
  on_cpu([&](Array<float, 1> result, Array<const std::int32_t, 1> input) {
    Func f{"f"}, g{"g", result};
    f(i) = cast<Float>(i) * 2;
    wrong_below();
    g(x) = f(input(x));
    schedule_cpu([&] { f.compute_root(); });
  });
  says(
      "'f' is needed along 'i' at the index p1(x), whose bounds are not known, so that it cannot be told how much "
      "of "
      "'f' to compute",
      "write clamp(index, low, high), or f.bound(i, begin, extent)");
}

TEST_F(ScheduleErrors, AScatterWithoutBounds) {
  on_cpu([&](Array<float, 1> result, Array<const std::int32_t, 1> input) {
    Func f{"f"}, g{"g", result};
    Reduction k{"k", 0, 100};
    f(i) = 0;
    wrong_below();
    f(input(k)) += 1.0f;
    g(x) = f(x);
    schedule_cpu([&] { f.compute_root(); });
  });
  says("'f'", "write clamp(index, low, high), or f.bound(i, begin, extent)");
}

TEST_F(ScheduleErrors, MoreInAKernelThanIsKnown) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x) + f(y, x + 1);
    schedule_cuda([&] {
      g.split(y, yo, yi, 8).gpu_blocks(yo).gpu_threads(yi);
      wrong_below();
      f.compute_at(g, yi).store_in(Memory::local);
    });
  });
  says("how much of 'f' is needed at once along 'x' is known at launch only, and it is kept inside of a kernel",
       "split the loop that goes along 'x', say f.bound(x, begin, extent), or compute 'f' at the root");
}

TEST_F(ScheduleErrors, RegistersOfABlock) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x) + f(y, x + 1);
    schedule_cuda([&] {
      g.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      wrong_below();
      f.compute_at(g, xo).store_in(Memory::registers);
    });
  });
  says("'f' is to be in registers, and is computed where the whole block needs it: registers are a thread's own",
       "Compute it inside of the loops of threads, or store it in shared memory");
}

TEST_F(ScheduleErrors, RegistersThatOtherThreadsNeed) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g"}, h{"h", result};
    f(y, x) = cast<Float>(x);
    g(y, x) = f(y, x) * 2;
    h(y, x) = g(y, x) + g(y, x + 1) + f(y, x);
    schedule_cuda([&] {
      h.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      wrong_below();
      f.compute_at(h, xi).store_in(Memory::registers);
      g.compute_at(h, xi).store_in(Memory::shared);
    });
  });
  says("'f' is kept by each thread for itself, and the threads of the block compute 'g', which calls it, together",
       "store 'f' in shared memory, or 'g' in registers");
}

TEST_F(ScheduleErrors, ThreadsThatKeepMoreThanOneIteration) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, sum{"sum"}, g{"g"}, h{"h", result};
    Reduction k{"k", 0, 3};
    f(x) = cast<Float>(x);
    sum(x) = 0;
    sum(x) += f(x + k);
    g(x) = sum(x) * 2;
    h(y, x) = g(x) + cast<Float>(y);
    schedule_cuda([&] {
      h.split(y, yo, yi, 2).split(x, xo, xi, 12).reorder(xi, yi, xo, yo).gpu_blocks(yo).gpu_threads(yi);
      g.compute_at(h, xo).store_in(Memory::shared);
      f.compute_at(sum, k).store_in(Memory::shared);
      wrong_below();
      sum.compute_at(g, x);
    });
  });
  says(
      "'sum' is kept by each thread while the block fills shared memory inside of the loops of 'g' (x), which are "
      "12 iterations for 2 threads",
      "give 'g' loops of threads of its own, g.gpu_threads(…), of which there is one for each, or compute what is in "
      "shared memory outside of the loops of 'g'");
}

TEST_F(ScheduleErrors, ThreadsThatKeepAsManyIterationsAsALaunchSays) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, sum{"sum"}, g{"g"}, h{"h", result};
    Reduction k{"k", 0, 3};
    f(x) = cast<Float>(x & 7);
    sum(x) = 0;
    sum(x) += f((x & 7) + k);
    g(x) = sum(x) * 2;
    h(y, x) = g(x) + cast<Float>(y);
    schedule_cuda([&] {
      h.split(y, yo, yi, 2).reorder(x, yi, yo).gpu_blocks(yo).gpu_threads(yi);
      g.compute_at(h, yo).store_in(Memory::shared);
      f.compute_at(sum, k).store_in(Memory::shared);
      wrong_below();
      sum.compute_at(g, x);
    });
  });
  says("inside of the loops of 'g' (x), which are as many iterations as a launch says for 2 threads",
       "give 'g' loops of threads of its own");
}

TEST_F(ScheduleErrors, SharedMemoryOfWhatIsComputedAtTheRoot) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x) + f(y, x + 1);
    schedule_cuda([&] {
      f.compute_root();
      wrong_below();
      f.store_in(Memory::shared);
    });
  });
  says("'f' is computed at the root, and is to be in shared memory, which a block has", "compute it at a loop");
}

TEST_F(ScheduleErrors, RegistersOfWhatFillsAnArray) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f", result};
    f(y, x) = 0;
    schedule_cuda([&] {
      f.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      wrong_below();
      f.store_in(Memory::registers);
    });
  });
  says("'f' is computed at the root, and is to be in a thread's own memory",
       "what fills an array is kept in that array");
}

TEST_F(ScheduleErrors, MemoryOutsideOfThreadsThatEachComputes) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = cast<Float>(x);
    g(y, x) = f(y, x) + f(y, x + 1);
    schedule_cuda([&] {
      g.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      wrong_below();
      f.compute_at(g, xi).store_at(g, xo).store_in(Memory::local);
    });
  });
  says(
      "'f' is kept outside of loop 'xi' of 'g', which is one of threads, and computed inside, for each iteration by "
      "itself",
      "say g.serial(xi), store 'f' at a loop inside of that, or compute it outside");
}

TEST_F(ScheduleErrors, SharedMemoryAndRegistersThatShareLoops) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g"}, h{"h", result};
    f(y, x) = cast<Float>(x);
    g(y, x) = cast<Float>(y);
    h(y, x) = f(y, x) + g(y, x);
    schedule_cuda([&] {
      h.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      f.compute_at(h, xi).store_in(Memory::registers);
      g.compute_at(h, xi).store_in(Memory::shared);
      g.compute_with(f, x);
    });
  });
  EXPECT_THAT(message_, AllOf(HasSubstr("f and g share loops, and some of them are in shared memory"),
                              HasSubstr("store all of them in shared memory, or none")));
}

TEST_F(ScheduleErrors, DeviceMemoryOfWhatIsComputedInAKernel) {
  on_cuda([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = 0;
    g(y, x) = f(y, x) + f(y, x + 1);
    schedule_cuda([&] {
      g.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
      wrong_below();
      f.compute_at(g, xo).store_in(Memory::device);
    });
  });
  says("'f' is computed inside of a kernel, and is to be in device memory", "compute it at the root for that");
}

TEST_F(ScheduleErrors, AFoldThatIsTooShort) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = cast<Float>(y);
    g(y, x) = f(y, x) + f(y + 1, x) + f(y + 2, x);
    schedule_cpu([&] {
      g.bound(x, 0, 64);
      wrong_below();
      f.compute_at(g, y).store_root().fold_storage(y, 2);
    });
  });
  says("the storage of 'f' is folded along 'y' after 2 elements, and 3 are needed at once", "fold it after 3 or more");
}

TEST_F(ScheduleErrors, AFoldOfAsMuchAsALaunchSays) {
  on_cpu([&](Array<float, 2> result) {
    Func f{"f"}, g{"g", result};
    f(y, x) = cast<Float>(y);
    g(y, x) = f(y, x) + f(y, x + 1);
    schedule_cpu([&] {
      wrong_below();
      f.compute_at(g, y).store_root().fold_storage(x, 4);
    });
  });
  says(
      "the storage of 'f' is folded along 'x' after 4 elements, and more, how many is known at launch only, are needed "
      "at once",
      "fold it after as many, or not at all");
}

TEST_F(ScheduleErrors, ARangeOfAReductionThatIsLoaded) {
  on_cpu([&](Array<float, 1> result, Array<const std::int32_t, 1> input) {
    Func f{"f", result};
    wrong_below();
    Reduction k{"k", 0, input(0)};
    f(x) = 0;
    f(x) += cast<Float>(k);
  });
  says("the range of a Reduction in 'f' is loaded from an array", "give it as an argument of the pipeline");
}

// Definitions.

TEST_F(ScheduleErrors, AFuncWithoutADefinition) {
  on_cpu([&](Array<float, 1> result) {
    wrong_below();
    Func f{"f"};
    Func g{"g", result};
    g(x) = f(x);
  });
  says("Func 'f' is called and has no definition", "define it first: f(x) = …");
}

TEST_F(ScheduleErrors, AnUpdateThatReadsElementsThatHaveNoOrder) {
  on_cpu([&](Array<float, 1> result) {
    Func f{"f", result};
    f(x) = cast<Float>(x);
    wrong_below();
    f(x) = f(x) + f(x + 1);
  });
  says("an update of 'f' reads other elements of 'f' along 'x', which has no order", "make 'x' a Reduction");
}

TEST_F(ScheduleErrors, FuncsThatAreMadeOfEachOther) {
  on_cpu([&](Array<float, 1> result) {
    wrong_below();
    Func f{"f"};
    Func g{"g", result};
    g(x) = f(x);
    f(x) = g(x);
  });
  says("'f' is computed of Funcs that are computed of it: f calls g calls f",
       "an update that goes through a Reduction");
}

}  // namespace
}  // namespace samite::test
