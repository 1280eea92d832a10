#include "samite/passes/threads/side_by_side.h"

#include "samite/base/error.h"
#include "samite/ir/parse.h"
#include "samite/ir/verify.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/threads/sum_over_launch.h"
#include "tests/passes/interpreter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

namespace samite::passes {
namespace {

using namespace ir;
using test::Arguments;
using test::interpret;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SideBySide neighbours(int instances, bool aligned = true) {
  return {instances, FactsOfArrays(8, {.unit_stride = true, .unaliased = true, .aligned_rows = aligned})};
}

Kernel run_together(const Kernel &structured, const SideBySide &with) {
  Kernel kernel = side_by_side(sum_over_launch(lower_threads(structured)), with);
  verify(kernel, Form::lowered, "side_by_side");
  return kernel;
}

std::string text_side_by_side(const std::string &body, const SideBySide &with = neighbours(2)) {
  return to_string(run_together(parse_kernel("kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>, @z: array<f32, 2>, "
                                             "@n: i32) threads 1 { %0: i32 = thread_index 0 " +
                                             body + "}"),
                                with),
                   {.renumber = true});
}

TEST(SideBySide, WholeGroupsRunTogetherAndTheRestOneByOne) {
  EXPECT_EQ(text_side_by_side("%1: f32 = load @x[%0] %2: f32 = add %1, 1.0 store @y[%0] = %2"),
            R"(kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>, @z: array<f32, 2>, @n: i32) threads 1 {
  %0: i32 = launch_begin 0
  %1: i32 = launch_end 0
  for.thread %2: i32 in %0 .. %1 step 2 {
    %3: i32 = sub %1, %2
    %4: bool = ge %3, 2
    if %4 {
      %5: i32 = add %2, 1
      load_pack constant %6: f32, %7: f32 = @x[%2]
      %8: f32 = add %6, 1.0
      %9: f32 = add %7, 1.0
      store_pack @y[%2] = %8, %9
    } else {
      for %10: i32 in %2 .. %1 step 1 rolled {
        %11: f32 = load @x[%10]
        %12: f32 = add %11, 1.0
        store @y[%10] = %12
      }
    }
  }
}
)");
}

TEST(SideBySide, OneInstanceLeavesTheKernelAsItIs) {
  EXPECT_THAT(text_side_by_side("store @y[%0] = 1.0", neighbours(1)),
              AllOf(HasSubstr("step 1 {"), Not(HasSubstr("if"))));
}

TEST(SideBySide, WhatIsTheSameForAllIsComputedOnce) {
  const std::string text = text_side_by_side("%1: i32 = mul @n, 3 %2: f32 = load @x[%1] store @y[%0] = %2");
  const std::string together = text.substr(0, text.find("rolled"));
  EXPECT_THAT(together, AllOf(HasSubstr("%6: i32 = mul @n, 3"), HasSubstr("%7: f32 = load @x[%6]"),
                              HasSubstr("store_pack @y[%2] = %7, %7")));
}

TEST(SideBySide, RowsThatAreNotAlignedAreAccessedElementByElement) {
  EXPECT_THAT(text_side_by_side("%1: f32 = load @x[%0] store @y[%0] = %1", neighbours(4, false)),
              Not(HasSubstr("_pack")));
}

TEST(SideBySide, ElementsThatAreLoadedAlreadyAreUsedInBranches) {
  const std::string text = text_side_by_side(R"(
    %1: f32 = load @x[%0]
    %2: bool = gt %0, @n
    %3: i32 = sub %0, 1
    if %2 -> (%4: f32 = %5 | %1) {
      %5: f32 = load @x[%3]
    }
    store @y[%0] = %4)");
  // The second instance's neighbour is the first one's own element.
  EXPECT_THAT(text,
              AllOf(HasSubstr("load_pack constant %6: f32, %7: f32 = @x[%2]"), HasSubstr("f32 = %6 | %7) {\n      }")));
}

TEST(SideBySide, BranchesThatAllTakeAlikeStayTogether) {
  const std::string alike = text_side_by_side("%1: bool = gt @n, 3 if %1 { store @y[%0] = 1.0 }");
  EXPECT_THAT(alike.substr(0, alike.find("rolled")),
              AllOf(HasSubstr("if %6 {\n        store_pack"), Not(HasSubstr("and"))));
  const std::string apart = text_side_by_side("%1: bool = gt %0, 3 if %1 { store @y[%0] = 1.0 }");
  EXPECT_THAT(apart.substr(0, apart.find("rolled")),
              AllOf(HasSubstr("%8: bool = and %6, %7"), HasSubstr("if %8 {\n        store_pack"),
                    HasSubstr("if %6 {\n          store @y[%2]"), HasSubstr("if %7 {\n          store @y[%5]")));
}

TEST(SideBySide, LoopsThatAllGoThroughAlikeStayTogether) {
  const std::string body = R"(for %1: i32 in 0 .. END step 1 carry (%2 -> %3: f32 = 0.0 then %5) {
      %4: f32 = load @x[%1]
      %5: f32 = add %2, %4
    }
    store @y[%0] = %3)";
  const auto to = [&](const std::string &end) {
    std::string text = body;
    return text_side_by_side(text.replace(text.find("END"), 3, end));
  };
  EXPECT_THAT(to("@n"),
              AllOf(HasSubstr("in 0 .. @n step 1 instances 2 carry (%7 ->"), HasSubstr("%11: f32 = load @x[%6]")));
  EXPECT_THAT(to("%0"), AllOf(HasSubstr("in 0 .. %2 step 1 carry"), Not(HasSubstr("instances"))));
}

TEST(SideBySide, WhatAllAddToOneElementIsSummedFirst) {
  const std::string add = "%1: f32 = load @x[%0] %2: f32 = load @z[@n, 0] accumulate atomic @z[@n, 3] += %1";
  EXPECT_THAT(text_side_by_side(add),
              AllOf(HasSubstr("%9: f32 = add %6, %7"), HasSubstr("accumulate atomic @z[@n, 3] += %9")));
  // A sum over the launch is the thread's own until its end.
  const std::string over_launch = "%1: f32 = load @x[%0] accumulate atomic @z[@n, 3] += %1";
  EXPECT_THAT(text_side_by_side(over_launch),
              AllOf(HasSubstr("over_launch @z[@n, 3] += %6"), HasSubstr("over_launch @z[@n, 3] += %7")));
}

TEST(SideBySide, AdditionsAndExchangesAreOfSeveralElements) {
  EXPECT_THAT(
      text_side_by_side("%1: f32 = exchange @y[%0] accumulate atomic @z[@n, %0] += %1 accumulate @z[@n, %0] += %1"),
      AllOf(HasSubstr("load_pack take %6: f32, %7: f32 = @y[%2]"),
            HasSubstr("accumulate_pack atomic @z[@n, %2] += %6, %7"),
            HasSubstr("accumulate_pack @z[@n, %2] += %6, %7")));
}

TEST(SideBySide, WhatIsNotReadMayStream) {
  SideBySide streams = neighbours(2);
  streams.streams = true;
  const std::string text =
      text_side_by_side("%1: f32 = load @z[@n, %0] store @y[%0] = %1 store @z[@n, %0] = 1.0", streams);
  EXPECT_THAT(text, AllOf(HasSubstr("store_pack streaming @y"), HasSubstr("store_pack @z")));
}

TEST(SideBySide, NoWorkspace) {
  Kernel kernel = parse_kernel(
      "kernel @k(@n: i32) threads 1 { for.thread %0: i32 in 0 .. 8 step 1 { local workspace $0: f32[@n] } }");
  EXPECT_THROW(side_by_side(std::move(kernel), neighbours(2)), InternalError);
}

// Kernels whose instances read the constant @x anywhere near, and write rows of @y and @g of their own; what they add
// to
// @s is of all. In integers, so that any order gives the same sums.
class RandomNeighbours {
 public:
  explicit RandomNeighbours(std::uint32_t seed) : random_(seed) {}

  Kernel make() {
    std::string body = "%0: i32 = thread_index 0 %1: i32 = thread_index 1 ";
    known_ = {"%1", "@n"};
    body += block(3, 12);
    for (std::size_t i = 2; i < known_.size(); i += 3) body += fmt::format("accumulate @g[%0, %1] += {} ", known_[i]);
    return parse_kernel(
        "kernel @k(@x: array<const i32, 2>, @y: array<i32, 2>, @g: array<i32, 2>, @s: array<i32, 1>, "
        "@n: i32) threads 2 { " +
        body + "}");
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint32_t>(bound)); }
  std::string fresh() { return fmt::format("%{}", next_++); }
  std::string value() { return below(5) == 0 ? std::to_string(below(7) - 3) : known_[random_() % known_.size()]; }
  std::string define(const std::string &operation) {
    known_.push_back(fresh());
    return fmt::format("{}: i32 = {} ", known_.back(), operation);
  }
  // An index of the row or the column, and its definition. @x has two more on each side.
  std::pair<std::string, std::string> near(const char *index) {
    const std::string at = fresh();
    return {at, fmt::format("{}: i32 = add {}, {} ", at, index, below(5))};
  }

  std::string statement(int depth) {
    const auto own = [&] { return below(2) ? "@y[%0, %1]" : "@g[%0, %1]"; };
    switch (below(depth > 0 ? 12 : 8)) {
      case 0:
      case 1: {
        const auto [column, defined] = near("%1");
        const auto [row, of_row] = near("%0");
        return defined + of_row + define(fmt::format("load @x[{}, {}]", below(2) ? row : "%0", column));
      }
      case 2: return define(fmt::format("load @x[%0, {}]", below(3) ? "%1" : "3"));
      case 3: return define(fmt::format("{} {}", below(3) ? "load" : "exchange", own()));
      case 4: return fmt::format("store {} = {} ", own(), value());
      case 5: {
        const std::string at = fresh();
        const std::string place = below(3) ? below(2) ? "%0" : "%1" : at;
        return fmt::format("{}: i32 = and {}, 7 accumulate atomic @s[{}] += {} ", at, value(), place, value());
      }
      case 6: return fmt::format("accumulate {}{} += {} ", below(2) ? "atomic " : "", own(), value());
      case 8:
      case 9: {
        const std::string condition = fresh(), result = fresh();
        std::string text = fmt::format("{}: bool = {} {}, {} ", condition, below(2) ? "lt" : "gt",
                                       below(3) ? below(2) ? "%1" : "%0" : value(), below(2) ? "@n" : value());
        const auto outer = known_;
        const std::string then_block = block(depth - 1, 4), then_value = value();
        known_ = outer;
        const std::string else_block = below(2) ? block(depth - 1, 3) : "", else_value = value();
        known_ = outer;
        known_.push_back(result);
        return text + fmt::format("if {} -> ({}: i32 = {} | {}) {{ {} }} else {{ {} }} ", condition, result, then_value,
                                  else_value, then_block, else_block);
      }
      case 10: {
        const std::string index = fresh(), inner = fresh(), result = fresh(), end = fresh(), initial = value();
        std::string text = fmt::format("{}: i32 = and {}, 3 ", end, below(3) ? "@n" : value());
        const auto outer = known_;
        known_.push_back(index), known_.push_back(inner);
        const std::string body = block(depth - 1, 4), next = value();
        known_ = outer;
        known_.push_back(result);
        return text + fmt::format("for {}: i32 in 0 .. {} step 1 carry ({} -> {}: i32 = {} then {}) {{ {} }} ", index,
                                  end, inner, result, initial, next, body);
      }
      case 11: {
        const int array = local_arrays_++;
        const std::string text = fmt::format("local ${0}: i32[2] local_store ${0}[0] = {1} local_store ${0}[1] = {2} ",
                                             array, value(), value());
        return text + define(fmt::format("local_load ${}[{}]", array, below(2)));
      }
      default: return define(fmt::format("{} {}, {}", below(2) ? "add" : "sub", value(), value()));
    }
  }
  std::string block(int depth, int most) {
    std::string text;
    for (int left = 1 + below(most); left > 0; --left) text += statement(depth);
    return text;
  }

  std::mt19937 random_;
  std::vector<std::string> known_;
  int next_ = 2, local_arrays_ = 0;
};

TEST(SideBySide, RandomKernelsComputeTheSame) {
  int packs = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Kernel kernel = RandomNeighbours(seed).make();
    ASSERT_NO_THROW(verify(kernel, Form::structured, "the test")) << "seed " << seed << '\n' << to_string(kernel);
    std::mt19937 random(seed);
    constexpr std::int64_t rows = 4, columns = 24;
    const auto numbers = [&](std::int64_t count) {
      std::vector<std::int32_t> all(static_cast<std::size_t>(count));
      for (std::int32_t &each : all) each = static_cast<std::int32_t>(random() % 100) - 50;
      return all;
    };
    Arguments arguments;
    arguments.add_array(numbers((rows + 4) * 32), {rows + 4, 32}).add_array(numbers(rows * columns), {rows, columns});
    arguments.add_array(numbers(rows * columns), {rows, columns})
        .add_array(numbers(columns))
        .add(static_cast<int>(seed % 13));
    for (const int instances : {1, 2, 4, 8}) {
      const std::vector<std::int64_t> begin{seed % 2, seed % 3 == 0 ? 8 : 0};
      const std::vector<std::int64_t> end{rows, columns - static_cast<std::int64_t>(seed % 11)};
      const auto expected = interpret(kernel, end, arguments, {.begin = begin}).arguments;
      const Kernel together = run_together(kernel, neighbours(instances, seed % 4 != 0));
      const auto found = interpret(together, end, arguments, {.lowered = true, .begin = begin}).arguments;
      for (std::size_t array = 1; array < 4; ++array)
        ASSERT_EQ(found.elements<std::int32_t>(array), expected.elements<std::int32_t>(array))
            << "seed " << seed << ", " << instances << " instances, array " << array << '\n'
            << to_string(kernel) << to_string(together);
      for_each_statement(together.body,
                         [&](const Stmt &stmt) { packs += stmt.as<LoadPack>() || stmt.as<StorePack>(); });
    }
  }
  EXPECT_GT(packs, 500);
}

}  // namespace
}  // namespace samite::passes
