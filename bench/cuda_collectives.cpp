// Collectives over NCCL, compared with the same direct calls of NCCL: one rank for each GPU of this machine, in
// threads. With one GPU only the host's cost is measured.
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/distributed.h"
#include "samite/distributed/nccl_library.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <thread>

using namespace samite;

namespace {

// A direct communicator in addition to Samite's.
struct ByHand {
  distributed::NcclComm *comm;
  driver::CUstream stream;
  const distributed::NcclTable &table;
};

void host_cost(bench::Report *report, const Communicator &ranks, const ByHand &hand) {
  const Buffer<float> values{ranks.device(), {1}}, result{ranks.device(), {1}};
  const bench::Outcome outcome = bench::alternate(
      {.rounds = 41, .calls = 100, .prepare = [&] { ranks.stream().synchronize(); }},
      [&] { all_reduce(ranks, result, values); },
      [&] { hand.table.AllReduce(values.data(), result.data(), 1, 7, 0, hand.comm, hand.stream); });
  if (report)
    report->add({fmt::format("all_reduce of 1 f32, {} ranks", ranks.size()), "time of the host's call",
                 outcome.ours * 1e6, "µs", "ncclAllReduce", outcome.peer * 1e6},
                {.ratio_at_least = 0.97});
}

void bandwidth(bench::Report *report, const Communicator &ranks, const ByHand &hand) {
  const std::int64_t size = ranks.size();
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 32) {
    const std::int64_t n = bytes / 4 / size * size;
    const Buffer<float> whole{ranks.device(), {n}}, result{ranks.device(), {n}}, part{ranks.device(), {n / size}};
    const auto count = static_cast<std::size_t>(n), of_part = count / static_cast<std::size_t>(size);
    const bench::Contest contest{.rounds = 11, .calls = bytes > 1 << 24 ? 3 : 50};
    const auto compare = [&](const char *name, const auto &ours, const auto &peer) {
      const auto repeated = [&](const auto &work) {
        return [&] {
          for (int call = 0; call < contest.calls; ++call) work();
          ranks.stream().synchronize();
        };
      };
      const bench::Outcome outcome = bench::alternate({.rounds = contest.rounds}, repeated(ours), repeated(peer));
      if (report)
        report->add({fmt::format("{}, {} ranks, {} B of f32", name, size, bytes), "time",
                     outcome.ours * 1e6 / contest.calls, "µs", "NCCL by hand", outcome.peer * 1e6 / contest.calls},
                    {.ratio_at_least = 0.98});
    };
    compare(
        "all_reduce", [&] { all_reduce(ranks, result, whole); },
        [&] { hand.table.AllReduce(whole.data(), result.data(), count, 7, 0, hand.comm, hand.stream); });
    compare(
        "all_gather", [&] { all_gather(ranks, result, part); },
        [&] { hand.table.AllGather(part.data(), result.data(), of_part, 7, hand.comm, hand.stream); });
    compare(
        "reduce_scatter", [&] { reduce_scatter(ranks, part, whole); },
        [&] { hand.table.ReduceScatter(whole.data(), part.data(), of_part, 7, 0, hand.comm, hand.stream); });
  }
}

}  // namespace

int main() {
  const int count = CudaDevice::count();
  if (count == 0) return 0;
  std::vector<Device> devices;
  for (int index = 0; index < count; ++index) devices.push_back(Device::cuda(index));
  const auto nccl = distributed::Nccl::system();
  distributed::NcclId id{};
  nccl->check(nccl->table().GetUniqueId(&id), "ncclGetUniqueId");
  bench::Report report{"cuda_collectives"};
  std::vector<std::thread> threads;
  for (const Communicator &ranks : Communicator::of_devices(devices))
    threads.emplace_back([&, ranks] {
      const driver::Context &context = CudaDevice::of(ranks.device().index())->context();
      context.driver().table().CtxPushCurrent(context.raw());
      distributed::NcclComm *comm = nullptr;
      nccl->check(nccl->table().CommInitRank(&comm, count, id, ranks.rank()), "ncclCommInitRank");
      const ByHand hand{comm, static_cast<driver::CUstream>(ranks.stream().native()), nccl->table()};
      bench::Report *own = ranks.rank() == 0 ? &report : nullptr;
      host_cost(own, ranks, hand);
      if (count > 1) bandwidth(own, ranks, hand);
      nccl->table().CommDestroy(comm);
    });
  for (std::thread &thread : threads) thread.join();
}
