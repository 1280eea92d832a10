// Random captures, replayed, edited and launched among other work, compared with their meaning in plain numbers.
//
// SAMITE_TEST_RANDOM_CAPTURES is how many, and SAMITE_TEST_RANDOM_SEED the first.
#include "tests/jit/cuda_kernels.h"
#include "tests/jit/random_program.h"

#include <cstdlib>

namespace samite::test {
namespace {

using Kind = ModelOperation::Kind;

int from_environment(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

constexpr int first_arrays = 3;

struct Kernels {
  Kernel<void(Array<double, 1>, Array<const double, 1>, Int)> assign{
      "assign", {"y", "x", "amount"}, [](Array<double, 1> y, Array<const double, 1> x, Int amount) {
        Int i = thread_index();
        y(i) = 2 * x(i) + amount;
      }};
  Kernel<void(Array<double, 1>, Array<const double, 1>, Int)> add{
      "add", {"y", "x", "amount"}, [](Array<double, 1> y, Array<const double, 1> x, Int) {
        Int i = thread_index();
        y(i) += x(i);
      }};
  Kernel<void(Array<std::int32_t, 1>, Int)> count{
      "count", {"counter", "amount"}, [](Array<std::int32_t, 1> counter, Int amount) { counter(0) += amount; }};
  Kernel<void(Array<std::int32_t, 1>, Array<const std::int32_t, 1>, Int)> below{
      "below",
      {"flag", "counter", "limit"},
      [](Array<std::int32_t, 1> flag, Array<const std::int32_t, 1> counter, Int limit) {
        flag(0) = cast<Int>(counter(0) < limit);
      }};
};

// The library's side of a program, on one device.
class World {
 public:
  World(Device device, const Kernels &kernels) : device_(device), kernels_(kernels) {
    for (int c = 0; c < model_conditions; ++c)
      counters_.emplace_back(device, Extents{1}), flags_.emplace_back(device, Extents{1});
    for (int a = 0; a < first_arrays; ++a) arrays_.emplace_back(device, Extents{model_elements}, Gradient::tracked);
  }

  const Stream &stream() const { return stream_; }

  Buffer<double> view(const ModelView &view) const {
    const Buffer<double> &array = arrays_[static_cast<std::size_t>(view.array)];
    const Buffer<double> whole = view.gradient ? array.gradient() : array;
    switch (view.shape) {
      case ModelView::Shape::slice: return whole.slice(0, view.begin, view.end, view.step);
      case ModelView::Shape::matrix: return whole.reshape({3, 4});
      default: return whole.reshape({4, 3}).transpose();
    }
  }

  Launch record(const ModelOperation &operation) const {
    const auto c = static_cast<std::size_t>(operation.condition);
    if (operation.kind == Kind::count) return kernels_.count.record({1}, options(), counters_[c], operation.amount);
    if (operation.kind == Kind::below)
      return kernels_.below.record({1}, options(), flags_[c], counters_[c], operation.amount);
    const auto &kernel = operation.kind == Kind::assign ? kernels_.assign : kernels_.add;
    const Buffer<double> y = view(operation.y);
    return kernel.record(y.extents(), options(operation.direction), y, view(operation.x), operation.amount);
  }

  // Captures the graphs inside it first, before the capture of the program itself.
  void prepare(const ModelProgram &program) {
    for (const ModelOperation &operation : program) {
      if (operation.has_body()) prepare(operation.body);
      if (operation.kind == Kind::graph)
        graphs_.emplace(&operation, capture(stream_, [&] { perform(operation.body); }));
      const bool of_clones = std::max(operation.y.array, operation.x.array) >= first_arrays;
      if (operation.is_launch() && operation.recorded && !of_clones) launches_.emplace(&operation, record(operation));
    }
  }

  void perform(const ModelProgram &program) {
    for (const ModelOperation &operation : program) perform(operation);
  }

  void perform(const ModelOperation &operation) {
    const auto c = static_cast<std::size_t>(operation.condition);
    switch (operation.kind) {
      case Kind::assign:
      case Kind::add:
      case Kind::count:
      case Kind::below: return launch(operation);
      case Kind::fill: return view(operation.y).fill(operation.amount);
      case Kind::copy: return view(operation.y).copy_from(view(operation.x));
      case Kind::write: return view(operation.y).copy_from(std::span(operation.values));
      case Kind::set: return view(operation.y).set({0}, operation.amount);
      case Kind::zero_gradient: return zero_gradient(operation.y);
      case Kind::clone: arrays_.push_back(view(operation.x).clone(Gradient::tracked).reshape({model_elements})); return;
      case Kind::reset: return counters_[c].fill(0);
      case Kind::while_: return capture_while(flags_[c], [&] { perform(operation.body); });
      case Kind::if_: return capture_if(flags_[c], [&] { perform(operation.body); });
      case Kind::graph: return graphs_.at(&operation).launch(stream_);
    }
  }

  void expect(const ModelState &state) const {
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      expect_numbers(arrays_[a], state.values[a]);
      expect_numbers(arrays_[a].gradient(), state.gradients[a]);
    }
  }

 private:
  LaunchOptions options(Direction direction = Direction::forward) const {
    return {.direction = direction, .stream = stream_};
  }

  void launch(const ModelOperation &operation) {
    if (const auto recorded = launches_.find(&operation); recorded != launches_.end()) return recorded->second.launch();
    const auto c = static_cast<std::size_t>(operation.condition);
    if (operation.kind == Kind::count) return kernels_.count.launch({1}, options(), counters_[c], operation.amount);
    if (operation.kind == Kind::below)
      return kernels_.below.launch({1}, options(), flags_[c], counters_[c], operation.amount);
    const auto &kernel = operation.kind == Kind::assign ? kernels_.assign : kernels_.add;
    const Buffer<double> y = view(operation.y);
    kernel.launch(y.extents(), options(operation.direction), y, view(operation.x), operation.amount);
  }

  void zero_gradient(ModelView view) {
    view.gradient = false;
    this->view(view).zero_gradient();
  }

  static void expect_numbers(const Buffer<double> &numbers, const std::array<double, model_elements> &expected) {
    const std::vector<double> found = numbers.to_vector();
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], 1e-9 * expected[i]) << numbers.to_string() << ", element " << i;
  }

  Device device_;
  const Kernels &kernels_;
  Stream stream_{device_};
  std::vector<Buffer<double>> arrays_;
  std::vector<Buffer<std::int32_t>> counters_, flags_;
  std::map<const ModelOperation *, Graph> graphs_;
  std::map<const ModelOperation *, Launch> launches_;
};

void try_seed(std::uint32_t seed, Device device, const Kernels &kernels) {
  RandomPrograms random(seed, device.kind() == DeviceKind::cuda);
  World world(device, kernels);
  ModelState state;
  for (int a = 0; a < first_arrays; ++a) {
    state.add_array();
    for (bool gradient : {false, true}) {
      ModelOperation write{.kind = Kind::write, .y = {.array = a, .gradient = gradient}};
      for (int i = 0; i < model_elements; ++i) write.values.push_back(random.number(0, 5));
      world.perform(write), state.run(write);
    }
  }
  int arrays = first_arrays;
  ModelProgram program = random.program(arrays);
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_string(program));
  world.prepare(program);
  const std::size_t clones = static_cast<std::size_t>(arrays - first_arrays);
  Graph graph = capture(world.stream(), [&] { world.perform(program); });
  for (std::size_t k = 0; k < clones; ++k) state.add_array();
  ASSERT_NO_FATAL_FAILURE(world.expect(state)) << "nothing has run";

  const std::vector<ModelOperation *> launches = launches_of(program);
  ASSERT_EQ(graph.size(), launches.size());
  const auto launch_to_edit = [&]() -> std::optional<std::size_t> {
    if (launches.empty()) return std::nullopt;
    const auto number = static_cast<std::size_t>(random.number(0, static_cast<int>(launches.size()) - 1));
    return launches[number]->kind <= Kind::add ? std::optional(number) : std::nullopt;
  };
  const Stream other{device};
  std::string history;
  for (int action = random.number(3, 7); action > 0; --action) {
    const int choice = random.number(0, 9);
    if (choice < 4) {
      history += "replay\n";
      if (choice == 0)
        graph.launch(other);
      else
        graph.launch();
      state.run(program);
    } else if (const auto edited = choice < 8 ? launch_to_edit() : std::nullopt) {
      ModelOperation &operation = *launches[*edited];
      if (choice < 6) {
        operation.enabled = !operation.enabled;
        history += "enable " + std::to_string(*edited) + ": " + std::to_string(operation.enabled) + "\n";
        graph.enable(*edited, operation.enabled);
      } else {
        ModelOperation changed = random.instead_of(operation, arrays);
        changed.enabled = operation.enabled;
        history += "set " + std::to_string(*edited) + "\n" + changed.to_string();
        graph.set(*edited, world.record(changed));
        operation = changed;
      }
    } else {
      ModelOperation between = random.simple_operation(arrays);
      between.recorded = false;
      history += "beside it\n" + between.to_string();
      world.perform(between), state.run(between);
    }
    ASSERT_NO_FATAL_FAILURE(world.expect(state)) << history;
  }
}

void try_seeds(Device device, int first, int count) {
  const Kernels kernels;
  for (int seed = first; seed < first + count && !testing::Test::HasFatalFailure(); ++seed)
    try_seed(static_cast<std::uint32_t>(seed), device, kernels);
}

int first_seed() { return from_environment("SAMITE_TEST_RANDOM_SEED", 1); }
int captures(int otherwise) { return from_environment("SAMITE_TEST_RANDOM_CAPTURES", otherwise); }

TEST(RandomCaptures, MeanTheSameOnTheCpu) { try_seeds(Device::cpu(), first_seed(), captures(500)); }

class RandomCapturesOnCuda : public CudaKernelTest {
 protected:
  struct WithoutGradients {
    ArrayArgument<double> y, x;
    int amount;
  };
  struct Vectors {
    ArrayArgument<double> y, x;
    int amount;
    ArrayArgument<double> y_gradient, x_gradient;
  };
  struct CountArguments {
    ArrayArgument<std::int32_t> counter;
    int amount;
  };
  struct BelowArguments {
    ArrayArgument<std::int32_t> flag;
    ArrayArgument<const std::int32_t> counter;
    int limit;
  };

  void understand_kernels() {
    understand<CountArguments>("count",
                               [](const CountArguments &a, const LaunchBox &) { a.counter.data[0] += a.amount; });
    understand<BelowArguments>(
        "below", [](const BelowArguments &a, const LaunchBox &) { a.flag.data[0] = a.counter.data[0] < a.limit; });
    understand_vectors("assign", Kind::assign);
    understand_vectors("add", Kind::add);
  }

 private:
  static double &element(const ArrayArgument<double> &array, std::int64_t i) { return array.data[i * array.stride]; }

  void understand_vectors(const std::string &name, Kind kind) {
    const bool assigns = kind == Kind::assign;
    const double factor = assigns ? 2 : 1;
    const auto each = [](const LaunchBox &box, const auto &run) {
      for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i) run(i);
    };
    understand<Vectors>(name + "_tangent", [=](const Vectors &a, const LaunchBox &box) {
      each(box, [&](std::int64_t i) {
        double &y = element(a.y, i), &dy = element(a.y_gradient, i);
        dy = factor * element(a.x_gradient, i) + (assigns ? 0 : dy);
        y = factor * element(a.x, i) + (assigns ? a.amount : y);
      });
    });
    understand<Vectors>(name + "_adjoint", [=](const Vectors &a, const LaunchBox &box) {
      each(box, [&](std::int64_t i) {
        double &dy = element(a.y_gradient, i);
        element(a.x_gradient, i) += factor * dy;
        if (assigns) dy = 0;
      });
    });
    understand<WithoutGradients>(name, [=](const WithoutGradients &a, const LaunchBox &box) {
      each(box, [&](std::int64_t i) {
        double &y = element(a.y, i);
        y = factor * element(a.x, i) + (assigns ? a.amount : y);
      });
    });
  }
};
SAMITE_CUDA_SUITE(RandomCapturesOnCuda);

// The fake remembers whatever was destroyed, and looks through it in each call: few captures for each.
TEST_P(RandomCapturesOnCuda, MeanTheSame) {
  constexpr int for_each_fake = 20;
  for (int done = 0, count = captures(60); done < count; done += for_each_fake) {
    if (fake()) start_fake({});
    understand_kernels();
    try_seeds(device(), first_seed() + done, std::min(for_each_fake, count - done));
  }
}

}  // namespace
}  // namespace samite::test
