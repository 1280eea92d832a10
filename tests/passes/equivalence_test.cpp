// Passes change a kernel's text, not its results: random kernels, interpreted before and after.

#include "samite/ir/difference.h"
#include "samite/ir/parse.h"
#include "samite/ir/verify.h"
#include "samite/passes/adjoint/relax_atomics.h"
#include "samite/passes/simplify/dead_code.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/simplify/structure_jumps.h"
#include "samite/passes/threads/lower_threads.h"
#include "tests/ir/random_kernel.h"
#include "tests/passes/interpreter.h"
#include "tests/passes/random_program.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;
using test::Arguments;
using test::interpret;
using test::Interpretation;

constexpr std::uint32_t seeds = 600;

// RandomKernel makes every well-formed kernel; these are the ones that the front end can record and that mean the same
// in any form: loops have an order and a known step, an `unavailable` is some number, and the condition of a `while`
// assigns no local from outside of it, which `promote` refuses.
class Meaningful {
 public:
  Kernel make(Kernel kernel) {
    kernel.body = block(kernel.body, nullptr);
    return kernel;
  }

 private:
  using Locals = std::set<LocalId>;

  // `condition` holds the locals of the innermost `while` condition around the block, or is null outside of any.
  Block block(const Block &block_, Locals *condition) {
    Block kept;
    for (const Stmt &stmt : block_) {
      if (condition) for_each_definition(stmt, [&](LocalId local, ScalarType) { condition->insert(local); });
      visit(
          stmt,
          [&](Let let) {
            if (let.value.op == Op::Unavailable) let.value = {Op::Copy, let.value.type, {Value::zero(let.value.type)}};
            kept.emplace_back(std::move(let), stmt.where());
          },
          [&](const Assign &assign) {
            if (!condition || condition->contains(assign.local)) kept.push_back(stmt);
          },
          [&](If branch) {
            branch.then_block = block(branch.then_block, condition);
            branch.else_block = block(branch.else_block, condition);
            kept.emplace_back(std::move(branch), stmt.where());
          },
          [&](For loop) {
            loop.kind = LoopKind::Serial;
            if (!loop.step.is_constant()) loop.step = Value::constant(loop.type, 1);
            loop.body = block(loop.body, condition);
            kept.emplace_back(std::move(loop), stmt.where());
          },
          [&](While loop) {
            Locals inside;
            loop.condition_block = block(loop.condition_block, &inside);
            if (condition) condition->insert(inside.begin(), inside.end());
            loop.body = block(loop.body, condition);
            kept.emplace_back(std::move(loop), stmt.where());
          },
          [&](Labelled labelled) {
            labelled.body = block(labelled.body, condition);
            kept.emplace_back(std::move(labelled), stmt.where());
          },
          [&](const auto &) { kept.push_back(stmt); });
    }
    return kept;
  }
};

// Even seeds resemble users' programs, odd ones have everything.
Kernel random_captured(std::uint32_t seed) {
  if (seed % 2 == 0) return test::RandomProgram(seed).make();
  return Meaningful().make(RandomKernel(seed, Form::captured).make());
}

Kernel without_jumps(std::uint32_t seed) { return structure_jumps(random_captured(seed)); }

Arguments random_arguments(const Kernel &kernel, std::uint32_t seed) {
  std::mt19937 random(seed);
  auto number = [&](ScalarType type) {
    auto small = static_cast<std::int64_t>(random() % 24) - 4;
    return is_floating(type) ? Value::constant(type, 0.375 * static_cast<double>(small)) : Value::constant(type, small);
  };
  Arguments arguments;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter &parameter = kernel.parameters[i];
    if (!parameter.is_array()) {
      arguments.add(number(parameter.type));
      continue;
    }
    // Now and then two parameters are one array.
    if (i > 0 && kernel.parameters[0].type == parameter.type && kernel.parameters[0].rank == parameter.rank &&
        random() % 2 == 0) {
      arguments.add_same_array(0);
      continue;
    }
    test::DenseArray array;
    std::int64_t size = 1;
    for (int d = 0; d < parameter.rank; ++d) size *= array.extents.emplace_back(1 + random() % 3);
    for (; size > 0; --size) array.elements.push_back(number(parameter.type));
    arguments.add(std::move(array));
  }
  return arguments;
}

Interpretation run_once(const Kernel &kernel, std::uint32_t seed, bool lowered = false) {
  std::vector<std::int64_t> launch;
  for (int d = 0; d < kernel.launch_rank; ++d) launch.push_back(1 + (seed / 2 + static_cast<std::uint32_t>(d)) % 2);
  return interpret(kernel, launch, random_arguments(kernel, seed),
                   {.lowered = lowered, .most_iterations = 4, .wrap_indices = true});
}

// Names the first array element, or the printed line, that differs; else empty.
std::string difference_of_runs(const Interpretation &actual, const Interpretation &expected) {
  if (actual.said != expected.said) return "something else was printed";
  const auto &a = actual.arguments.arrays(), &b = expected.arguments.arrays();
  for (std::size_t array = 0; array < b.size(); ++array)
    for (std::size_t i = 0; i < b[array].elements.size(); ++i)
      if (!(a[array].elements[i] == b[array].elements[i]))
        return "element " + std::to_string(i) + " of array " + std::to_string(array) + " is " +
               to_string(a[array].elements[i], {}) + ", expected " + to_string(b[array].elements[i], {});
  return "";
}

TEST(Equivalence, KernelsWithoutJumpsComputeTheSame) {
  int jumped = 0;
  for (std::uint32_t seed = 0; seed < 4 * seeds; ++seed) {
    Kernel captured = random_captured(seed);
    ASSERT_NO_THROW(verify(captured, Form::captured, "capture")) << "seed " << seed;
    Kernel structured = structure_jumps(captured);
    ASSERT_NO_THROW(verify(structured, Form::captured, "structure_jumps")) << "seed " << seed;
    bool jumps = false, jumps_left = false;
    for_each_statement(captured.body, [&](const Stmt &stmt) { jumps = jumps || stmt.as<Leave>(); });
    for_each_statement(structured.body,
                       [&](const Stmt &stmt) { jumps_left = jumps_left || stmt.as<Leave>() || stmt.as<Labelled>(); });
    ASSERT_FALSE(jumps_left) << "seed " << seed;
    jumped += jumps;
    ASSERT_EQ(difference_of_runs(run_once(structured, seed), run_once(captured, seed)), "") << "seed " << seed;
  }
  EXPECT_GT(jumped, static_cast<int>(seeds));
}

TEST(Equivalence, PromotedKernelsAreStructuredAndComputeTheSame) {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Kernel captured = random_captured(seed);
    Kernel promoted = promote(structure_jumps(captured));
    ASSERT_NO_THROW(verify(promoted, Form::structured, "promote")) << "seed " << seed;
    ASSERT_EQ(difference_of_runs(run_once(promoted, seed), run_once(captured, seed)), "") << "seed " << seed;
  }
}

TEST(Equivalence, PromotingAStructuredKernelTakesAwayNothingButCopies) {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Kernel promoted = promote(without_jumps(seed));
    ASSERT_EQ(structural_difference(promote(promoted), promoted), "") << "seed " << seed;
  }
}

TEST(Equivalence, SimplifiedKernelsAreStructuredAndComputeTheSame) {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Kernel captured = random_captured(seed);
    Kernel simplified = simplify(promote(structure_jumps(captured)));
    ASSERT_NO_THROW(verify(simplified, Form::structured, "simplify")) << "seed " << seed;
    Interpretation expected = run_once(captured, seed);
    // Folding's only liberty is documented in passes/simplify/fold.h: x + 0 is x, even if x is -0.
    if (expected.added_opposite_zeros) continue;
    ++compared;
    ASSERT_EQ(difference_of_runs(run_once(simplified, seed), expected), "") << "seed " << seed;
  }
  EXPECT_GT(compared, static_cast<int>(seeds) * 9 / 10);
}

TEST(Equivalence, SimplifyingTwiceIsSimplifyingOnce) {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Kernel simplified = simplify(promote(without_jumps(seed)));
    ASSERT_EQ(structural_difference(simplify(simplified), simplified), "") << "seed " << seed;
  }
}

TEST(Equivalence, WithoutDeadCodeKernelsComputeTheSame) {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Kernel promoted = promote(without_jumps(seed));
    Kernel kept = remove_dead_code(promoted);
    ASSERT_NO_THROW(verify(kept, Form::structured, "remove_dead_code")) << "seed " << seed;
    ASSERT_EQ(difference_of_runs(run_once(kept, seed), run_once(promoted, seed)), "") << "seed " << seed;
  }
}

TEST(Equivalence, LoweredKernelsComputeTheSame) {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    Kernel promoted = promote(without_jumps(seed));
    Kernel lowered = lower_threads(promoted);
    ASSERT_NO_THROW(verify(lowered, Form::lowered, "lower_threads")) << "seed " << seed;
    ASSERT_EQ(difference_of_runs(run_once(lowered, seed, true), run_once(promoted, seed)), "") << "seed " << seed;
  }
}

// The interpreter itself, on a kernel with a known result.
TEST(Interpreter, RunsEachInstanceAndFormOfAKernel) {
  const char *structured = R"(
      kernel @sums(@out: array<i32, 2>, @in: array<const i32, 1>, @scale: i32) threads 2 {
        %0: i32 = thread_index 0
        %1: i32 = thread_index 1
        %2: i32 = extent @in, 0
        for %3: i32 in 0 .. %2 step 1 carry (%4 -> %5: i32 = 0 then %7) {
          %6: i32 = load @in[%3]
          %7: i32 = add %4, %6
        }
        %8: i32 = mul %5, @scale
        %9: bool = eq %0, %1
        if %9 -> (%10: i32 = %8 | %1) {}
        store @out[%0, %1] = %10
      })";
  const char *captured = R"(
      kernel @sums(@out: array<i32, 2>, @in: array<const i32, 1>, @scale: i32) threads 2 {
        %0: i32 = thread_index 0
        %1: i32 = thread_index 1
        %2: i32 = copy 0
        %3: i32 = copy 0
        while {
          %4: i32 = extent @in, 0
          %5: bool = lt %3, %4
        } test %5 {
          %6: i32 = load @in[%3]
          %7: i32 = add %2, %6
          assign %2 = %7
          %8: i32 = add %3, 1
          assign %3 = %8
        }
        %9: i32 = mul %2, @scale
        %10: bool = ne %0, %1
        if %10 { assign %9 = %1 }
        store @out[%0, %1] = %9
      })";
  Arguments arguments;
  arguments.add_array<std::int32_t>({0, 0, 0, 0, 0, 0}, {2, 3}).add_array<std::int32_t>({5, -2, 4}).add(3);
  const std::vector<std::int32_t> expected = {21, 1, 2, 0, 21, 2};
  for (const char *text : {structured, captured}) {
    Kernel kernel = parse_kernel(text);
    EXPECT_EQ(interpret(kernel, {2, 3}, arguments).arguments.elements<std::int32_t>(0), expected);
  }
  Kernel lowered = lower_threads(parse_kernel(structured));
  EXPECT_EQ(interpret(lowered, {2, 3}, arguments, {.lowered = true}).arguments.elements<std::int32_t>(0), expected);
}

TEST(Interpreter, NamesAStatementThatReadsOutside) {
  Kernel kernel = parse_kernel("kernel @k(@a: array<f32, 1>) threads 1 { store @a[3] = 1.0 }");
  Arguments arguments;
  arguments.add_array<float>({1, 2, 3});
  try {
    interpret(kernel, {1}, arguments);
    FAIL() << "no error";
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(), "index 3 is outside of the array in: store @a[3] = 1.0");
  }
}

TEST(Interpreter, EndsAKernelThatNeverEnds) {
  Kernel kernel = parse_kernel("kernel @k() threads 1 { while {} test true {} }");
  EXPECT_THROW(interpret(kernel, {1}, {}, {.most_statements = 1000}), std::runtime_error);
}

}  // namespace
}  // namespace samite::passes
