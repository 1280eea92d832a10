// Finds the source of a wave from the readings of sensors, on several ranks: `mpirun -n 4 many_ranks`, or four threads.
// The grid is cut into blocks; gradients pass through the exchange of ghosts and the sum over ranks. The search
// computes the interior of each block while ghosts travel.
#include <samite/distributed.h>
#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace samite;

constexpr std::int64_t n = 20;
constexpr int steps = 16, rounds = 60;

void find_source(const Communicator &world) {
  Kernel wave{"wave", [](Array<float, 3> next, Array<const float, 3> now, Array<const float, 3> before) {
                auto [z, y, x] = thread_index<3>();
                if_(interior(now, z, y, x), [&] {
                  Float laplacian = now(z - 1, y, x) + now(z + 1, y, x) + now(z, y - 1, x) + now(z, y + 1, x) +
                                    now(z, y, x - 1) + now(z, y, x + 1) - 6 * now(z, y, x);
                  next(z, y, x) = 2 * now(z, y, x) - before(z, y, x) + 0.2f * laplacian;
                });
              }};
  Kernel misfit{"misfit", [](Array<double, 1> sum, Array<const float, 3> seen, Array<const float, 3> expected) {
                  auto [z, y, x] = thread_index<3>();
                  Float difference = seen(z, y, x) - expected(z, y, x);
                  atomic_add(sum(0), cast<Double>(difference * difference));
                }};
  Kernel descend{"descend", [](Array<float, 3> source, Array<const float, 3> gradient, Float rate) {
                   auto [z, y, x] = thread_index<3>();
                   source(z, y, x) -= rate * gradient(z, y, x);
                 }};

  Grid grid{world, {n, n, n}, {.periodic = {false, true, true}}};
  std::vector<Buffer<float>> states;  // in time; the first two are the source
  for (int i = 0; i < steps + 2; ++i) states.push_back(grid.array<float>(Gradient::tracked));
  const auto run = [&](const Buffer<float> &source) {
    states[0].copy_from(source), states[1].copy_from(source);
    for (std::size_t i = 1; i + 1 < states.size(); ++i) {
      grid.exchange(states[i]);
      wave.launch(states[i].extents(), states[i + 1], states[i], states[i - 1]);
    }
  };
  const auto run_overlapped = [&](const Buffer<float> &source) {
    states[0].copy_from(source), states[1].copy_from(source);
    for (std::size_t i = 1; i + 1 < states.size(); ++i)
      grid.exchange(states[i], [&](const GridPart &part) {
        wave.launch(part.extents(), part(states[i + 1]), part(states[i]), part(states[i - 1]));
      });
  };

  // The sensors' readings of a wave that began at one place.
  Buffer<float> truth = grid.array<float>(), source = grid.array<float>(Gradient::tracked);
  Buffer<float> inside = grid.without_ghosts(truth);
  for (std::int64_t z = 0; z < grid.block()[0]; ++z)
    for (std::int64_t y = 0; y < grid.block()[1]; ++y)
      for (std::int64_t x = 0; x < grid.block()[2]; ++x) {
        const double dz = static_cast<double>(grid.begin()[0] + z) - 12,
                     dy = static_cast<double>(grid.begin()[1] + y) - 7,
                     dx = static_cast<double>(grid.begin()[2] + x) - 9;
        inside.set({z, y, x}, static_cast<float>(std::exp(-0.3 * (dz * dz + dy * dy + dx * dx))));
      }
  run(truth);
  const Buffer<float> seen = grid.without_ghosts(states.back()).clone();

  Buffer<double> own{world.device(), {1}, Gradient::tracked}, total{world.device(), {1}, Gradient::tracked};
  double first = 0;
  for (int round = 0; round <= rounds; ++round) {
    Tape tape;
    own.fill(0), source.zero_gradient();
    tape.record([&] {
      run_overlapped(source);
      misfit.launch(grid.block(), own, grid.without_ghosts(states.back()), seen);
      all_reduce(world, total, own);
    });
    if (round == 0) first = total.at(0);
    if (round % 20 == 0 && world.rank() == 0)
      std::printf("round %2d: misfit %.4f of the first\n", round, total.at(0) / first);
    // Each rank's misfit is its own part of the objective.
    const Buffer<double> one{world.device(), {1}, {world.rank() == 0 ? 1.0 : 0.0}};
    tape.backward({{total, one}});
    descend.launch(source.extents(), source, source.gradient(), 0.1f);
  }
  if (total.at(0) > 0.02 * first) throw std::runtime_error("the source was not found");

  Buffer<float> whole{world.device(), grid.extents()};
  grid.gather(whole, source);
  if (world.rank() != 0) return;
  std::printf("%d ranks in blocks of %s; the source is strongest at", world.size(), grid.block().to_string().c_str());
  const std::vector<float> values = whole.to_vector();
  const auto at = std::max_element(values.begin(), values.end()) - values.begin();
  std::printf(" (%d, %d, %d)\n", static_cast<int>(at / (n * n)), static_cast<int>(at / n % n),
              static_cast<int>(at % n));
}

int main() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE")) {
    Communicator world = Communicator::from_mpi();
    find_source(world);
  } else {
    std::vector<std::thread> threads;
    for (const Communicator &world : Communicator::of_threads(4)) threads.emplace_back([=] { find_source(world); });
    for (std::thread &thread : threads) thread.join();
  }
}
