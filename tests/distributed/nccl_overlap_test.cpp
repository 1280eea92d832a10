// Exchanges of ghosts over NCCL: their streams and groups, on the fakes. Their kernels' results are tested on the
// CPU.
#include "samite/distributed.h"
#include "samite/samite.h"

#include "tests/distributed/fake_nccl.h"
#include "tests/jit/cuda_kernels.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <thread>

namespace samite::test::nccl_overlap {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

struct MoveArguments {
  ArrayArgument<float> to, from;
  ArrayArgument<std::int32_t> elements;
};
struct AddArguments {
  ArrayArgument<float> array, packed;
  ArrayArgument<std::int32_t> homes, first, slots;
};

// The driver runs the kernels that pack ghosts.
class FakeNcclGrid : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    nccl_.emplace();
    understand<MoveArguments>("pack_ghosts", [](const MoveArguments &of, const LaunchBox &box) {
      for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i) of.to.data[i] = of.from.data[of.elements.data[i]];
    });
    understand<MoveArguments>("unpack_ghosts", [](const MoveArguments &of, const LaunchBox &box) {
      for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i) of.to.data[of.elements.data[i]] = of.from.data[i];
    });
    understand<AddArguments>("add_ghosts", [](const AddArguments &of, const LaunchBox &box) {
      for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i)
        for (std::int32_t k = of.first.data[i]; k < of.first.data[i + 1]; ++k)
          of.array.data[of.homes.data[i]] += of.packed.data[of.slots.data[k]];
    });
  }
  void TearDown() override {
    nccl_.reset();
    CudaKernelTest::TearDown();
  }

  static driver::CUstream stream_of(const Communicator &ranks) {
    return static_cast<driver::CUstream>(ranks.stream().native());
  }

  std::optional<FakeNccl> nccl_;
};

const auto nothing = [](const GridPart &) {};

TEST_P(FakeNcclGrid, SendsInTheCommunicatorsStreamUnlessItOverlaps) {
  const Communicator ranks = Communicator::of_devices({device()})[0];
  const Grid grid{ranks, {16, 12}, {.periodic = {true, true}}};
  const Buffer<float> now = grid.array<float>();
  nccl_->fail_call(-1);
  grid.exchange(now);
  EXPECT_EQ(nccl_->calls(), 2 * 8 + 1) << "one group of messages in all directions";
  EXPECT_THAT(nccl_->take_message_streams(), ElementsAre(stream_of(ranks)));
  const int waits = fake()->count("cuStreamWaitEvent");
  grid.exchange(now, nothing);
  EXPECT_GE(fake()->count("cuStreamWaitEvent"), waits + 2) << "messages wait for earlier work, and the border for them";
  EXPECT_THAT(nccl_->take_message_streams(), AllOf(SizeIs(1), Not(ElementsAre(stream_of(ranks)))));
}

// Two ranks in a ring of 4 elements each: ghosts, and their gradients, which are sent back. Graphs capture both.
void expect_ghosts_and_gradients(const Communicator &ranks) {
  const auto expect = [&](const char *what, const Buffer<float> &array, const std::vector<float> &expected) {
    if (array.to_vector() != expected) throw std::runtime_error(what);
  };
  const Grid grid{ranks, {8}, {.periodic = {true}}};
  const float own = 10.0F * static_cast<float>(ranks.rank()), other = 10 - own;
  const Buffer<float> array = grid.array<float>(Gradient::tracked);
  const Buffer<float> before{ranks.device(), {1}, {7}}, after{ranks.device(), {1}, {5}};
  const std::vector<float> alone{0, own + 1, own + 2, own + 3, own + 4, 0};
  const std::vector<float> together{other + 4, own + 1, own + 2, own + 3, own + 4, other + 1};
  for (const bool overlaps : {false, true}) {
    const auto exchange = [&] { overlaps ? grid.exchange(array, nothing) : grid.exchange(array); };
    Buffer<float>(array).copy_from(alone);
    Buffer<float>(array).zero_gradient();
    Tape tape;
    tape.record(exchange);
    expect("ghosts", array, together);
    tape.backward({{array.slice(0, 0, 1), before}, {array.slice(0, 5, 6), after}});
    expect("gradients", array.gradient(), {0, 5, 0, 0, 7, 0});
    ranks.synchronize();
    // The fake sends during the capture, not at each launch, so a graph's values are not those of the exchange.
    Graph back = capture(ranks.stream(), [&] {
      Buffer<float>(array).zero_gradient();
      tape.backward({{array.slice(0, 0, 1), before}, {array.slice(0, 5, 6), after}});
    });
    Graph forward = capture(ranks.stream(), exchange);
    forward.launch(), back.launch();
    ranks.synchronize();
  }
}

TEST_P(FakeNcclGrid, BringsGhostsAndTheirGradients) {
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (const Communicator &ranks : Communicator::of_devices({Device::cuda(0), Device::cuda(1)}))
    threads.emplace_back([&errors, ranks] {
      try {
        expect_ghosts_and_gradients(ranks);
      } catch (const std::exception &error) {
        errors[static_cast<std::size_t>(ranks.rank())] = error.what();
        ranks.abort("a rank has failed");
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_THAT(errors, Each(""));
}

// There are no kernels that pack 16-bit integers or views.
TEST_P(FakeNcclGrid, SendsOtherArraysAsViews) {
  const Communicator ranks = Communicator::of_devices({device()})[0];
  const Grid grid{ranks, {6}, {.periodic = {true}}};
  const Buffer<std::int16_t> numbers = grid.array<std::int16_t>();
  Buffer<std::int16_t>(numbers).copy_from({0, 1, 2, 3, 4, 5, 6, 0});
  grid.exchange(numbers);
  EXPECT_THAT(numbers.to_vector(), ElementsAre(6, 1, 2, 3, 4, 5, 6, 1));
  Buffer<float> strided = Buffer<float>{device(), {16}}.slice(0, 0, 16, 2);
  strided.copy_from({0, 1, 2, 3, 4, 5, 6, 0});
  int parts = 0;
  grid.exchange(strided, [&](const GridPart &) { ++parts; });
  EXPECT_EQ(parts, 3);
  EXPECT_THAT(strided.to_vector(), ElementsAre(6, 1, 2, 3, 4, 5, 6, 1));
}

// The driver's calls for a collective in the thread that has the device's context.
TEST_P(FakeNcclGrid, CollectivesAskTheDriverOnce) {
  const Communicator ranks = Communicator::of_devices({device()})[0];
  const Buffer<float> values{device(), {4}}, sums{device(), {4}};
  const driver::Context &context = CudaDevice::of(0)->context();
  context.driver().table().CtxPushCurrent(context.raw());
  all_reduce(ranks, sums, values);
  const int pushed = fake()->count("cuCtxPushCurrent"), asked = fake()->count("cuCtxGetCurrent");
  nccl_->fail_call(-1);
  for (int call = 0; call < 10; ++call) all_reduce(ranks, sums, values);
  EXPECT_EQ(nccl_->calls(), 10);
  EXPECT_EQ(fake()->count("cuCtxPushCurrent"), pushed);
  EXPECT_EQ(fake()->count("cuCtxGetCurrent"), asked + 10);
  driver::CUcontext popped = nullptr;
  context.driver().table().CtxPopCurrent(&popped);
}

INSTANTIATE_TEST_SUITE_P(Fake, FakeNcclGrid, testing::Values(Where::fake),
                         [](const auto &) { return std::string("fake"); });

}  // namespace
}  // namespace samite::test::nccl_overlap
