// Small schedules for which random tests once found errors: each computes what the definitions say, without accesses
// outside of its arrays, as the strict interpreter of programs checks.
#include "samite/base/error.h"
#include "samite/ir/print.h"
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/schedule/program_interpreter.h"

#include <gmock/gmock.h>

namespace samite::test::found_by_chance {
namespace {

using testing::HasSubstr;
using testing::Not;

const Var y{"y"}, x{"x"}, xo{"xo"}, xi{"xi"}, yo{"yo"}, yi{"yi"}, both{"both"};

// The result of a pipeline with one output.
template <class F>
std::vector<std::int64_t> result(const F &function, bool gpu, std::vector<std::int64_t> extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  std::vector<InterpretedArray> arguments{{std::move(extents), {}, {}}};
  arguments[0].values.resize(static_cast<std::size_t>(count));
  arguments[0].known.resize(static_cast<std::size_t>(count));
  run_program(schedules::lower(captured_pipeline(function), {.gpu = gpu}), arguments, gpu);
  EXPECT_THAT(arguments[0].known, testing::Each(1));
  return arguments[0].values;
}

// The elements needed inside pieces, the last of which is shorter, do not exceed those needed for the whole.
TEST(FoundByChance, PiecesEndWithTheWhole) {
  const auto pipeline = [](Array<std::int32_t, 2> out) {
    Func<std::int32_t> first{"first"}, second{"second"}, third{"third", out};
    first(x) = x * 3;
    second(x) = first(x) + 1;
    third(y, x) = second(x - 2) + y;
    schedule_cpu([&] {
      third.split(x, xo, xi, 6);
      first.compute_root();
      second.compute_at(third, y);
    });
  };
  const std::vector<std::int64_t> found = result(pipeline, false, {2, 13});
  for (std::int64_t i = 0; i < 26; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], (i % 13 - 2) * 3 + 1 + i / 13);
}

TEST(FoundByChance, PiecesOfAReductionEndWithIt) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, second{"second"}, sum{"sum", out};
    Reduction k{"k", -2, 5};
    first(x) = x + 10;
    second(x) = first(x) * 2;
    sum(x) = 0;
    sum(x) += second(2 * k + 1);
    schedule_cpu([&] {
      first.compute_root();
      second.compute_at(sum, x);
      sum.update().split(k, xo, xi, 4, Tail::round_up);
    });
  };
  EXPECT_THAT(result(pipeline, false, {3}), testing::Each((7 + 9 + 11 + 13 + 15) * 2));
}

// The Func of partial results may be computed further than its loop went, and reads nothing for that.
TEST(FoundByChance, PartialResultsOfNoIteration) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, sum{"sum", out};
    Reduction k{"k", 0, 6};
    first(x) = x * x;
    sum(x) = 0;
    sum(x) += first(k) + x;
    schedule_cpu([&] {
      first.compute_root();
      sum.update().split(k, xo, xi, 6);
      Stage part = sum.update().rfactor(xi, both);
      part.compute_root().split(both, yo, yi, 7, Tail::round_up);
    });
  };
  EXPECT_THAT(result(pipeline, false, {3}), testing::ElementsAre(55, 61, 67));
}

// No element is computed for iterations of a fused loop beyond the whole.
TEST(FoundByChance, NothingIsComputedBeyondTheWhole) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, second{"second"}, third{"third", out};
    first(x) = x * 3;
    second(x) = first(x) + 1;
    third(x) = second(x & 7) + x;
    schedule_cpu([&] {
      third.bound(x, 0, 4).split(x, xo, xi, 6).fuse(xo, xi, both);
      first.compute_root();
      second.compute_at(third, both);
    });
  };
  EXPECT_THAT(result(pipeline, false, {4}), testing::ElementsAre(1, 5, 9, 13));
}

// For the whole it is known that its remainders do not wrap around, but not for a piece that may begin anywhere: that
// does not enlarge the computed region.
TEST(FoundByChance, RemaindersOfPiecesAreThoseOfTheWhole) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, second{"second"}, third{"third", out};
    first(x) = x * 3;
    second(x) = first(x) + 1;
    third(x) = second((x + 1) & 7) + x;
    schedule_cpu([&] {
      first.compute_root();
      third.bound(x, 0, 3).split(x, xo, xi, 4, Tail::guard);
      second.compute_at(third, xo);
    });
    schedule_cuda([&] {
      first.compute_root();
      third.bound(x, 0, 3).split(x, xo, xi, 4, Tail::guard).gpu_blocks(xo).gpu_threads(xi);
      second.compute_at(third, xo).store_in(Memory::shared);
    });
  };
  for (const bool gpu : {false, true}) EXPECT_THAT(result(pipeline, gpu, {3}), testing::ElementsAre(4, 8, 12));
}

// Facts inside a specialization are substituted into bounds that were named because they are long. These facts also
// determine the loops of pieces.
TEST(FoundByChance, SpecializationsOfLongBounds) {
  for (int calls = 1; calls <= 8; ++calls) {
    const auto pipeline = [calls](Array<std::int32_t, 1> out) {
      Func<std::int32_t> first{"first"}, second{"second", out};
      first(x) = x * 3;
      const std::function<Int(int)> sum = [&](int i) {
        const Int called = first(min(max(x * i, 4 - out.extent(0) * i), 9 + i));
        return i == calls ? called : called + sum(i + 1);
      };
      second(x) = sum(1);
      schedule_cpu([&] {
        first.compute_root();
        first.specialize(out.extent(0) >= 3).split(x, xo, xi, 6, Tail::guard);
      });
    };
    for (const std::int64_t extent : {2, 7}) {
      const std::vector<std::int64_t> found = result(pipeline, false, {extent});
      for (std::int64_t x = 0; x < extent; ++x) {
        std::int64_t sum = 0;
        for (std::int64_t i = 1; i <= calls; ++i) sum += 3 * std::min(std::max(x * i, 4 - extent * i), 9 + i);
        EXPECT_EQ(found[static_cast<std::size_t>(x)], sum) << calls << ' ' << x;
      }
    }
  }
}

// How long a piece is does not depend on which one it is, so that threads may go through all of them.
TEST(FoundByChance, ThreadsGoThroughPiecesThatAreShiftedInwards) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> f{"f", out};
    f(x) = 5 * x;
    schedule_cuda([&] { f.split(x, xo, xi, 3, Tail::shift_inwards).gpu_threads(xi).vectorize(xo); });
  };
  EXPECT_THAT(result(pipeline, true, {2}), testing::ElementsAre(0, 5));
  EXPECT_THAT(result(pipeline, true, {7}), testing::ElementsAre(0, 5, 10, 15, 20, 25, 30));
}

// How long the last piece is depends on the loop over pieces, which threads go through, too.
TEST(FoundByChance, ThreadsGoThroughPiecesOfWhichTheLastIsShorter) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> f{"f", out};
    f(x) = 5 * x;
    schedule_cuda([&] { f.split(x, xo, xi, 3, Tail::guard).gpu_threads(xi).vectorize(xo); });
  };
  EXPECT_THAT(result(pipeline, true, {2}), testing::ElementsAre(0, 5));
  EXPECT_THAT(result(pipeline, true, {7}), testing::ElementsAre(0, 5, 10, 15, 20, 25, 30));
}

// Values kept for the block, outside of its threads, are computed by all threads in a loop of their own.
TEST(FoundByChance, ABlockComputesWhatItKeepsInALoopOfItsThreads) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, sum{"sum", out};
    Reduction k{"k", 0, 3};
    first(x) = x + 1;
    sum(x) = 0;
    sum(x) += first((x & 3) + k) * 10;
    schedule_cuda([&] { first.store_at(sum, x).compute_at(sum, k); });
  };
  EXPECT_THAT(result(pipeline, true, {5}), testing::ElementsAre(60, 90, 120, 150, 60));
}

// Loops without iterations may have negative extents, and the product of two of these is not an iteration count.
TEST(FoundByChance, FusedLoopsOfNothing) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, second{"second", out};
    first(y, x) = x + y;
    second(x) = first(x - 2, x);
    schedule_cpu([&] {
      second.split(x, xo, xi, 7, Tail::guard).fuse(xo, xi, both).split(both, yo, yi, 5);
      first.compute_at(second, yi);
      first.fuse(y, x, "all");
    });
  };
  EXPECT_THAT(result(pipeline, false, {1}), testing::ElementsAre(-2));
  EXPECT_THAT(result(pipeline, false, {4}), testing::ElementsAre(-2, 0, 2, 4));
}

// Values that a lane of a vector computes on its own are not kept at the level of all lanes, whatever their names are.
TEST(FoundByChance, LanesShareNothing) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> own{"own"}, all{"all", out};
    own(x) = x * x;
    all(x) = own(x) + own(x + 1);
    schedule_cpu([&] {
      all.vectorize(x);
      own.compute_at(all, x).store_in(Memory::shared);
    });
  };
  const std::string program = to_string(schedules::lower(captured_pipeline(pipeline), {}));
  EXPECT_THAT(program, HasSubstr("for.thread"));
  EXPECT_THAT(program, Not(HasSubstr("local shared")));
  EXPECT_THAT(result(pipeline, false, {3}), testing::ElementsAre(1, 5, 13));
}

// Another kernel's shared memory does not belong to a thread's vectors.
TEST(FoundByChance, VectorsInsideOfThreadsHaveTheirOwn) {
  const auto pipeline = [](Array<std::int32_t, 2> out) {
    Func<std::int32_t> sums{"sums"}, other{"other"}, all{"all", out};
    Reduction k{"k", 0, 3};
    sums(y, x) = 0;
    sums(y, x) += x + k;
    other(x) = x;
    Func<std::int32_t> first{"first"};
    first(y, x) = sums(y, x) + y;
    all(y, x) = first(y, x) + other(x);
    schedule_cpu([&] {
      first.compute_root().split(y, yo, yi, 2, Tail::guard).split(x, xo, xi, 6, Tail::guard);
      first.reorder(xi, xo, yi, yo).gpu_threads(yi).vectorize(xi);
      sums.compute_at(first, xi);
      other.compute_at(all, x).store_in(Memory::shared);
    });
  };
  const std::vector<std::int64_t> found = result(pipeline, false, {3, 7});
  for (std::int64_t i = 0; i < 21; ++i)
    EXPECT_EQ(found[static_cast<std::size_t>(i)], 3 * (i % 7) + 3 + i / 7 + i % 7) << i;
}

// Cooperative work of a block inside a vector or an unrolled loop: the block runs through that loop as one.
TEST(FoundByChance, ABlockGoesThroughVectorsAsOne) {
  const auto pipeline = [](bool unrolled, Array<std::int32_t, 2> out) {
    Func<std::int32_t> shared{"shared"}, all{"all", out};
    shared(x) = x * 5;
    all(y, x) = shared(x) + shared(x + 1) + y;
    const auto schedule = [&] {
      all.split(y, yo, yi, 4, Tail::guard).split(x, xo, xi, 3, Tail::guard).reorder(xi, xo, yi, yo);
      all.gpu_blocks(yo).gpu_threads(yi);
      if (unrolled)
        all.unroll(xi);
      else
        all.vectorize(xi);
      shared.compute_at(all, xi).store_in(Memory::shared);
    };
    schedule_cpu(schedule);
    schedule_cuda(schedule);
  };
  for (const bool gpu : {false, true})
    for (const bool unrolled : {false, true}) {
      const std::vector<std::int64_t> found =
          unrolled ? result([&](Array<std::int32_t, 2> out) { pipeline(true, out); }, gpu, {6, 7})
                   : result([&](Array<std::int32_t, 2> out) { pipeline(false, out); }, gpu, {6, 7});
      for (std::int64_t i = 0; i < 42; ++i)
        EXPECT_EQ(found[static_cast<std::size_t>(i)], 10 * (i % 7) + 5 + i / 7) << i << gpu << unrolled;
    }
}

// Values that a thread keeps while the block fills shared memory are kept once: not for several iterations of a loop
// that is dealt to the block's threads. Values that do not live across loops may be of any number of iterations.
TEST(FoundByChance, ThreadsKeepWhatIsOfOneIteration) {
  const auto pipeline = [](bool own_threads, bool in_shared, Array<std::int32_t, 2> out) {
    Func<std::int32_t> first{"first"}, sum{"sum"}, middle{"middle"}, all{"all", out};
    Reduction k{"k", 0, 3};
    first(x) = x * 5;
    sum(x) = 0;
    sum(x) += first(x + k);
    middle(x) = sum(x) * 2;
    all(y, x) = middle(x) + y;
    schedule_cuda([&] {
      all.split(y, yo, yi, 2).split(x, xo, xi, 12, Tail::guard).reorder(xi, yi, xo, yo).gpu_blocks(yo).gpu_threads(yi);
      middle.compute_at(all, xo).store_in(Memory::shared);
      sum.compute_at(middle, x);
      first.compute_at(sum, k);
      if (in_shared) first.store_in(Memory::shared);
      if (own_threads) middle.gpu_threads(x);
    });
  };
  const auto found = [&](bool own_threads, bool in_shared) {
    return result([&](Array<std::int32_t, 2> out) { pipeline(own_threads, in_shared, out); }, true, {4, 19});
  };
  EXPECT_THAT([&] { found(false, true); }, testing::ThrowsMessage<UserError>(HasSubstr("12 iterations for 2 threads")));
  for (const bool in_shared : {false, true}) {
    const std::vector<std::int64_t> values = found(in_shared, in_shared);
    for (std::int64_t i = 0; i < 76; ++i)
      EXPECT_EQ(values[static_cast<std::size_t>(i)], 2 * (15 * (i % 19) + 15) + i / 19) << i << in_shared;
  }
}

// Threads for Funcs computed at a loop of blocks do not all run the code outside of their loops.
TEST(FoundByChance, ThreadsOfWhatIsComputedAtABlock) {
  const auto pipeline = [](bool specialized, Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, sum{"sum", out};
    Reduction k{"k", 0, 3};
    first(y, x) = 10 * y + x;
    sum(x) = 1;
    sum(x) += first(k, x);
    schedule_cuda([&] {
      sum.update().gpu_blocks(x);
      first.compute_at(sum, x);
      if (specialized)
        first.specialize(out.extent(0) >= 4).gpu_threads(y);
      else
        first.gpu_threads(y);
    });
  };
  for (const bool specialized : {false, true})
    for (const std::int64_t extent : {3, 5}) {
      const std::vector<std::int64_t> found =
          result([&](Array<std::int32_t, 1> out) { pipeline(specialized, out); }, true, {extent});
      for (std::int64_t i = 0; i < extent; ++i)
        EXPECT_EQ(found[static_cast<std::size_t>(i)], 31 + 3 * i) << specialized;
    }
}

// A piece of a piece goes no further than that.
TEST(FoundByChance, PiecesOfPiecesEndWithThem) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, second{"second"}, third{"third", out};
    first(x) = x * 3;
    second(x) = first(x) + 1;
    third(x) = second((x + 1) >> 1) + x;
    schedule_cpu([&] {
      third.split(x, xo, xi, 8, Tail::round_up).split(xi, yo, yi, 7, Tail::guard);
      first.compute_root();
      second.compute_at(third, xo);
    });
  };
  const std::vector<std::int64_t> found = result(pipeline, false, {32});
  for (std::int64_t i = 0; i < 32; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], (i + 1) / 2 * 3 + 1 + i);
}

// A shared loop continues for the other Func when one has ended, also if the pieces inside are whole.
TEST(FoundByChance, ASharedLoopAroundWholePieces) {
  const ir::CapturedPipeline captured = captured_pipeline([](Array<std::int32_t, 2> few, Array<std::int32_t, 2> many) {
    Func<std::int32_t> first{"first", few}, second{"second", many};
    first(y, x) = 10 * y + x;
    second(y, x) = 20 * y + x;
    schedule_cpu([&] {
      first.split(x, xo, xi, 2).parallel(y).unroll(xi);
      second.parallel(y).compute_with(first, y);
    });
  });
  std::vector<InterpretedArray> arguments{{{3, 5}, {}, {}}, {{4, 5}, {}, {}}};
  for (InterpretedArray &array : arguments) {
    array.values.resize(static_cast<std::size_t>(array.extents[0] * 5));
    array.known.resize(array.values.size());
  }
  run_program(schedules::lower(captured, {}), arguments, false);
  std::vector<std::int64_t> first, second;
  for (std::int64_t i = 0; i < 15; ++i) first.push_back(10 * (i / 5) + i % 5);
  for (std::int64_t i = 0; i < 20; ++i) second.push_back(20 * (i / 5) + i % 5);
  EXPECT_EQ(arguments[0].values, first);
  EXPECT_EQ(arguments[1].values, second);
}

// If the block fills shared memory inside of its threads' loops, those end: no test of a tail surrounds that.
TEST(FoundByChance, TailsOfThreadsThatMeet) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, second{"second", out};
    first(x) = x * 3;
    second(x) = first(x) + first(x + 1);
    schedule_cpu([&] {
      second.split(x, xo, xi, 8, Tail::guard).split(xi, yo, yi, 2).gpu_threads(yo);
      first.compute_at(second, yi).store_in(Memory::shared);
    });
  };
  for (const std::int64_t extent : {5, 8, 13}) {
    const std::vector<std::int64_t> found = result(pipeline, false, {extent});
    for (std::int64_t i = 0; i < extent; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], 6 * i + 3) << extent;
  }
}

// Some of the threads compute no sum there, and then the block cannot go through its loop together: on the CPU as on a
// GPU.
TEST(FoundByChance, TailsOfThreadsThatMeetInAnotherFunc) {
  const auto pipeline = [](Array<std::int32_t, 1> out) {
    Func<std::int32_t> first{"first"}, sum{"sum"}, second{"second", out};
    Reduction k{"k", 0, 4};
    first(x) = x * 3;
    sum(x) = 0;
    sum(x) += first(x) + k;
    second(x) = sum(x) + 1;
    const auto schedule = [&] {
      second.split(x, xo, xi, 8, Tail::predicate).split(xi, yo, yi, 2).gpu_threads(yo);
      sum.compute_at(second, yi);
      first.compute_at(sum, x).store_in(Memory::shared);
    };
    schedule_cpu(schedule);
    schedule_cuda([&] {
      schedule();
      second.gpu_blocks(xo);
    });
  };
  for (const bool gpu : {false, true})
    EXPECT_THAT([&] { result(pipeline, gpu, {5}); },
                testing::ThrowsMessage<UserError>(
                    HasSubstr("the threads of a block go through loop 'x' of 'sum' together, because shared memory")));
}

// Two threads compute the elements of both pieces, each from its own stores.
TEST(FoundByChance, ScansOfPiecesShiftedInwards) {
  const auto pipeline = [](Array<std::int32_t, 2> out) {
    Func<std::int32_t> sums{"sums", out};
    Reduction k{"k", 1, 4};
    sums(y, x) = y;
    sums(y, k) = sums(y, k - 1) + k;
    schedule_cuda([&] { sums.update().split(y, yo, yi, 8, Tail::shift_inwards).gpu_threads(yi); });
  };
  const std::vector<std::int64_t> found = result(pipeline, true, {13, 5});
  for (std::int64_t i = 0; i < 65; ++i)
    EXPECT_EQ(found[static_cast<std::size_t>(i)], i / 5 + (i % 5) * (i % 5 + 1) / 2);
}

// A kernel's checks are made here, too, and reported with their numbers.
TEST(FoundByChance, ChecksOfAKernelThatDoNotHold) {
  const auto captured = captured_pipeline([](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
    Func<std::int32_t> first{"first"}, second{"second", out};
    first(x) = x * 3;
    second(x) = first(promise_clamped(in(x), 0, 4));
    schedule_cpu([&] { first.compute_root(); });
  });
  const auto run = [&](std::int64_t at) {
    std::vector<InterpretedArray> arguments{{{2}, {0, 0}, {0, 0}}, {{2}, {4, at}, {1, 1}}};
    run_program(schedules::lower(captured, {.checks_promises = true}), arguments, false);
    return arguments[0].values;
  };
  EXPECT_THAT(run(1), testing::ElementsAre(12, 3));
  EXPECT_THAT([&] { run(6); },
              testing::ThrowsMessage<RequirementFailure>(HasSubstr("the index p1(x) is from 0 to 4, and it is 6")));
}

}  // namespace
}  // namespace samite::test::found_by_chance
