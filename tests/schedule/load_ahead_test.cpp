// Prefetched shared memory: pipelined(n). Loops with no iteration, with fewer than there are buffers and with more;
// data that cannot be copied; refused programs.
#include "samite/samite.h"
#include "tests/base/count.h"
#include "tests/runtime/message_of.h"
#include "tests/schedule/on_a_gpu.h"
#include "tests/schedule/program_interpreter.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// sums(x) = the sum of copied(k, x), so that each step of k brings a row of copied into shared memory, by way of a map.
template <class F>
auto rows_by_map(const F &directives) {
  return Pipeline{"rows",
                  {"out", "in", "map"},
                  [&](Array<float, 1> out, Array<const float, 2> in, Array<const std::int32_t, 1> map) {
                    Var x{"x"}, xb{"xb"}, xt{"xt"}, i{"i"};
                    Func copied{"copied"}, sum{"sum"}, output{"output", out};
                    Reduction k{"k", 0, map.extent(0)};
                    copied(i, x) = in(map(i), x);
                    sum(x) += copied(k, x) + copied(k, x + 1);
                    output(x) = sum(x);
                    const auto schedule = [&] {
                      output.split(x, xb, xt, 8).gpu_blocks(xb).gpu_threads(xt);
                      sum.compute_at(output, xt).store_in(Memory::registers);
                      copied.compute_at(sum, k).store_in(Memory::shared);
                      directives(copied, sum);
                    };
                    schedule_cuda(schedule);
                    schedule_cpu(schedule);
                  }};
}

template <class P>
void expect_right(const P &pipeline, int columns, int iterations) {
  std::vector<InterpretedArray> arrays;
  const auto array = [&](std::vector<std::int64_t> extents, const auto &value, bool known) {
    InterpretedArray made{std::move(extents), {}, {}};
    std::int64_t size = 1;
    for (const std::int64_t extent : made.extents) size *= extent;
    for (std::int64_t i = 0; i < size; ++i) made.values.push_back(value(i));
    made.known.assign(static_cast<std::size_t>(size), known);
    arrays.push_back(std::move(made));
  };
  array({columns}, [](std::int64_t) { return 0; }, false);
  array({5, columns + 1}, [](std::int64_t i) { return i * i % 11 - 4; }, true);
  array({iterations}, [](std::int64_t i) { return (3 * i + 1) % 5; }, true);
  run_program(on_a_gpu(pipeline), arrays, true);
  for (int x = 0; x < columns; ++x) {
    std::int64_t expected = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(iterations); ++k)
      for (int next : {0, 1})
        expected += arrays[1].values[static_cast<std::size_t>(arrays[2].values[k] * (columns + 1) + x + next)];
    ASSERT_EQ(arrays[0].values[static_cast<std::size_t>(x)], expected) << iterations << " iterations, element " << x;
  }
}

TEST(LoadAhead, IsRightForAnyNumberOfIterations) {
  for (const int buffers : {1, 2, 3, 4}) {
    const auto pipeline = rows_by_map([&](auto &copied, auto &) { copied.pipelined(buffers); });
    for (int iterations = 0; iterations <= buffers + 2; ++iterations)
      for (const int columns : {8, 24, 13}) expect_right(pipeline, columns, iterations);
  }
}

TEST(LoadAhead, IsRightWhereItsLoopIsRunAgainAndAgain) {
  const auto pipeline = rows_by_map([](auto &copied, auto &sum) {
    Var outer{"outer"}, inner{"inner"};
    sum.update().split("k", outer, inner, 3);
    copied.compute_at(sum, inner).pipelined(3);
  });
  for (const int iterations : {0, 1, 2, 3, 4, 7, 9}) expect_right(pipeline, 16, iterations);
}

TEST(LoadAhead, HasABufferForEachStageAndOneBarrierAnIteration) {
  const auto pipeline = rows_by_map([](auto &copied, auto &) { copied.pipelined(3); });
  const std::string nest = to_string(on_a_gpu(pipeline).nest);
  // 9 elements, and buffers begin at multiples of 128 bytes.
  EXPECT_THAT(nest, AllOf(HasSubstr("384 bytes of shared memory (copied at 0)"),
                          HasSubstr("store copied in shared memory: f32[i 1, x 9], 9 elements, 36 bytes, 3 "
                                    "buffers, loaded 2 iterations ahead")));
  EXPECT_EQ(count(nest, "barrier\n"), 1) << nest;
  const std::string program = to_string(on_a_gpu(pipeline));
  EXPECT_THAT(program, AllOf(HasSubstr("= load ahead 1 @in["), HasSubstr("commit_copies"),
                             HasSubstr("wait_for_copies 1"), HasSubstr("stages 3")));
  const auto at_once = rows_by_map([](auto &, auto &) {});
  EXPECT_EQ(count(to_string(on_a_gpu(at_once).nest), "barrier\n"), 2);
}

TEST(LoadAhead, IsTheSameOnTheCpu) {
  const auto pipeline = rows_by_map([](auto &copied, auto &) { copied.pipelined(2); });
  const Buffer<float> out{Device::cpu(), {3}}, in{Device::cpu(), {2, 4}, {1, 2, 3, 4, 10, 20, 30, 40}};
  const Buffer<std::int32_t> map{Device::cpu(), {3}, {1, 0, 1}};
  pipeline.launch(out, in, map);
  EXPECT_THAT(out.to_vector(), testing::ElementsAre(63, 105, 147));
}

TEST(LoadAhead, LeavesWhatIsComputedWhereItWas) {
  const Pipeline pipeline{"squares", {"out", "in"}, [](Array<float, 1> out, Array<const float, 2> in) {
                            Var x{"x"}, xb{"xb"}, xt{"xt"}, i{"i"};
                            Func squares{"squares"}, sum{"sum"}, output{"output", out};
                            Reduction k{"k", 0, in.extent(0)};
                            squares(i, x) = in(i, x) * in(i, x);
                            sum(x) += squares(k, x) + squares(k, x + 1);
                            output(x) = sum(x);
                            schedule_cuda([&] {
                              output.split(x, xb, xt, 8).gpu_blocks(xb).gpu_threads(xt);
                              sum.compute_at(output, xt).store_in(Memory::registers);
                              squares.compute_at(sum, k).store_in(Memory::shared).pipelined(2);
                            });
                          }};
  const schedules::Program program = on_a_gpu(pipeline);
  EXPECT_THAT(to_string(program.nest), HasSubstr("not loaded ahead: its values are computed, not copied"));
  EXPECT_THAT(to_string(program), AllOf(Not(HasSubstr("load ahead")), Not(HasSubstr("stages"))));
}

// Two that follow each other, and may lie in one place.
TEST(LoadAhead, WaitsBeforeMemoryIsUsedForSomethingElse) {
  const Pipeline pipeline{"turns", {"out", "in"}, [](Array<float, 1> out, Array<const float, 1> in) {
                            Var x{"x"}, xb{"xb"}, xt{"xt"};
                            Func first{"first"}, turned{"turned"}, second{"second"}, output{"output", out};
                            first(x) = in(x);
                            turned(x) = first(x + 1) - first(x);
                            second(x) = turned(x) * 2.0f;
                            output(x) = second(x + 2) + second(x);
                            schedule_cuda([&] {
                              output.bound(x, 0, 64).split(x, xb, xt, 32).gpu_blocks(xb).gpu_threads(xt);
                              first.compute_at(output, xb).store_in(Memory::shared);
                              turned.compute_at(output, xb).store_in(Memory::shared);
                              second.compute_at(output, xb).store_in(Memory::shared);
                            });
                          }};
  const schedules::Program program = on_a_gpu(pipeline);
  EXPECT_THAT(to_string(program.nest), HasSubstr("second at 0")) << "where first was";
  EXPECT_EQ(count(to_string(program.nest), "barrier\n"), 3) << to_string(program.nest);
}

TEST(LoadAhead, IsRefusedWhereNothingIsAhead) {
  const auto message = [](const auto &directives) {
    return message_of<UserError>([&] { on_a_gpu(rows_by_map(directives)); });
  };
  EXPECT_THAT(message([](auto &copied, auto &) { copied.pipelined(0); }),
              AllOf(HasSubstr("load_ahead_test.cpp:"), HasSubstr("the number of stages")));
  EXPECT_THAT(message([](auto &copied, auto &) { copied.pipelined(9); }),
              HasSubstr("'copied' is pipelined(9), and memory has 8 buffers at most; give fewer"));
  EXPECT_THAT(message([](auto &copied, auto &) { copied.store_in(Memory::local).pipelined(2); }),
              AllOf(HasSubstr("load_ahead_test.cpp:"),
                    HasSubstr("'copied' is pipelined(2), and is not in shared memory, which is what can be filled "
                              "ahead; say copied.store_in(Memory::shared), or leave pipelined out")));
  EXPECT_THAT(message([](auto &, auto &sum) { sum.update().pipelined(2); }),
              HasSubstr("update(0) of 'sum' is pipelined(2), which is about the memory of a Func, and not about one of "
                        "its definitions; say it of the Func: sum.pipelined(2)"));
  EXPECT_THAT(message([](auto &copied, auto &) { copied.compute_root().pipelined(2); }),
              HasSubstr("'copied' is computed at the root, and is to be in shared memory, which a block has"));
  EXPECT_THAT(message([](auto &copied, auto &sum) {
                sum.update().unroll("k");
                copied.pipelined(2);
              }),
              HasSubstr("is computed at the loop 'k' of 'sum', whose iterations do not follow each other in time; "
                        "compute it at a serial loop inside of the blocks"));
  EXPECT_THAT(message([](auto &copied, auto &sum) {
                sum.update().split("k", "k1", "k0", 2);
                copied.compute_at(sum, "k0").store_at(sum, "k1").pipelined(2);
              }),
              HasSubstr("'copied' is pipelined(2), and is kept outside of the loop where it is computed"));
}

}  // namespace
}  // namespace samite::test
