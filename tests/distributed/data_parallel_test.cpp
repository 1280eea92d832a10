#include "samite/distributed.h"
#include "samite/samite.h"
#include "samite/solve.h"

#include "tests/distributed/ranks.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <mutex>

namespace samite::test::training {
namespace {

using solvers::Adam;
using solvers::parameter_block;
using solvers::Sgd;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

using Numbers = std::vector<double>;
constexpr std::int64_t width = 7, examples = 12;

// y = sum of b(j) tanh(a(j) x + c(j)); the squared error of an example.
const auto &error_of_examples() {
  static const Kernel kernel{"error_of_examples",
                             {"error", "a", "b", "c", "first", "count"},
                             [](Array<double, 1> error, Array<const double, 1> a, Array<const double, 1> b,
                                Array<const double, 1> c, const Int &first, const Int &count) {
                               const Double x = 0.2 * cast<Double>(thread_index() + first) - 1;
                               Double y = 0;
                               for (Int j : range(static_cast<int>(width))) y += b(j) * tanh(a(j) * x + c(j));
                               const Double difference = y - sin(3 * x);
                               atomic_add(error(0), difference * difference / cast<Double>(count));
                             }};
  return kernel;
}

struct Setting {
  DataParallelOptions options;
  solvers::Optimiser::Method method;
  bool together = true;  // the parameters are a block
};

std::vector<AnyBuffer> parameters_of(Device device, bool together, double shift) {
  std::vector<AnyBuffer> parameters;
  if (together) {
    parameters = parameter_block(device, ScalarType::Float64, {{width}, {width}, {width}});
  } else {
    for (int i = 0; i < 3; ++i) parameters.emplace_back(device, ScalarType::Float64, Extents{width}, Gradient::tracked);
  }
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      Buffer<double>(parameters[static_cast<std::size_t>(i)])
          .set({j}, std::sin(static_cast<double>(7 * i + j)) + shift);
  return parameters;
}

void record(Tape &tape, const std::vector<AnyBuffer> &parameters, Buffer<double> error, std::int64_t first,
            std::int64_t count) {
  error.zero_gradient();
  error.fill(0);
  tape.record([&] {
    error_of_examples().launch({count}, error, Buffer<double>(parameters[0]), Buffer<double>(parameters[1]),
                               Buffer<double>(parameters[2]), static_cast<int>(first), static_cast<int>(count));
  });
}

Numbers values_of(const std::vector<AnyBuffer> &parameters) {
  Numbers all;
  for (const AnyBuffer &parameter : parameters)
    for (const double value : Buffer<double>(parameter).to_vector()) all.push_back(value);
  return all;
}

// Five steps of one rank with all examples.
Numbers trained_by_one(const Setting &setting) {
  const auto parameters = parameters_of(Device::cpu(), setting.together, 0);
  solvers::Optimiser optimiser(parameters, setting.method, {.clip_norm = setting.options.clip_norm});
  const Buffer<double> error(Device::cpu(), {1}, Gradient::tracked);
  for (int step = 0; step < 5; ++step) {
    Tape tape;
    record(tape, parameters, error, 0, examples);
    tape.backward(error);
    optimiser.step();
    optimiser.zero_gradients();
  }
  return values_of(parameters);
}

// The same for several ranks with equally many examples; rank by rank.
std::vector<Numbers> trained_by(int ranks, const Setting &setting) {
  std::vector<Numbers> trained(static_cast<std::size_t>(ranks));
  const auto errors = errors_of_ranks(ranks, [&](const Communicator &rank) {
    // Only rank 0's parameters count.
    const auto parameters = parameters_of(rank.device(), setting.together, rank.rank());
    DataParallel training(rank, parameters, setting.method, setting.options);
    const Buffer<double> error(rank.device(), {1}, Gradient::tracked);
    for (int step = 0; step < 5; ++step) {
      Tape tape;
      record(tape, parameters, error, examples / ranks * rank.rank(), examples / ranks);
      training.backward(tape, error);
      training.step();
      training.zero_gradients();
    }
    trained[static_cast<std::size_t>(rank.rank())] = values_of(parameters);
  });
  EXPECT_THAT(errors, Each(""));
  return trained;
}

class Training : public testing::TestWithParam<int> {};

TEST_P(Training, AsOneRankWithAllData) {
  for (const bool sharded : {false, true})
    for (const bool together : {false, true})
      for (const std::int64_t bucket : {0, 8 * static_cast<int>(width) + 1, 1 << 20})
        for (const double clip : {0.0, 0.1}) {
          SCOPED_TRACE(testing::Message() << "sharded " << sharded << ", together " << together << ", buckets of "
                                          << bucket << ", clipped at " << clip);
          const Setting setting{
              {.clip_norm = clip, .bucket_bytes = bucket, .sharded = sharded}, Adam{.rate = 0.05}, together};
          const auto trained = trained_by(GetParam(), setting);
          EXPECT_THAT(trained[0], Pointwise(DoubleNear(1e-12), trained_by_one(setting)));
          EXPECT_THAT(trained, Each(trained[0]));
        }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Training, testing::Values(1, 2, 3));

// Fewer parameters than ranks: some have no share.
TEST(Training, OfOneNumber) {
  EXPECT_THAT(errors_of_ranks(3,
                              [](const Communicator &rank) {
                                const auto x = parameter_block(rank.device(), ScalarType::Float64, {{1}});
                                DataParallel training(rank, x, Sgd{.rate = 0.5}, {.sharded = true});
                                EXPECT_EQ(training.optimiser() != nullptr, rank.rank() == 2);
                                Buffer<double>(x[0].gradient()).fill(rank.rank());
                                Tape tape;
                                const Buffer<double> objective(rank.device(), {1}, Gradient::tracked);
                                tape.record([&] { Buffer<double>(objective).copy_from(Buffer<double>(x[0])); });
                                training.backward(tape, objective);
                                training.step();
                                // The average of 0, 1 and 2, and then 1 of the objective.
                                EXPECT_THAT(Buffer<double>(x[0]).to_vector(), ElementsAre(-1));
                              }),
              Each(""));
}

TEST(Training, RefusesUnusableParameters) {
  const Communicator rank = Communicator::of_threads(1)[0];
  const auto error = [&](const std::vector<AnyBuffer> &parameters, const DataParallelOptions &options = {}) {
    try {
      DataParallel(rank, parameters, Sgd{}, options);
    } catch (const UserError &refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_THAT(error({}), HasSubstr("data-parallel training: no parameters are given"));
  EXPECT_THAT(error({Buffer<double>(rank.device(), {2})}), HasSubstr("tracks no gradient"));
  EXPECT_THAT(error(parameters_of(rank.device(), true, 0), {.bucket_bytes = -1}), HasSubstr("-1 is given"));
}

}  // namespace
}  // namespace samite::test::training
