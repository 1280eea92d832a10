// Fits a small network to a picture of rings on several ranks, each with its own part of the pixels:
// `mpirun -n 4 training_on_ranks`, or four threads.
#include <samite/distributed.h>
#include <samite/samite.h>
#include <samite/solve.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace samite;

constexpr int width = 24, pixels = 48, steps = 300;

void train(const Communicator &world) {
  // One pixel: a layer of `width` tanh units, and their weighted sum.
  Kernel squared_error{"squared_error", [](Array<float, 1> loss, Array<const float, 2> inner,
                                           Array<const float, 1> outer, Int first_row, Int rows) {
                         auto [row, column] = thread_index<2>();
                         const Float y = 2.0f * cast<Float>(row + first_row) / pixels - 1;
                         const Float x = 2.0f * cast<Float>(column) / pixels - 1;
                         Float value = 0;
                         for (Int unit : range(width))
                           value += outer(unit) * tanh(inner(unit, 0) * x + inner(unit, 1) * y + inner(unit, 2));
                         const Float difference = value - cos(5 * sqrt(x * x + y * y));
                         atomic_add(loss(0), difference * difference / cast<Float>(rows * pixels));
                       }};

  auto weights = solvers::parameter_block(world.device(), ScalarType::Float32, {{width, 3}, {width}});
  Buffer<float> inner{weights[0]}, outer{weights[1]};
  for (int unit = 0; unit < width; ++unit) {
    for (int i = 0; i < 3; ++i) inner.set({unit, i}, 3 * std::sin(7.0f * static_cast<float>(3 * unit + i)));
    outer.set({unit}, 0.3f * std::cos(5.0f * static_cast<float>(unit)));
  }
  DataParallel training(world, weights, solvers::Adam{.rate = 0.03}, {.clip_norm = 1, .sharded = true});

  const int first = pixels * world.rank() / world.size(), rows = pixels * (world.rank() + 1) / world.size() - first;
  Buffer<float> loss{world.device(), {1}, Gradient::tracked}, mean{world.device(), {1}};
  for (int step = 0; step <= steps; ++step) {
    loss.fill(0);
    Tape tape;
    tape.record([&] { squared_error.launch({rows, pixels}, loss, inner, outer, first, rows); });
    training.backward(tape, loss);
    training.step();
    training.zero_gradients();
    if (step % 100 != 0) continue;
    all_reduce(world, mean, loss, ReduceOp::average);
    if (world.rank() == 0) std::printf("step %3d: squared error %.4f\n", step, mean.at(0));
  }
  if (mean.at(0) > 0.02f) throw std::runtime_error("the network did not learn the picture");
}

int main() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE")) {
    train(Communicator::from_mpi());
  } else {
    std::vector<std::thread> threads;
    for (const Communicator &world : Communicator::of_threads(4)) threads.emplace_back([=] { train(world); });
    for (std::thread &thread : threads) thread.join();
  }
}
