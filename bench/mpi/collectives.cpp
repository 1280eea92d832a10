// Collectives and the exchange of halos over MPI, beside the same calls of MPI by hand: `mpirun -n 4 collectives`.
// Every rank runs both in turn; rank 0 prints.
#include "bench/peers/halo_step.h"
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/distributed.h"
#include "samite/samite.h"

#include <fmt/core.h>
#include <mpi.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>

using namespace samite;

namespace {

void all_reduces(bench::Report *report, const Communicator &world) {
  for (std::int64_t bytes = 1 << 10; bytes <= 256 << 20; bytes *= 16) {
    const std::int64_t n = bytes / 4;
    const Buffer<float> values{world.device(), {n}}, result{world.device(), {n}}, by_hand{world.device(), {n}};
    Buffer<float>(values).fill(static_cast<float>(world.rank() + 1));
    const bench::Contest contest{.rounds = bytes > 1 << 20 ? 7 : 41, .calls = bytes > 1 << 16 ? 1 : 50};
    const bench::Outcome outcome = bench::alternate(
        contest, [&] { all_reduce(world, result, values); },
        [&] { MPI_Allreduce(values.data(), by_hand.data(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
    const auto expected = static_cast<float>(world.size() * (world.size() + 1) / 2);
    if (result.at(n - 1) != expected || by_hand.at(n - 1) != expected) throw std::runtime_error("the sums differ");
    if (report)
      report->add({fmt::format("all_reduce, {} ranks, {} B of f32", world.size(), bytes), "time", outcome.ours * 1e6,
                   "µs", "MPI_Allreduce", outcome.peer * 1e6},
                  {.ratio_at_least = 0.97});
  }
}

// The halo of a block by hand: rows as they are, columns packed.
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

void halos(bench::Report *report, const Communicator &world, std::int64_t extent) {
  Kernel step{"step", [](Array<float, 2> next, Array<const float, 2> now) {
                auto [y, x] = thread_index<2>();
                if_(interior(now, y, x), [&] {
                  next(y, x) = now(y, x) +
                               0.1f * (now(y, x - 1) + now(y, x + 1) + now(y - 1, x) + now(y + 1, x) - 4 * now(y, x));
                });
              }};
  const Grid grid{world, {extent, extent}};
  Buffer<float> a = grid.array<float>(), b = grid.array<float>(), c = grid.array<float>(), d = grid.array<float>();
  for (Buffer<float> each : {a, c}) {
    Buffer<float> inside = grid.without_ghosts(each);
    for (std::int64_t y = 0; y < grid.block()[0]; y += 3) inside.set({y, y % grid.block()[1]}, 1);
  }
  Launch there = step.record(a.extents(), b, a), back = step.record(a.extents(), a, b);
  HaloByHand halo{grid};
  const long rows = grid.padded()[0], columns = grid.padded()[1];
  const bench::Outcome outcome = bench::alternate(
      {.rounds = 21, .calls = 20},
      [&] {
        grid.exchange(a), there.launch();
        grid.exchange(b), back.launch();
      },
      [&] {
        halo.exchange(c.data()), peer_halo_step(d.data(), c.data(), rows, columns);
        halo.exchange(d.data()), peer_halo_step(c.data(), d.data(), rows, columns);
      });
  const std::vector<float> ours = grid.without_ghosts(a).to_vector(), theirs = grid.without_ghosts(c).to_vector();
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (std::abs(ours[i] - theirs[i]) > 1e-4F) throw std::runtime_error("the steps differ");
  if (report)
    report->add({fmt::format("two steps with their halos, {} ranks, {} x {} f32", world.size(), extent, extent), "time",
                 outcome.ours * 1e6, "µs", "MPI_Isend and MPI_Irecv by hand", outcome.peer * 1e6},
                {.ratio_at_least = 1.0});
}

}  // namespace

int main(int count, char **arguments) {
  int level = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &level);
  {
    const Communicator world = Communicator::from_mpi(MPI_COMM_WORLD);
    bench::Report report{"collectives"};
    bench::Report *own = world.rank() == 0 ? &report : nullptr;
    all_reduces(own, world);
    for (const std::int64_t extent : {256, 1024, 4096}) halos(own, world, extent);
  }
  MPI_Finalize();
}
