// Options that can be given for one launch and for more than one: for the process, a tape or a stream. If both say the
// same, the same variant is built. For a stream's priority see cuda_launch_attributes_test.cpp.
#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/base/temporary_folder.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/environment.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace samite::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

const Device cpu = Device::cpu();

// Another `rows` is another operation; the same is the same text, in a kernel of its own.
auto roots_of_products(int rows) {
  return TileKernel{"roots",
                    {"x", "y", "z"},
                    [=](Array<const float, 2> x, Array<const float, 2> y, Array<float, 2> z) {
                      Tile<float> a = tile::load(x, {0, 0}, {rows, 4}), b = tile::load(y, {0, 0}, {4, 8});
                      tile::store(z, {0, 0}, sqrt(tile::matmul(a, b)));
                    },
                    TileOptions{.threads = 64}};
}

struct Arrays {
  explicit Arrays(std::int64_t rows)
      : x(cpu, {rows, 4}, Gradient::tracked), y(cpu, {4, 8}, Gradient::tracked), z(cpu, {rows, 8}, Gradient::tracked) {}
  Buffer<float> x, y, z;  // all zero
};

// The objects of each variant, by direction and name.
std::vector<std::string> objects(const auto &kernel) {
  std::vector<std::string> names;
  for (const ReportedVariant &variant : report(kernel).variants)
    for (const ReportedObject &object : variant.objects)
      names.push_back(std::string(name(variant.direction)) + " " + object.name + " " + object.operation);
  return names;
}

// With an empty cache of kernels, so that nothing hides a compile.
class OptionLevels : public testing::Test {
 protected:
  // Compiles that ran while `work` did.
  template <class Work>
  static int built(const Work &work) {
    const int before = host_compile_count();
    work();
    return host_compile_count() - before;
  }

  // Whether a launch that does not say is built like one with debug mode on or off, and unlike the other.
  static bool agrees_with_the_environment(bool on) {
    const Arrays arrays(21);
    const auto kernel = roots_of_products(21);
    const auto compiles = [&](std::optional<bool> debug) {
      return built([&] { kernel.record({1}, {.debug = debug}, arrays.x, arrays.y, arrays.z); }) > 0;
    };
    return compiles({}) && !compiles(on) && compiles(!on);
  }

  TemporaryFolder folder_;
  EnvironmentVariable cache_{"SAMITE_CACHE_DIR", folder_.path() / "cache"};
};

class OptionLevelsOfADirection : public OptionLevels, public testing::WithParamInterface<Direction> {};

TEST_P(OptionLevelsOfADirection, DebugOfTheProcessAndOfALaunch) {
  const int rows = 17 + static_cast<int>(GetParam());
  const Arrays arrays(rows);
  const auto record = [&](const auto &kernel, std::optional<bool> debug) {
    return kernel.record({1}, {.direction = GetParam(), .debug = debug}, arrays.x, arrays.y, arrays.z);
  };
  const auto kernel = roots_of_products(rows), same = roots_of_products(rows);
  const Launch plain = record(kernel, {});
  std::optional<Launch> by_option, by_mode, against_mode;
  EXPECT_GT(built([&] { by_option = record(kernel, true); }), 0);
  EXPECT_EQ(built([&] {
              against_mode = record(same, false);
              set_debug_mode(true);
              by_mode = record(same, {});
              EXPECT_EQ(record(same, false).variant().host.image, plain.variant().host.image);
              set_debug_mode(false);
            }),
            0);
  EXPECT_EQ(by_mode->variant().host.image, by_option->variant().host.image);
  EXPECT_EQ(against_mode->variant().host.image, plain.variant().host.image);
  EXPECT_NE(by_mode->variant().host.image, plain.variant().host.image);
  EXPECT_THAT(objects(kernel), Contains(HasSubstr("matmul")));
  EXPECT_EQ(objects(same), objects(kernel));
}

INSTANTIATE_TEST_SUITE_P(Directions, OptionLevelsOfADirection,
                         testing::Values(Direction::forward, Direction::adjoint, Direction::tangent),
                         [](const auto &info) { return std::string(name(info.param)); });

// SAMITE_DEBUG is read once, hence a process for each value.
TEST_F(OptionLevels, DebugOfTheEnvironmentAndOfALaunch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const auto &[value, on] : {std::pair{"1", true}, {"yes", true}, {"0", false}, {"", false}}) {
    const EnvironmentVariable debug("SAMITE_DEBUG", value);
    // Immediately: LeakSanitizer, which would inspect the child's threads as they end, is not under test.
    EXPECT_EXIT(std::_Exit(agrees_with_the_environment(on) ? 0 : 1), testing::ExitedWithCode(0), "") << value;
  }
}

auto make_roots() {
  return Kernel{"roots", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = sqrt(x(i));
                }};
}

// Requested for the adjoint launch, for the forward launch that a tape records, or for the tape.
TEST_F(OptionLevels, CheckFiniteOfATapeAndOfALaunch) {
  const Buffer<double> x(cpu, {3}, {1, 0, 4}, Gradient::tracked), y(cpu, {3}, Gradient::tracked);
  const Buffer<double> ones(cpu, {3}, {1, 1, 1});
  const auto by_tape = [&](const auto &kernel, const TapeOptions &of_the_tape, const LaunchOptions &of_the_launch) {
    x.gradient().fill(0);
    y.gradient().fill(0);
    Tape tape(of_the_tape);
    tape.record([&] { kernel.launch({3}, of_the_launch, y, x); });
    return message_of<UserError>([&] { tape.backward({{y, ones}}); });
  };
  const auto kernel = make_roots(), recorded = make_roots(), taped = make_roots();
  kernel.launch({3}, y, x);
  y.gradient().fill(1);
  std::string of_the_launch, of_the_recorded, of_the_tape;
  EXPECT_EQ(built([&] {
              of_the_launch = message_of<UserError>(
                  [&] { kernel.launch({3}, {.direction = Direction::adjoint, .check_finite = true}, y, x); });
            }),
            2)
      << "the adjoint, and the one that takes notes";
  EXPECT_EQ(built([&] { of_the_recorded = by_tape(recorded, {}, {.check_finite = true}); }), 0);
  EXPECT_EQ(built([&] { of_the_tape = by_tape(taped, {.check_finite = true}, {}); }), 0);

  EXPECT_THAT(of_the_launch, HasSubstr("first instance whose gradient is not finite is (1)"));
  EXPECT_EQ(without_call(of_the_recorded), without_call(of_the_launch));
  EXPECT_EQ(without_call(of_the_tape), without_call(of_the_launch));
  EXPECT_THAT(objects(kernel), Contains(HasSubstr("adjoint roots")));
  EXPECT_EQ(objects(recorded), objects(kernel));
  EXPECT_EQ(objects(taped), objects(kernel));
}

struct NamedOptions {
  const char *name;
  LaunchOptions options;
};

class OptionLevelsOnATape : public OptionLevels, public testing::WithParamInterface<NamedOptions> {};

// The forward launch passes on the options that an adjoint launch would have got.
TEST_P(OptionLevelsOnATape, OfALaunchAndOfItsAdjoint) {
  const Kernel powers{"powers",
                      {"y", "x", "at", "steps"},
                      [](Array<double, 1> y, Array<const double, 1> x, Array<const int, 1> at, Int steps) {
                        Int i = thread_index();
                        Double value = x(at(i));
                        for (Int k : range(steps)) value = value * value + cast<Double>(k);
                        y(i) = value;
                      }};
  const Buffer<double> x(cpu, {4}, {0.1, 0.2, 0.3, 0.4}, Gradient::tracked), y(cpu, {4}, Gradient::tracked);
  const Buffer<int> at(cpu, {4}, {3, 0, 0, 1});
  LaunchOptions adjoint = GetParam().options;
  adjoint.direction = Direction::adjoint;
  const Launch by_hand = powers.record({4}, adjoint, y, x, at, 3);
  powers.record({4}, GetParam().options, y, x, at, 3);
  const std::size_t variants = powers.variants().size();

  Tape tape;
  tape.record([&] { powers.launch({4}, GetParam().options, y, x, at, 3); });
  EXPECT_EQ(built([&] { tape.backward({{y, Buffer<double>(cpu, {4}, {1, 1, 1, 1})}}); }), 0);
  EXPECT_EQ(powers.variants().size(), variants);

  const Launch plain = powers.record({4}, {.direction = Direction::adjoint}, y, x, at, 3);
  EXPECT_NE(&plain.variant(), &by_hand.variant()) << "the option matters";
}

INSTANTIATE_TEST_SUITE_P(Options, OptionLevelsOnATape,
                         testing::Values(NamedOptions{"debug", {.debug = true}},
                                         NamedOptions{"deterministic", {.deterministic = true}},
                                         NamedOptions{"memory_limit", {.memory_limit = 0}}),
                         [](const auto &info) { return std::string(info.param.name); });

}  // namespace
}  // namespace samite::test
