// A schedule never changes the result: random algorithms under random schedules, compared with the definitions of each
// element. SAMITE_TEST_RANDOM_SCHEDULES is their number, SAMITE_TEST_RANDOM_SEED the first seed. Some of those for a
// GPU are also compiled: for the host, where they run, and by NVIDIA's compiler if it is installed.
#include "tests/schedule/random_schedule.h"
#include "samite/base/error.h"
#include "samite/codegen/prelude.h"
#include "samite/jit/pipeline_definition.h"
#include "samite/jit/scheduled.h"
#include "samite/schedule/lower.h"
#include "samite/toolchain/cuda_compiler.h"
#include "samite/toolchain/nvrtc.h"
#include "tests/schedule/planned_kernels.h"
#include "tests/schedule/program_interpreter.h"
#include "tests/schedule/program_on_host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace samite::test {
namespace {

int from_environment(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

struct Counts {
  int run = 0, required = 0, too_long = 0, failed = 0, compiled = 0, directives = 0;
  Refusals refusals;
};

using Expected = std::map<std::uint32_t, std::vector<std::int64_t>>;  // by parameter

// The expected contents of the arrays.
Expected meaning(const RandomAlgorithm &algorithm) {
  Meaning meaning(algorithm);
  Expected expected;
  for (std::size_t f = 0; f < algorithm.functions.size(); ++f) {
    const RandomFunction &function = algorithm.functions[f];
    if (!function.output) continue;
    for (std::size_t v = 0; v < function.types.size(); ++v) {
      const std::uint32_t parameter = *function.output + static_cast<std::uint32_t>(v);
      const RandomArgument &array = algorithm.arguments[parameter];
      for (std::size_t i = 0; i < array.values.size(); ++i) {
        Meaning::Point point(array.extents.size());
        std::size_t rest = i;
        for (std::size_t d = point.size(); d-- > 0;) {
          point[d] = static_cast<std::int64_t>(rest) % array.extents[d];
          rest /= static_cast<std::size_t>(array.extents[d]);
        }
        expected[parameter].push_back(meaning.value(f, v, point));
      }
    }
  }
  return expected;
}

std::string difference(const RandomAlgorithm &algorithm, const Expected &expected,
                       const std::function<std::int64_t(std::uint32_t, std::size_t)> &found) {
  for (const auto &[parameter, values] : expected)
    for (std::size_t i = 0; i < values.size(); ++i)
      if (found(parameter, i) != values[i])
        return fmt::format("element {} of {} is {}, and ought to be {}", i, algorithm.parameters[parameter].name,
                           found(parameter, i), values[i]);
  return {};
}

// By parameter, how often elements of an output were stored or added to.
using Updates = std::map<std::uint32_t, std::int64_t>;

// The error; empty if there is none.
std::string interpreted(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &pipeline,
                        const schedules::Choice &choice, const Expected &expected, Updates *updates = nullptr) {
  std::vector<InterpretedArray> arguments;
  for (std::size_t p = 0; p < algorithm.arguments.size(); ++p) {
    const RandomArgument &argument = algorithm.arguments[p];
    arguments.push_back({argument.extents, argument.values, {}});
    arguments.back().known.assign(argument.values.size(), !expected.contains(static_cast<std::uint32_t>(p)));
  }
  const schedules::Program program = schedules::lower(pipeline, choice);
  if (const std::string missing = choice.gpu ? missing_barriers(program) : ""; !missing.empty()) return missing;
  run_program(program, arguments, choice.gpu);
  if (updates)
    for (const auto &[parameter, values] : expected) (*updates)[parameter] = arguments[parameter].updates;
  for (const auto &[parameter, values] : expected)
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!arguments[parameter].known[i])
        return fmt::format("element {} of {} has no value", i, algorithm.parameters[parameter].name);
  return difference(algorithm, expected,
                    [&](std::uint32_t parameter, std::size_t i) { return arguments[parameter].values[i]; });
}

// As debug mode runs it on the CPU.
std::string interpreted_rolled(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &pipeline,
                               const std::vector<ir::Directive> &directives, const Expected &expected) {
  const auto is_rolled = [](const ir::Directive &directive) {
    return directive.kind == ir::Directive::Kind::unroll ||
           (directive.kind == ir::Directive::Kind::store_in && directive.space == ir::MemorySpace::registers);
  };
  if (std::ranges::none_of(directives, is_rolled)) return {};
  try {
    return interpreted(algorithm, pipeline, {.name = "random", .rolled = true, .partitioned = false}, expected);
  } catch (const UserError &) {
    return {};  // it is unchanged
  } catch (const RequirementFailure &failure) {
    return failure.what();
  }
}

// Whether the schedule may have elements of this function computed twice, or updated in another number of steps.
bool may_repeat(const std::vector<ir::Directive> &directives, std::size_t function) {
  using Kind = ir::Directive::Kind;
  return std::ranges::any_of(directives, [&](const ir::Directive &directive) {
    return directive.func == function && (directive.tail == ir::Tail::shift_inwards ||
                                          directive.kind == Kind::rfactor || directive.kind == Kind::atomic);
  });
}

// Each element of an output is computed as often as without a schedule.
std::string other_count(const RandomAlgorithm &algorithm, const std::vector<ir::Directive> &directives,
                        const Updates &unscheduled, const Updates &scheduled) {
  for (std::size_t f = 0; f < algorithm.functions.size(); ++f) {
    const auto &output = algorithm.functions[f].output;
    if (!output || may_repeat(directives, f)) continue;
    if (!unscheduled.contains(*output)) continue;  // an array without elements
    if (scheduled.at(*output) != unscheduled.at(*output))
      return fmt::format("{} is stored to {} times, and {} times without a schedule",
                         algorithm.parameters[*output].name, scheduled.at(*output), unscheduled.at(*output));
  }
  return {};
}

template <class T>
void fill(const AnyBuffer &buffer, const std::vector<std::int64_t> &values) {
  for (std::size_t i = 0; i < values.size(); ++i) static_cast<T *>(buffer.data())[i] = static_cast<T>(values[i]);
}

std::vector<jit::OwnedArgument> buffers(const RandomAlgorithm &algorithm) {
  std::vector<jit::OwnedArgument> arguments;
  for (std::size_t p = 0; p < algorithm.parameters.size(); ++p) {
    const ir::Parameter &parameter = algorithm.parameters[p];
    const RandomArgument &argument = algorithm.arguments[p];
    if (parameter.rank == 0) {
      arguments.push_back({{}, static_cast<std::uint64_t>(argument.values[0])});
      continue;
    }
    const AnyBuffer buffer(Device::cpu(), parameter.type, Extents(std::span(argument.extents)));
    std::vector<std::int64_t> values = argument.values;
    if (!parameter.read_only) values.assign(values.size(), -777);
    if (parameter.type == ScalarType::Int32) fill<std::int32_t>(buffer, values);
    if (parameter.type == ScalarType::UInt8) fill<std::uint8_t>(buffer, values);
    if (parameter.type == ScalarType::Int16) fill<std::int16_t>(buffer, values);
    if (parameter.type == ScalarType::Float32) fill<float>(buffer, values);
    arguments.push_back({buffer});
  }
  return arguments;
}

bool nvidias_compiler_is_there() {
  static const bool found = [] {
    try {
      nvrtc();
      return true;
    } catch (const DeviceError &) {
      return false;
    }
  }();
  return found;
}

// How a schedule is compiled and run: for the CPU, in debug mode or not; for a GPU, as the text for CUDA.
struct Compile {
  enum class How : std::uint8_t { plain, debug, cuda } how;
  std::uint32_t seed;

  // The blocks of a GPU and their threads run in one order or another.
  HostBlocks blocks() const {
    constexpr ThreadOrder::Kind orders[] = {ThreadOrder::Kind::Alternating, ThreadOrder::Kind::FirstToLast,
                                            ThreadOrder::Kind::LastToFirst, ThreadOrder::Kind::Random};
    const std::uint32_t other = seed * 0x9E3779B9u >> 16;
    constexpr HostBlocks::Grid grids[] = {HostBlocks::Grid::flat, HostBlocks::Grid::axes, HostBlocks::Grid::few};
    return {grids[other / 4 % 3], {orders[other % 4], seed}};
  }
};

std::string compiled(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &pipeline, const Expected &expected,
                     const Compile &compile) {
  const std::vector<jit::OwnedArgument> arguments = buffers(algorithm);
  const auto definition = std::make_shared<jit::PipelineDefinition>(pipeline);
  if (compile.how == Compile::How::cuda) {
    const auto program = cuda_program(*definition, "random");
    run_on_host(*program, jit::views(arguments), compile.blocks());
    if (nvidias_compiler_is_there())
      for (const codegen::EmittedSource &emitted : emitted_for_cuda(*program))
        compile_cuda({.name = "random", .text = emitted.text}, codegen::cuda_prelude(emitted.text), "sm_90a");
  } else {
    jit::record_pipeline(definition, {.schedule = "random", .debug = compile.how == Compile::How::debug}, arguments, {})
        .launch();
  }
  return difference(algorithm, expected, [&](std::uint32_t parameter, std::size_t i) {
    const void *data = arguments[parameter].buffer.data();
    switch (algorithm.parameters[parameter].type) {
      case ScalarType::Float32: return static_cast<std::int64_t>(static_cast<const float *>(data)[i]);
      case ScalarType::UInt8: return std::int64_t{static_cast<const std::uint8_t *>(data)[i]};
      case ScalarType::Int16: return std::int64_t{static_cast<const std::int16_t *>(data)[i]};
      default: return std::int64_t{static_cast<const std::int32_t *>(data)[i]};
    }
  });
}

enum class Outcome : std::uint8_t { right, wrong, required, too_long, refused };

struct Tried {
  Outcome outcome;
  std::string message = {};
};

// The outcome of the algorithm under the schedule; it is compiled, too, if `compile` says how.
Tried tried(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &captured,
            const std::vector<ir::Directive> &directives, bool gpu, const Expected &expected,
            std::optional<Compile> compile) {
  try {
    const ir::CapturedPipeline pipeline = with_schedule(captured, directives);
    Updates unscheduled, scheduled;
    const schedules::Choice choice{.gpu = gpu, .name = "random"};
    std::string wrong = interpreted(algorithm, with_schedule(captured, {}), choice, expected, &unscheduled);
    if (wrong.empty()) wrong = interpreted(algorithm, pipeline, choice, expected, &scheduled);
    if (wrong.empty()) wrong = other_count(algorithm, directives, unscheduled, scheduled);
    if (wrong.empty() && !gpu) wrong = interpreted_rolled(algorithm, pipeline, directives, expected);
    if (wrong.empty() && compile) {
      wrong = compiled(algorithm, pipeline, expected, *compile);
      if (!wrong.empty()) wrong = "compiled: " + wrong;
    }
    return {wrong.empty() ? Outcome::right : Outcome::wrong, wrong};
  } catch (const ProgramTooLong &) {
    return {Outcome::too_long};
  } catch (const NoRoomInBlock &) {
    return {Outcome::required, "a block's shared memory has no room"};
  } catch (const RequirementFailure &failure) {
    return {Outcome::required, failure.what()};
  } catch (const UserError &error) {
    return {Outcome::refused, error.what()};
  } catch (const std::exception &error) {
    return {Outcome::wrong, error.what()};
  }
}

// The schedule without the directives that its failure does not need.
std::vector<ir::Directive> smallest(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &captured,
                                    std::vector<ir::Directive> directives, bool gpu, const Expected &expected,
                                    std::optional<Compile> compile) {
  for (bool shrinks = true; shrinks;) {
    shrinks = false;
    for (std::size_t i = directives.size(); i-- > 0;) {
      std::vector<ir::Directive> fewer = directives;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (tried(algorithm, captured, fewer, gpu, expected, compile).outcome != Outcome::wrong) continue;
      directives = std::move(fewer);
      shrinks = true;
    }
  }
  return directives;
}

// Random arrays rarely have the extents that tails which go beyond them require.
std::vector<ir::Directive> with_guards(std::vector<ir::Directive> directives) {
  for (ir::Directive &directive : directives) {
    if (directive.tail == ir::Tail::round_up) directive.tail = ir::Tail::guard;
    if (directive.tail == ir::Tail::predicate_loads || directive.tail == ir::Tail::predicate_stores)
      directive.tail = ir::Tail::predicate;
  }
  return directives;
}

void report(std::uint32_t seed, bool gpu, const std::string &wrong, const RandomAlgorithm &algorithm,
            const std::vector<ir::Directive> &directives, Counts &counts) {
  ++counts.failed;
  if (counts.failed > 5 && !std::getenv("SAMITE_TEST_RANDOM_ALL")) return;
  if (std::getenv("SAMITE_TEST_RANDOM_BRIEF")) {
    fmt::print("{}{}: {}\n", gpu ? "gpu " : "", seed, wrong.substr(0, 250));
    return;
  }
  std::string program;
  if (std::getenv("SAMITE_TEST_RANDOM_PROGRAM")) try {
      program = to_string(schedules::lower(with_schedule(algorithm.captured(), directives), {gpu, "random"}));
    } catch (const std::exception &) {
    }
  ADD_FAILURE() << "seed " << seed << (gpu ? " of a GPU: " : ": ") << wrong << "\n"
                << algorithm.to_string() << to_string(algorithm, directives) << program;
}

void try_seed(std::uint32_t seed, bool gpu, int compiles, Counts &counts) {
  Chance chance(seed * 2 + gpu);
  RandomAlgorithm algorithm;
  Expected expected;
  for (;;) {
    algorithm = random_algorithm(chance);
    try {
      expected = meaning(algorithm);
      std::string wrong;
      try {
        wrong =
            interpreted(algorithm, with_schedule(algorithm.captured(), {}), {.gpu = gpu, .name = "random"}, expected);
      } catch (const UserError &error) {
        ++counts.refusals["without a schedule: " + without_names(error.what())];
        continue;
      } catch (const RequirementFailure &failure) {
        ++counts.refusals["without a schedule, at launch: " + without_names(failure.what())];
        continue;
      } catch (const ProgramTooLong &) {
        continue;
      } catch (const std::exception &error) {
        wrong = error.what();
      }
      if (!wrong.empty()) return report(seed, gpu, "without a schedule: " + wrong, algorithm, {}, counts);
      break;
    } catch (const Meaning::TooMuch &) {
    }
  }
  const ir::CapturedPipeline captured = algorithm.captured();
  std::vector<ir::Directive> directives, last;
  try {
    directives = random_schedule(algorithm, captured, chance, gpu, counts.refusals, last);
  } catch (const std::exception &error) {
    return report(seed, gpu, error.what(), algorithm, last, counts);
  }
  std::optional<Compile> compile;
  if (compiles > 0 && seed % static_cast<std::uint32_t>(compiles) == 0)
    compile = {gpu ? Compile::How::cuda : seed % 7 == 0 ? Compile::How::debug : Compile::How::plain, seed};
  Tried result = tried(algorithm, captured, directives, gpu, expected, compile);
  if (result.outcome == Outcome::required) {
    directives = with_guards(std::move(directives));
    result = tried(algorithm, captured, directives, gpu, expected, compile);
    // A schedule may be legal under one tail and not under the other.
    if (result.outcome == Outcome::refused) result.outcome = Outcome::required;
  }
  counts.directives += static_cast<int>(directives.size());
  switch (result.outcome) {
    case Outcome::right:
      ++counts.run;
      counts.compiled += compile.has_value();
      break;
    case Outcome::too_long: ++counts.too_long; break;
    case Outcome::required:
      ++counts.required;
      ++counts.refusals["at launch: " + without_names(result.message)];
      break;
    case Outcome::refused:  // was accepted directive by directive
    case Outcome::wrong:
      report(seed, gpu, result.message, algorithm,
             std::getenv("SAMITE_TEST_RANDOM_BRIEF")
                 ? directives
                 : smallest(algorithm, captured, directives, gpu, expected, compile),
             counts);
  }
}

void try_all(bool gpu, int count, int compiles) {
  const auto first = static_cast<std::uint32_t>(from_environment("SAMITE_TEST_RANDOM_SEED", 1));
  count = from_environment("SAMITE_TEST_RANDOM_SCHEDULES", count);
  if (!gpu) compiles = from_environment("SAMITE_TEST_RANDOM_COMPILED", compiles);
  Counts counts;
  for (std::uint32_t seed = first; seed < first + static_cast<std::uint32_t>(count); ++seed)
    try_seed(seed, gpu, compiles, counts);
  EXPECT_EQ(counts.failed, 0) << "some may not be shown above";
  // A generator whose schedules are refused, or fail their requirements on a launch, tests nothing: of 50 seeds, 48 to
  // 50 run to the end, with 29 to 33 directives each.
  if (count >= 50) {
    EXPECT_GE(counts.run + counts.failed, count * 4 / 5) << "of " << count;
    EXPECT_GE(counts.directives, 15 * count);
  }
  if (std::getenv("SAMITE_TEST_RANDOM_SCHEDULES")) {
    std::string reasons;
    for (const auto &[reason, times] : counts.refusals) reasons += fmt::format("  {:5} {}\n", times, reason);
    fmt::print("{} run, {} compiled, {} failed, {} not run because of a requirement, {} too long; {} directives\n{}",
               counts.run, counts.compiled, counts.failed, counts.required, counts.too_long, counts.directives,
               reasons);
  }
}

TEST(RandomSchedules, ChangeNothingOnTheCpu) { try_all(false, 100, 3); }
TEST(RandomSchedules, ChangeNothingOnAGpu) { try_all(true, 100, 20); }

}  // namespace
}  // namespace samite::test
