// Collectives, messages and steps of a stencil with halos over MPI, compared with the same direct calls of MPI:
// `mpirun -n 4 collectives`. Every rank runs both in turn; rank 0 prints.
#include "bench/peers/halo_step.h"
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/distributed.h"
#include "samite/samite.h"

#include <fmt/core.h>
#include <mpi.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using namespace samite;

namespace {

// "MPI_Allreduce, Open MPI v4.1.4"
std::string by_hand_with(const std::string &calls, const Communicator &world) {
  const std::string library = world.transport().name();
  return fmt::format("{}, {}", calls, library.substr(0, library.find(',')));
}

// Each rank sends a message to the next one, and receives one from the last.
void messages(bench::Report *report, const Communicator &world) {
  const int next = (world.rank() + 1) % world.size(), last = (world.rank() + world.size() - 1) % world.size();
  for (const std::int64_t bytes : {8, 1 << 10, 1 << 16, 1 << 22}) {
    const Buffer<float> sent{world.device(), {bytes / 4}}, received{world.device(), {bytes / 4}};
    const int count = static_cast<int>(bytes / 4);
    const bench::Outcome outcome = bench::alternate(
        {.rounds = 21, .calls = bytes > 1 << 16 ? 5 : 100},
        [&] { exchange(world, {{sent, next}}, {{received, last}}); },
        [&] {
          MPI_Request requests[2];
          MPI_Irecv(received.data(), count, MPI_FLOAT, last, 0, MPI_COMM_WORLD, &requests[0]);
          MPI_Isend(sent.data(), count, MPI_FLOAT, next, 0, MPI_COMM_WORLD, &requests[1]);
          MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        });
    if (report)
      report->add({fmt::format("exchange in a ring, {} ranks, {} B", world.size(), bytes), "time", outcome.ours * 1e6,
                   "µs", by_hand_with("MPI_Isend and MPI_Irecv", world), outcome.peer * 1e6},
                  {.ratio_at_least = 0.97});
  }
}

void all_reduces(bench::Report *report, const Communicator &world) {
  for (const std::int64_t bytes : {1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26, 1 << 28}) {
    const std::int64_t n = bytes / 4;
    const Buffer<float> values{world.device(), {n}}, result{world.device(), {n}}, by_hand{world.device(), {n}};
    Buffer<float>(values).fill(static_cast<float>(world.rank() + 1));
    const bench::Contest contest{.rounds = bytes > 1 << 24   ? 3
                                           : bytes > 1 << 20 ? 7
                                                             : 41,
                                 .calls = bytes > 1 << 16 ? 1 : 50};
    const bench::Outcome outcome = bench::alternate(
        contest, [&] { all_reduce(world, result, values); },
        [&] { MPI_Allreduce(values.data(), by_hand.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
    const auto expected = static_cast<float>(world.size() * (world.size() + 1) / 2);
    if (result.at(n - 1) != expected || by_hand.at(n - 1) != expected) throw std::runtime_error("the sums differ");
    if (report)
      report->add({fmt::format("all_reduce, {} ranks, {} B of f32", world.size(), bytes), "time", outcome.ours * 1e6,
                   "µs", by_hand_with("MPI_Allreduce", world), outcome.peer * 1e6},
                  {.ratio_at_least = 0.97});
  }
}

// The halo of a block without Samite: rows directly, columns packed.
class HaloByHand {
 public:
  HaloByHand(const Grid &grid) : grid_(grid), rows_(grid.padded()[0]), columns_(grid.padded()[1]) {
    for (int side = 0; side < 2; ++side) {
      sent_[side].resize(static_cast<std::size_t>(rows_));
      received_[side].resize(static_cast<std::size_t>(rows_));
    }
  }

  void exchange(float *data) {
    const int across = grid_.blocks()[1], down = grid_.blocks()[0], y = grid_.position()[0], x = grid_.position()[1];
    const auto rank = [&](int row, int column) {
      return row < 0 || row >= down || column < 0 || column >= across ? MPI_PROC_NULL : row * across + column;
    };
    MPI_Request requests[4];
    const int up = rank(y - 1, x), below = rank(y + 1, x), left = rank(y, x - 1), right = rank(y, x + 1);
    const int row = static_cast<int>(columns_), column = static_cast<int>(rows_);
    MPI_Irecv(data, row, MPI_FLOAT, up, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(data + (rows_ - 1) * columns_, row, MPI_FLOAT, below, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(data + columns_, row, MPI_FLOAT, up, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(data + (rows_ - 2) * columns_, row, MPI_FLOAT, below, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (long i = 0; i < rows_; ++i) {
      sent_[0][static_cast<std::size_t>(i)] = data[i * columns_ + 1];
      sent_[1][static_cast<std::size_t>(i)] = data[i * columns_ + columns_ - 2];
    }
    MPI_Irecv(received_[0].data(), column, MPI_FLOAT, left, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(received_[1].data(), column, MPI_FLOAT, right, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(sent_[0].data(), column, MPI_FLOAT, left, 3, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(sent_[1].data(), column, MPI_FLOAT, right, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (long i = 0; i < rows_; ++i) {
      if (left != MPI_PROC_NULL) data[i * columns_] = received_[0][static_cast<std::size_t>(i)];
      if (right != MPI_PROC_NULL) data[i * columns_ + columns_ - 1] = received_[1][static_cast<std::size_t>(i)];
    }
  }

 private:
  const Grid &grid_;
  long rows_, columns_;
  std::vector<float> sent_[2], received_[2];
};

// Launched over the elements behind the margin, so that none of them needs a condition.
const auto &step() {
  static const Kernel kernel{
      "step", [](Array<float, 2> next, Array<const float, 2> now) {
        auto [row, column] = thread_index<2>();
        const Int y = row + 1, x = column + 1;
        next(y, x) = now(y, x) + 0.1f * (now(y, x - 1) + now(y, x + 1) + now(y - 1, x) + now(y + 1, x) - 4 * now(y, x));
      }};
  return kernel;
}

// Two arrays of a grid between which steps go back and forth, from the same values on each call.
struct Fields {
  explicit Fields(const Grid &grid) : a(grid.array<float>()), b(grid.array<float>()) {
    Buffer<float> inside = grid.without_ghosts(a);
    for (std::int64_t y = 0; y < grid.block()[0]; y += 3) inside.set({y, y % grid.block()[1]}, 1);
  }

  Buffer<float> a, b;
};

// Steps whose messages overlap with the interior: one recorded launch for each part.
class PartedStep {
 public:
  PartedStep(const Grid &grid, const Buffer<float> &next, const Buffer<float> &now) : grid_(grid), now_(now) {
    grid.exchange(
        now, [&](const GridPart &part) { launches_.push_back(step().record(part.elements(), part(next), part(now))); });
  }
  void run() {
    std::size_t part = 0;
    grid_.exchange(now_, [&](const GridPart &) { launches_[part++].launch(); });
  }

 private:
  const Grid &grid_;
  Buffer<float> now_;
  std::vector<Launch> launches_;
};

void require_equal(const Grid &grid, const Fields &ours, const Fields &theirs) {
  const std::vector<float> values = grid.without_ghosts(ours.a).to_vector(),
                           others = grid.without_ghosts(theirs.a).to_vector();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::abs(values[i] - others[i]) > 1e-4F) throw std::runtime_error("the steps differ");
}

void halos(bench::Report *report, const Communicator &world, std::int64_t extent) {
  const Grid grid{world, {extent, extent}};
  Fields plain{grid}, parted{grid}, hand{grid}, alone{grid};
  const Extents &extents = grid.block();
  Launch there = step().record(extents, plain.b, plain.a), back = step().record(extents, plain.a, plain.b);
  Launch alone_there = step().record(extents, alone.b, alone.a), alone_back = step().record(extents, alone.a, alone.b);
  PartedStep parts_there{grid, parted.b, parted.a}, parts_back{grid, parted.a, parted.b};
  HaloByHand halo{grid};
  const long rows = grid.padded()[0], columns = grid.padded()[1];
  const auto exchange_first = [&] {
    grid.exchange(plain.a), there.launch();
    grid.exchange(plain.b), back.launch();
  };
  const auto overlapped = [&] { parts_there.run(), parts_back.run(); };
  const auto by_hand = [&] {
    halo.exchange(hand.a.data()), peer_halo_step(hand.b.data(), hand.a.data(), rows, columns);
    halo.exchange(hand.b.data()), peer_halo_step(hand.a.data(), hand.b.data(), rows, columns);
  };
  const auto without_exchange = [&] { alone_there.launch(), alone_back.launch(); };
  const bench::Contest contest{.rounds = 21, .calls = 20};
  const std::string size = fmt::format("{} ranks, {} x {} f32", world.size(), extent, extent);
  const auto add = [&](const std::string &name, const std::string &peer, double least, const auto &ours,
                       const auto &theirs) {
    const bench::Outcome outcome = bench::alternate(contest, ours, theirs);
    if (report)
      report->add({fmt::format("{}, {}", name, size), "time", outcome.ours * 1e6, "µs", peer, outcome.peer * 1e6},
                  {.ratio_at_least = least});
  };
  const std::string peer = by_hand_with("MPI_Isend and MPI_Irecv", world), none = "the same steps without an exchange";
  add("two steps with their halos", peer, 1, exchange_first, by_hand);
  require_equal(grid, plain, hand);
  add("two steps with their halos", none, 0, exchange_first, without_exchange);
  add("two steps with their halos, overlapped", none, 0, overlapped, without_exchange);
  // A step in parts is the step of the whole block.
  Fields in_parts{grid}, whole{grid};
  PartedStep once{grid, in_parts.b, in_parts.a};
  once.run();
  grid.exchange(whole.a), step().launch(extents, whole.b, whole.a);
  std::swap(in_parts.a, in_parts.b), std::swap(whole.a, whole.b);
  require_equal(grid, in_parts, whole);
}

}  // namespace

int main(int count, char **arguments) {
  int level = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &level);
  {
    // Ranks of one machine share its processors.
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::size_t threads = std::max<std::size_t>(1, std::thread::hardware_concurrency() / ranks);
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    const Communicator world = Communicator::from_mpi(MPI_COMM_WORLD);
    bench::Report report{"collectives"};
    bench::Report *own = world.rank() == 0 ? &report : nullptr;
    messages(own, world);
    all_reduces(own, world);
    for (const std::int64_t extent : {256, 1024, 4096}) halos(own, world, extent);
  }
  MPI_Finalize();
}
