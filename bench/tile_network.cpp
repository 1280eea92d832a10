// A network of two layers and its loss, as tile kernels: one step of training without the update, forward and adjoint,
// on the CPU and, if there is one, on a GPU, there also as graphs. peers/against_warp.py and peers/against_torch.py
// compare it with the same in Warp and in torch.
#include "bench/support/alternate_on_device.h"
#include "bench/support/report.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace samite;

namespace {

constexpr int examples = 4096, inputs = 256, hidden = 256, outputs = 64;

// Rows and columns of a block's part of a layer, and the number of terms of an iteration.
struct Tiling {
  int rows, columns, depth, threads, stages;
};
struct Tilings {
  Tiling first, second, loss;
  tile::Precision precision = tile::Precision::full;
};

// A layer's epilogue.
enum class Shape { curved, straight };

auto layer(const char *name, const Tiling &tiling, tile::Precision precision, Shape shape) {
  return TileKernel{
      name,
      {"y", "x", "weights", "bias"},
      [=](Array<float, 2> y, Array<const float, 2> x, Array<const float, 2> weights, Array<const float, 2> bias) {
        const auto [rows, columns, depth, threads, stages] = tiling;
        auto [i, j] = block_index<2>();
        Tile<float> sum = tile::broadcast<float>(tile::load(bias, {0, j}, {1, columns}), {rows, columns});
        for (Int k : range(tile::ceil_div(x.extent(1), depth), pipelined(stages)))
          tile::matmul(tile::load(x, {i, k}, {rows, depth}), tile::load(weights, {k, j}, {depth, columns}), sum,
                       precision);
        tile::store(y, {i, j}, shape == Shape::curved ? tanh(sum) : sum);
      },
      TileOptions{.threads = tiling.threads}};
}

auto mean_square(const Tiling &tiling) {
  return TileKernel{"mean_square",
                    {"loss", "y", "wanted"},
                    [=](Array<float, 1> loss, Array<const float, 2> y, Array<const float, 2> wanted) {
                      Int i = block_index();
                      Tile<float> difference = tile::load(y, {i, 0}, {tiling.rows, outputs}) -
                                               tile::load(wanted, {i, 0}, {tiling.rows, outputs});
                      atomic_add(loss(0), tile::sum(difference * difference) * (1.0f / (examples * outputs)));
                    },
                    TileOptions{.threads = tiling.threads}};
}

// The same numbers as in peers/network_numbers.py.
using Matrix = std::vector<float>;
Matrix waves(int rows, int columns, double down, double along, double height) {
  Matrix values;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) values.push_back(static_cast<float>(height * std::sin(down * i + along * j)));
  return values;
}

struct Numbers {
  Matrix x = waves(examples, inputs, 0.37, 1.3, 1), weights1 = waves(inputs, hidden, 0.7, 1.9, 0.06),
         bias1 = waves(1, hidden, 0, 1, 0.1), weights2 = waves(hidden, outputs, 1.1, 0.3, 0.06),
         bias2 = waves(1, outputs, 0, 2, 0.1), wanted = waves(examples, outputs, 0.05, 0.4, 1);
};

class Network {
 public:
  Network(Device device, const Tilings &tilings, const Numbers &numbers)
      : loss(device, {1}, Gradient::tracked),
        weights1(device, {inputs, hidden}, numbers.weights1, Gradient::tracked),
        weights2(device, {hidden, outputs}, numbers.weights2, Gradient::tracked),
        stream_(device),
        x_(device, {examples, inputs}, numbers.x),
        bias1_(device, {1, hidden}, numbers.bias1, Gradient::tracked),
        bias2_(device, {1, outputs}, numbers.bias2, Gradient::tracked),
        wanted_(device, {examples, outputs}, numbers.wanted),
        between_(device, {examples, hidden}, Gradient::tracked),
        y_(device, {examples, outputs}, Gradient::tracked) {
    const auto first = layer("first_layer", tilings.first, tilings.precision, Shape::curved),
               second = layer("second_layer", tilings.second, tilings.precision, Shape::straight);
    const auto squares = mean_square(tilings.loss);
    const auto grid = [](const Tiling &tiling, int columns) {
      return Extents{examples / tiling.rows, columns / tiling.columns};
    };
    for (const Direction direction : {Direction::forward, Direction::adjoint}) {
      const LaunchOptions options{.direction = direction, .stream = stream_};
      std::vector<Launch> &launches = direction == Direction::forward ? forward_ : adjoint_;
      launches.push_back(first.record(grid(tilings.first, hidden), options, between_, x_, weights1, bias1_));
      launches.push_back(second.record(grid(tilings.second, outputs), options, y_, between_, weights2, bias2_));
      launches.push_back(squares.record({examples / tilings.loss.rows}, options, loss, y_, wanted_));
    }
    std::reverse(adjoint_.begin(), adjoint_.end());
  }

  void prepare() {
    for (const Buffer<float> &buffer : {weights1, weights2, bias1_, bias2_, between_, y_}) buffer.gradient().fill(0);
    loss.fill(0);
    loss.gradient().fill(1);
    Stream::standard(stream_.device()).synchronize();
  }
  // Puts the launches of one direction into the stream.
  void forward() {
    for (Launch &launch : forward_) launch.launch();
  }
  void adjoint() {
    for (Launch &launch : adjoint_) launch.launch();
  }
  const Stream &stream() const { return stream_; }

  Buffer<float> loss, weights1, weights2;

 private:
  Stream stream_;
  Buffer<float> x_, bias1_, bias2_, wanted_, between_, y_;
  std::vector<Launch> forward_, adjoint_;
};

// In double, by the rules of a network: the loss, and its gradient by one weight of each layer.
struct Expected {
  int row = 17, column = 5;
  double loss = 0, by_weight1 = 0, by_weight2 = 0;
};

Expected expected(const Numbers &numbers) {
  Expected result;
  constexpr double scale = 1.0 / (examples * outputs);
  auto at = [](const Matrix &matrix, int columns, int i, int j) {
    return static_cast<double>(matrix[static_cast<std::size_t>(i) * columns + j]);
  };
  for (int e = 0; e < examples; ++e) {
    std::vector<double> between(hidden);
    for (int h = 0; h < hidden; ++h) {
      double sum = numbers.bias1[h];
      for (int k = 0; k < inputs; ++k) sum += at(numbers.x, inputs, e, k) * at(numbers.weights1, hidden, k, h);
      between[h] = std::tanh(sum);
    }
    double by_between = 0;
    for (int o = 0; o < outputs; ++o) {
      double y = numbers.bias2[o];
      for (int h = 0; h < hidden; ++h) y += between[h] * at(numbers.weights2, outputs, h, o);
      const double difference = y - at(numbers.wanted, outputs, e, o), by_y = 2 * scale * difference;
      result.loss += scale * difference * difference;
      by_between += by_y * at(numbers.weights2, outputs, result.column, o);
      if (o == result.column) result.by_weight2 += by_y * between[result.row];
    }
    const double value = between[result.column];
    result.by_weight1 += by_between * (1 - value * value) * at(numbers.x, inputs, e, result.row);
  }
  return result;
}

// Times both directions, each put into the network's stream by `forward` and `adjoint`. `tolerance`: relative to the
// right result.
void compare(bench::Report &report, Network &network, const Expected &right, double tolerance, const std::string &where,
             const std::function<void()> &forward, const std::function<void()> &adjoint) {
  network.prepare();
  forward();
  adjoint();
  auto require = [&](double value, double wanted, const char *what) {
    bench::require_close(value, wanted, tolerance * std::abs(wanted), fmt::format("{}, {}", where, what));
  };
  require(network.loss.at(0), right.loss, "loss");
  require(network.weights1.gradient().at(right.row, right.column), right.by_weight1, "gradient of the first layer");
  require(network.weights2.gradient().at(right.row, right.column), right.by_weight2, "gradient of the second layer");
  const bench::Contest contest{.rounds = 51,
                               .calls = network.stream().device() == Device::cpu() ? 1 : 20,
                               .prepare = [&] { network.prepare(); }};
  const bench::Outcome outcome = bench::alternate_on_device(contest, network.stream(), adjoint, forward);
  report.add({fmt::format("network of {}, {} and {}, {} examples, {}", inputs, hidden, outputs, examples, where),
              "time of the adjoint", outcome.ours * 1e3, "ms", "the same, forward", outcome.peer * 1e3});
}

void compare_launches(bench::Report &report, Network &network, const Expected &right, double tolerance,
                      const std::string &where) {
  compare(report, network, right, tolerance, where, [&] { network.forward(); }, [&] { network.adjoint(); });
}

void compare_graphs(bench::Report &report, Network &network, const Expected &right, double tolerance,
                    const std::string &where) {
  Graph forward = capture(network.stream(), [&] { network.forward(); }),
        adjoint = capture(network.stream(), [&] { network.adjoint(); });
  compare(report, network, right, tolerance, where, [&] { forward.launch(); }, [&] { adjoint.launch(); });
}

}  // namespace

int main() {
  return bench::run("tile_network", [](bench::Report &report) {
    const Numbers numbers;
    const Expected right = expected(numbers);
    try {
      const Tiling tiling{32, 64, 64, 128, 1};
      Network on_cpu(Device::cpu(), {tiling, tiling, tiling}, numbers);
      compare_launches(report, on_cpu, right, 1e-4, "CPU");
    } catch (const DeviceError &error) {  // a machine with a GPU may have no compiler for the CPU
      report.note(error.what());
    }
    if (Device::preferred() == Device::cpu()) return;
    const Tiling tiling{64, 64, 32, 128, 3};
    Network on_gpu(Device::cuda(0), {tiling, tiling, tiling}, numbers);
    compare_launches(report, on_gpu, right, 1e-4, "CUDA");
    compare_graphs(report, on_gpu, right, 1e-4, "CUDA, as graphs");
    // Factors with 10 bits after the point.
    Network in_tf32(Device::cuda(0),
                    {{128, 64, 64, 256, 2}, {32, 32, 64, 128, 3}, {16, outputs, 0, 128, 1}, tile::Precision::tf32},
                    numbers);
    compare_launches(report, in_tf32, right, 5e-2, "CUDA in tf32");
    compare_graphs(report, in_tf32, right, 5e-2, "CUDA in tf32, as graphs");
  });
}
