// Ranks over NCCL: on fakes of the driver and of NCCL everywhere, and on GPUs if there are any.
#include "samite/distributed.h"
#include "samite/distributed/rendezvous.h"
#include "samite/samite.h"

#include "tests/distributed/collective_cases.h"
#include "tests/distributed/fake_nccl.h"
#include "tests/runtime/cuda_setting.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <numeric>
#include <thread>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;

std::vector<Device> devices(int count) {
  std::vector<Device> devices;
  for (int index = 0; index < count; ++index) devices.push_back(Device::cuda(index));
  return devices;
}

std::vector<std::string> errors_of(std::vector<Communicator> ranks,
                                   const std::function<void(const Communicator &)> &work) {
  std::vector<std::string> errors(ranks.size());
  std::vector<std::thread> threads;
  for (const Communicator &rank : ranks)
    threads.emplace_back([&errors, &work, rank] {
      try {
        work(rank);
      } catch (const std::exception &error) {
        errors[static_cast<std::size_t>(rank.rank())] = error.what();
        rank.abort("rank " + std::to_string(rank.rank()) + " has failed");
      }
    });
  ranks.clear();
  for (std::thread &thread : threads) thread.join();
  return errors;
}

class NcclRanks : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    if (fake()) nccl_.emplace();
    count_ = fake() ? 2 : CudaDevice::count();
  }
  void TearDown() override {
    nccl_.reset();
    CudaTest::TearDown();
  }

  std::optional<FakeNccl> nccl_;
  int count_ = 0;
};

// The values of each collective. Its gradients are kernels, which the fake driver does not run.
void check_values(const CollectiveCase &each, const Communicator &ranks) {
  const int size = ranks.size();
  ValuesOfRanks all(static_cast<std::size_t>(size));
  for (int other = 0; other < size; ++other) {
    Values &values = all[static_cast<std::size_t>(other)];
    values.resize(static_cast<std::size_t>(each.values(other, size)));
    std::iota(values.begin(), values.end(), 10.0 * (other + 1));
  }
  const auto own = static_cast<std::size_t>(ranks.rank());
  const Values expected = each.expected(all)[own];
  const bool is_needed = each.name.starts_with("all_to_all");
  const Buffer<double> values{ranks.device(), {each.values(ranks.rank(), size)}, all[own]};
  const Buffer<double> result{ranks.device(), {static_cast<std::int64_t>(expected.size())}};
  const auto given = [&](const Buffer<double> &buffer) {
    return buffer.count() == 0 && !is_needed ? AnyBuffer() : AnyBuffer(buffer);
  };
  each.run(ranks, given(result), given(values));
  ranks.synchronize();
  if (result.to_vector() != expected) throw std::runtime_error(each.name);
}

TEST_P(NcclRanks, CollectivesOfEveryKind) {
  if (count_ < 2) GTEST_SKIP() << "there is one GPU";
  EXPECT_THAT(errors_of(Communicator::of_devices(devices(count_)),
                        [](const Communicator &ranks) {
                          for (const CollectiveCase &each : collective_cases()) check_values(each, ranks);
                          ranks.barrier();
                          const Communicator alone = ranks.split(ranks.rank());
                          if (alone.size() != 1) throw std::runtime_error(alone.to_string());
                        }),
              Each(""));
}

TEST_P(NcclRanks, GradientsOfEveryKind) {
  if (fake()) GTEST_SKIP() << "the fake runs no kernels";
  if (count_ < 2) GTEST_SKIP() << "there is one GPU";
  EXPECT_THAT(errors_of(Communicator::of_devices(devices(count_)),
                        [](const Communicator &ranks) {
                          std::string differences;
                          for (const CollectiveCase &each : collective_cases()) differences += check_case(each, ranks);
                          if (!differences.empty()) throw std::runtime_error(differences);
                        }),
              Each(""));
}

// On one GPU, too.
TEST_P(NcclRanks, ARankAlone) {
  EXPECT_THAT(errors_of(Communicator::of_devices(devices(1)),
                        [](const Communicator &ranks) {
                          Buffer<float> values{ranks.device(), {1000}, std::vector<float>(1000, 3)};
                          const Buffer<float> sums{ranks.device(), {1000}}, all{ranks.device(), {1000}};
                          const Communicator apart = ranks.on(Stream(ranks.device()));
                          all_reduce(apart, sums, values), all_gather(apart, all, sums), broadcast(apart, values, 0);
                          apart.synchronize();
                          if (all.to_vector() != std::vector<float>(1000, 3)) throw std::runtime_error("the values");
                        }),
              Each(""));
}

// Collectives between kernels in a graph, forward and backward; on one GPU, too.
TEST_P(NcclRanks, InGraphs) {
  if (fake()) GTEST_SKIP() << "the fake runs no kernels";
  const Kernel square{"square", [](Array<double, 1> y, Array<const double, 1> x) {
                        Int i = thread_index();
                        y(i) = x(i) * x(i);
                      }};
  EXPECT_THAT(errors_of(Communicator::of_devices(devices(count_)),
                        [&](const Communicator &standard) {
                          const Stream stream(standard.device());
                          const Communicator ranks = standard.on(stream);
                          const auto tracked = [&] {
                            return Buffer<double>{ranks.device(), {1000}, Gradient::tracked};
                          };
                          Buffer<double> x = tracked(), y = tracked(), sum = tracked();
                          const auto forward = [&] {
                            square.launch({1000}, {.stream = stream}, y, x);
                            all_reduce(ranks, sum, y);
                          };
                          const Buffer<double> ones{ranks.device(), {1000}, std::vector<double>(1000, 1)};
                          Tape tape;
                          tape.record(forward);
                          tape.backward({{sum, ones}});
                          ranks.synchronize();
                          Graph graph = capture(stream, [&] {
                            forward();
                            x.zero_gradient();
                          });
                          for (const double start : {1.0, 2.0}) {
                            double expected = 0;
                            for (int rank = 0; rank < ranks.size(); ++rank) expected += (start + rank) * (start + rank);
                            x.fill(start + ranks.rank());
                            Stream::standard(ranks.device()).synchronize();
                            graph.launch();
                            ranks.synchronize();
                            if (sum.to_vector() != std::vector<double>(1000, expected))
                              throw std::runtime_error(std::to_string(sum.at(0)));
                          }
                        }),
              Each(""));
}

TEST_P(NcclRanks, AreMadeByAnId) {
  const CommunicatorId id = Communicator::new_id();
  EXPECT_EQ(Communicator::from_id(id, 0, 1, device()).to_string(), "rank 0 of 1 by NCCL on cuda:0");
  EXPECT_THROW(Communicator::from_id(id, 1, 1, device()), UserError);
  EXPECT_THROW(Communicator::from_id(id, 0, 1, Device::cpu()), UserError);
  EXPECT_THROW(Communicator::of_devices({}), UserError);
}

// The program destroys it, after the last use.
TEST_P(NcclRanks, AreThoseOfTheProgramsOwnCommunicator) {
  const auto nccl = distributed::Nccl::system();
  distributed::NcclId id{};
  nccl->check(nccl->table().GetUniqueId(&id), "ncclGetUniqueId");
  const driver::Context &context = CudaDevice::of(0)->context();
  context.driver().table().CtxPushCurrent(context.raw());
  distributed::NcclComm *own = nullptr;
  nccl->check(nccl->table().CommInitRank(&own, 1, id, 0), "ncclCommInitRank");
  {
    const Communicator ranks = Communicator::from_nccl(own);
    EXPECT_EQ(ranks.to_string(), "rank 0 of 1 by NCCL on cuda:0");
    const Buffer<float> values{ranks.device(), {100}, std::vector<float>(100, 3)}, sums{ranks.device(), {100}};
    all_reduce(ranks, sums, values);
    ranks.split(0).barrier();
    EXPECT_EQ(sums.to_vector(), values.to_vector());
  }
  EXPECT_EQ(Communicator::from_nccl(own).size(), 1) << "it is still there";
  EXPECT_EQ(nccl->table().CommDestroy(own), distributed::NcclResult::success);
  driver::CUcontext popped = nullptr;
  context.driver().table().CtxPopCurrent(&popped);
  EXPECT_THROW(Communicator::from_nccl(nullptr), UserError);
}

SAMITE_CUDA_SUITE(NcclRanks);

class FakeNcclRanks : public NcclRanks {};

TEST_P(FakeNcclRanks, ReportEachCallThatFails) {
  nccl_.reset(), nccl_.emplace(22704, std::chrono::milliseconds(200));
  const auto work = [](const Communicator &ranks) {
    Buffer<float> values{ranks.device(), {4}}, sums{ranks.device(), {4}}, two{ranks.device(), {2}};
    all_reduce(ranks, sums, values), broadcast(ranks, values, 0), reduce(ranks, sums, values, 0);
    reduce_scatter(ranks, two, values), all_gather(ranks, values, two), all_to_all(ranks, sums, values);
    ranks.split(0).barrier();
  };
  // The number of failing calls grows until none is left to fail.
  int number = 0;
  for (;; ++number) {
    nccl_->fail_call(number);
    std::vector<std::string> errors;
    try {
      errors = errors_of(Communicator::of_devices(devices(2)), work);
    } catch (const DeviceError &error) {
      errors = {error.what()};
    }
    if (nccl_->calls() <= number) break;
    EXPECT_THAT(errors, Contains(HasSubstr("NCCL 2.27.4: a fake error"))) << "call " << number;
  }
  EXPECT_GT(number, 20);
  (void)nccl_->take_mistakes();
}

TEST_P(FakeNcclRanks, ReportWhatHappensToOtherRanks) {
  nccl_->report(distributed::NcclResult::remote_error);
  const auto errors = errors_of(Communicator::of_devices(devices(2)), [](const Communicator &ranks) {
    Buffer<float> values{ranks.device(), {4}};
    all_reduce(ranks, values);
    ranks.synchronize();
  });
  EXPECT_THAT(errors, Contains(HasSubstr("another rank or the network has failed")));
}

// A communicator that was aborted refuses calls, and another one of the same devices works.
TEST_P(FakeNcclRanks, AreMadeAnewAfterAFailure) {
  nccl_->report(distributed::NcclResult::remote_error);
  const auto reduce = [](const Communicator &ranks) {
    const Buffer<float> values{ranks.device(), {4}, {1, 1, 1, 1}}, sums{ranks.device(), {4}};
    all_reduce(ranks, sums, values);
    ranks.synchronize();
    if (sums.to_vector() != std::vector<float>(4, 2)) throw std::runtime_error("the sums");
  };
  std::vector<Communicator> failed = Communicator::of_devices(devices(2));
  EXPECT_THAT(errors_of(failed, reduce), Contains(HasSubstr("another rank or the network has failed")));
  nccl_->report(distributed::NcclResult::success);
  EXPECT_THAT(errors_of(failed, reduce), Each(HasSubstr("the communicator was aborted")));
  failed.clear();
  EXPECT_THAT(errors_of(Communicator::of_devices(devices(2)), reduce), Each(""));
}

TEST_P(FakeNcclRanks, FindCallsThatDiffer) {
  const auto errors =
      errors_of(Communicator::of_devices(devices(2), {.verified = true}), [](const Communicator &ranks) {
        const Buffer<float> values{ranks.device(), {4}};
        all_reduce(ranks, values);
        if (ranks.rank() == 0)
          all_reduce(ranks, values, ReduceOp::max);
        else
          broadcast(ranks, values, 1);
      });
  const auto line = HasSubstr("nccl_test.cpp:");
  EXPECT_THAT(errors[0], AllOf(HasSubstr("all_reduce (max) of 4 f32"), line,
                               HasSubstr("on rank 0 of 2 is met by broadcast of 4 f32, root 1 (")));
  EXPECT_THAT(errors[1], AllOf(HasSubstr("broadcast of 4 f32, root 1"), line,
                               HasSubstr("on rank 1 of 2 is met by all_reduce (max) of 4 f32 (")));
}

TEST_P(FakeNcclRanks, RefuseWhatNcclLacks) {
  const auto errors = errors_of(Communicator::of_devices(devices(1)), [](const Communicator &ranks) {
    all_reduce(ranks, Buffer<std::int16_t>{ranks.device(), {4}});
  });
  EXPECT_THAT(errors, Each(HasSubstr("reduces no elements of type i16")));
}

TEST_P(FakeNcclRanks, NeedANewerNccl) {
  nccl_.reset();
  EXPECT_THROW(FakeNccl(21000), DeviceError);
}

TEST_P(FakeNcclRanks, MeetByTheEnvironmentOfTorchrun) {
  std::array<char, 4> first{'1', '2', '3', '4'}, second{};
  const distributed::Place zero{0, 2, 0, "127.0.0.1", 41234}, one{1, 2, 1, "127.0.0.1", 41234};
  std::thread other([&] { distributed::share_bytes(second, one, std::chrono::seconds(20)); });
  distributed::share_bytes(first, zero, std::chrono::seconds(20));
  other.join();
  EXPECT_EQ(second, first);
  EXPECT_THROW(distributed::share_bytes(second, one, std::chrono::milliseconds(50)), DeviceError);
  EXPECT_THROW(distributed::share_bytes(first, zero, std::chrono::milliseconds(50)), DeviceError);

  for (const auto &[name, value] : {std::pair{"WORLD_SIZE", "1"},
                                    {"RANK", "0"},
                                    {"LOCAL_RANK", "0"},
                                    {"MASTER_ADDR", "localhost"},
                                    {"MASTER_PORT", "41234"}}) {
    EXPECT_THROW(Communicator::from_environment(), UserError) << name;
    ::setenv(name, value, 1);
  }
  EXPECT_EQ(Communicator::from_environment().size(), 1);
  ::setenv("RANK", "1", 1);
  EXPECT_THROW(Communicator::from_environment(), UserError);
  for (const char *name : {"WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(name);
}

INSTANTIATE_TEST_SUITE_P(Fake, FakeNcclRanks, testing::Values(Where::fake),
                         [](const auto &) { return std::string("fake"); });

}  // namespace
}  // namespace samite::test
