// Tapes over random programs of the host, against differences of the programs' plain meaning.
//
// SAMITE_TEST_RANDOM_TAPES says how many, SAMITE_TEST_RANDOM_SEED the first seed.
#include "tests/jit/cuda_kernels.h"
#include "tests/jit/on_device.h"
#include "tests/jit/random_host_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace samite::test {
namespace {

using testing::HasSubstr;

unsigned from_environment(const char *name, unsigned usual) {
  const char *text = std::getenv(name);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : usual;
}

struct Seed {
  HostView view;
  std::vector<double> weights;
};

// A tape, its recorded steps, and the objective: the sum of all seeds' weighted elements afterwards.
struct Taped {
  Tape tape;
  HostValues before;
  std::vector<HostStep> steps;             // including those of others in between
  std::vector<std::vector<bool>> written;  // by the tape, of each array
  std::set<int> used;                      // arrays
  std::vector<Seed> seeds;
  bool may_be_refused = false;
  std::pair<std::size_t, std::size_t> moved;  // the element that a difference changes
  double shift = 0;
  std::map<std::pair<std::size_t, std::size_t>, double> derivatives;

  explicit Taped(const TapeOptions &options) : tape(options) {}

  void did(const HostStep &step, bool on_tape) {
    steps.push_back(step);
    may_be_refused = may_be_refused || step.uses_untracked || !on_tape;
    if (!on_tape) return write_constants();
    for (const auto *views : {&step.written, &step.read})
      for (const HostView &view : *views) used.insert(view.array);
    for (const HostView &view : step.written) {
      const auto array = static_cast<std::size_t>(view.array);
      if (written.size() <= array) written.resize(array + 1, std::vector<bool>(HostProgram::size));
      for (const int element : view.elements) written[array][static_cast<std::size_t>(element)] = true;
    }
  }
  bool writes(std::size_t array, std::size_t element) const {
    return array < written.size() && written[array][element];
  }

  // The last step was not on the tape: its results are constants. A tape that first uses such an element afterwards
  // takes it for an initial value, so that a difference moves it, too.
  void write_constants() {
    const HostValues base = after(before);
    HostStep &step = steps.back();
    step.meaning = [this, base, views = step.written](HostValues &values) {
      for (const HostView &view : views)
        for (const int e : view.elements) {
          const auto array = static_cast<std::size_t>(view.array), element = static_cast<std::size_t>(e);
          values[array][element] = base[array][element] + (moved == std::pair(array, element) ? shift : 0);
        }
    };
  }

  HostValues after(HostValues values) const {
    for (const HostStep &step : steps) step.meaning(values);
    return values;
  }
  double objective(const HostValues &from) const {
    const HostValues values = after(from);
    double sum = 0;
    for (const Seed &seed : seeds)
      for (std::size_t i = 0; i < seed.weights.size(); ++i)
        sum += seed.weights[i] *
               values[static_cast<std::size_t>(seed.view.array)][static_cast<std::size_t>(seed.view.elements[i])];
    return sum;
  }
  // Exact to the fourth order of the step.
  double derivative(std::size_t array, std::size_t element) {
    if (array >= before.size()) return 0;  // a clone's elements have no values before
    constexpr double step = 1e-3;
    moved = std::pair(array, element);
    const auto at = [&](double by) {
      HostValues values = before;
      shift = by;
      values[array][element] += by;
      return objective(values);
    };
    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
  }
  double known_derivative(std::size_t array, std::size_t element) {
    const auto [found, is_new] = derivatives.try_emplace({array, element});
    if (is_new) found->second = derivative(array, element);
    return found->second;
  }
  std::string text() const {
    std::string text;
    for (const HostStep &step : steps) text += "  " + step.text + "\n";
    for (const Seed &seed : seeds) text += "  backward from " + seed.view.text + "\n";
    return text;
  }
};

class Programs {
 public:
  // As many as the environment says, or `usual`.
  void check_all(unsigned usual, const std::vector<Device> &others) {
    const unsigned first = from_environment("SAMITE_TEST_RANDOM_SEED", 0);
    const unsigned count = from_environment("SAMITE_TEST_RANDOM_TAPES", usual);
    for (unsigned seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) check(seed, others);
    if (count < 100) return;
    EXPECT_GT(right_, refused_ * 3) << "most programs are differentiated";
    EXPECT_GT(refused_, 0) << "some are to be refused";
  }

 private:
  void check(unsigned seed, const std::vector<Device> &others) {
    HostProgram program(seed, on_device::device, others);
    const bool untracked = program.one_in(4), others_write = program.one_in(5), keep = !program.one_in(8);
    std::vector<std::unique_ptr<Taped>> tapes;
    const int rounds = 1 + program.below(3);
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      Taped &taped = *tapes.emplace_back(std::make_unique<Taped>(TapeOptions{.keep_values = keep}));
      taped.may_be_refused = !keep;
      taped.before = program.values();
      const int parts = 1 + program.below(2);
      for (int part = 0; part < parts; ++part) {
        taped.tape.record([&] {
          for (int steps = 1 + program.below(7); steps > 0; --steps) take(program, taped, untracked);
        });
        while (others_write && program.one_in(2)) {
          const HostStep step = program.host_step(true);
          step.run();
          taped.did(step, false);
        }
      }
      expect_values(program, taped, seed);
      for (int seeds = 1 + program.below(3); seeds > 0; --seeds) {
        const HostView view = program.tracked_view();
        if (!taped.used.contains(view.array)) continue;
        taped.seeds.push_back({view, program.random_values(view.elements.size())});
      }
      for (int times = 1 + program.below(2); times > 0; --times) go_back(program, taped, seed);
    }
    // A tape of an earlier round is right, or refuses values that have been overwritten since.
    tapes.front()->may_be_refused = tapes.size() > 1 || tapes.front()->may_be_refused;
    if (!testing::Test::HasFailure()) go_back(program, *tapes.front(), seed, true);
  }

  static void take(HostProgram &program, Taped &taped, bool untracked) {
    const HostStep step = program.step(untracked);
    step.run();
    taped.did(step, true);
  }

  static void expect_values(const HostProgram &program, const Taped &taped, unsigned seed) {
    const HostValues got = program.values(), expected = taped.after(taped.before);
    for (std::size_t array = 0; array < got.size(); ++array)
      for (std::size_t i = 0; i < got[array].size(); ++i)
        ASSERT_NEAR(got[array][i], expected[array][i], 1e-12 * (1 + std::fabs(expected[array][i])))
            << "seed " << seed << ": " << program.arrays()[array].name << "[" << i << "] after\n"
            << taped.text();
  }

  void go_back(const HostProgram &program, Taped &taped, unsigned seed, bool earlier = false) {
    std::vector<std::vector<double>> there;
    for (const HostArray &array : program.arrays())
      there.push_back(array.tracked ? Buffer<double>(array.buffer.gradient()).to_vector() : std::vector<double>());
    std::vector<Tape::Cotangent> cotangents;
    for (const Seed &one : taped.seeds) {
      Buffer<double> value(one.view.buffer.device(), one.view.buffer.extents(), one.weights);
      cotangents.push_back({one.view.buffer, value});
    }
    try {
      taped.tape.backward(cotangents);
    } catch (const UserError &error) {
      const std::string message = error.what();
      const bool known = std::ranges::any_of(
          std::array{"overwritten since", "would be lost", "is not on it", "so that backward changes it",
                     "before the forward launch, which overwrites them", "which the forward launch overwrites"},
          [&](const char *reason) { return message.find(reason) != message.npos; });
      EXPECT_TRUE(taped.may_be_refused && known) << "seed " << seed << ": " << message << "\n" << taped.text();
      refused_ += !earlier;
      return;
    }
    right_ += !earlier;
    for (std::size_t array = 0; array < program.arrays().size(); ++array) {
      if (!program.arrays()[array].tracked) continue;
      const std::vector<double> got = Buffer<double>(program.arrays()[array].buffer.gradient()).to_vector();
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double expected = taped.known_derivative(array, i) + (taped.writes(array, i) ? 0 : there[array][i]);
        ASSERT_NEAR(got[i], expected, 1e-7 * (1 + std::fabs(expected)))
            << "seed " << seed << ", backward() number " << right_ << ": gradient of " << program.arrays()[array].name
            << "[" << i << "] " << (taped.writes(array, i) ? "(written)" : "(read)") << " after\n"
            << taped.text();
      }
    }
  }

  int refused_ = 0, right_ = 0;
};

TEST(RandomTape, HasTheGradientsOfDifferences) { Programs().check_all(500, {}); }

// Two arrays are on other devices: two of the fake driver's, or GPUs.
class RandomTapeOnDevices : public CudaKernelTest {
 protected:
  // The adjoint of a copy, which adds to the gradient of a source there.
  struct CopyAdjointArguments {
    ArrayArgument<double> to, from, to_gradient, from_gradient;
  };
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<CopyAdjointArguments>("copy_adjoint", [](const CopyAdjointArguments &arguments, const LaunchBox &box) {
      for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i) {
        double &taken = arguments.to_gradient.data[i * arguments.to_gradient.stride];
        arguments.from_gradient.data[i * arguments.from_gradient.stride] += std::exchange(taken, 0);
      }
    });
  }
};
SAMITE_CUDA_SUITE(RandomTapeOnDevices);

TEST_P(RandomTapeOnDevices, HasTheGradientsOfDifferences) {
  std::vector<Device> others;
  for (int device = 0; device < std::min(CudaDevice::count(), 2); ++device) others.push_back(Device::cuda(device));
  Programs().check_all(100, others);
}

}  // namespace
}  // namespace samite::test
