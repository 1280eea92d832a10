// A network of two layers learns which arm of a spiral a point is on. Its layers and its loss are tile kernels, a tape
// gives the gradients of its weights, which are checked against differences first, and Adam (D. Kingma, J. Ba, 2015)
// takes the steps. It is trained until the loss, the mean cross entropy, is below 0.05.
#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace samite;

namespace {

constexpr std::int64_t arms = 3, of_arm = 100, points = arms * of_arm, hidden = 64, rows = 32;
constexpr double stated_loss = 0.05;

// A layer's epilogue.
enum class Shape { curved, straight };

// x W + b, for 32 rows of x in each block.
template <class T>
auto layer(const char *name, std::int64_t inputs, std::int64_t outputs, Shape shape) {
  return TileKernel{name,
                    {"y", "x", "weights", "bias"},
                    [=](Array<T, 2> y, Array<const T, 2> x, Array<const T, 2> weights, Array<const T, 2> bias) {
                      Int i = block_index();
                      Tile<T> sum = tile::broadcast<T>(tile::load(bias, {0, 0}, {1, outputs}), {rows, outputs});
                      tile::matmul(tile::load(x, {i, 0}, {rows, inputs}),
                                   tile::load(weights, {0, 0}, {inputs, outputs}), sum);
                      tile::store(y, {i, 0}, shape == Shape::curved ? tanh(sum) : sum);
                    }};
}

// The mean of log(sum of exp(scores)) - score of the right arm.
template <class T>
auto cross_entropy() {
  return TileKernel{"cross_entropy",
                    {"loss", "scores", "arm"},
                    [](Array<T, 1> loss, Array<const T, 2> scores, Array<const std::int32_t, 2> arm) {
                      Int i = block_index();
                      Tile<T> s = tile::load(scores, {i, 0}, {rows, arms});
                      Tile<T> largest = tile::max(s, {1});
                      Tile<T> all = log(tile::sum(exp(s - largest), {1})) + largest;
                      auto right = tile::coordinate({rows, arms}, 1) == tile::load(arm, {i, 0}, {rows, 1});
                      Tile<T> own = tile::sum(select(right, s, 0), {1});
                      auto inside = tile::coordinate({rows, 1}, 0) + i * static_cast<int>(rows) < arm.extent(0);
                      atomic_add(loss(0), tile::sum(select(inside, all - own, 0)) / cast<Traced<T>>(arm.extent(0)));
                    }};
}

struct Data {
  std::vector<double> positions;  // x and y of each point
  std::vector<std::int32_t> arm;
};

Data spirals() {
  Data data;
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.15);
  for (std::int32_t arm = 0; arm < arms; ++arm)
    for (int k = 0; k < of_arm; ++k) {
      const double radius = (k + 0.5) / of_arm, angle = 2.1 * arm + 4 * radius + noise(random);
      data.positions.insert(data.positions.end(), {radius * std::cos(angle), radius * std::sin(angle)});
      data.arm.push_back(arm);
    }
  return data;
}

template <class T>
class Network {
 public:
  explicit Network(Device device)
      : weights1(device, {2, hidden}, random(2 * hidden, 2), Gradient::tracked),
        bias1(device, {1, hidden}, random(hidden, 0.5), Gradient::tracked),
        weights2(device, {hidden, arms}, random(hidden * arms, 0.3), Gradient::tracked),
        bias2(device, {1, arms}, random(arms, 0.1), Gradient::tracked),
        device_(device) {}

  Buffer<T> scores(const Buffer<T> &x) const {
    const std::int64_t count = x.extents()[0];
    const Extents blocks = blocks_over({count}, {rows});
    Buffer<T> between{device_, {count, hidden}, Gradient::tracked}, result{device_, {count, arms}, Gradient::tracked};
    first_.launch(blocks, between, x, weights1, bias1);
    second_.launch(blocks, result, between, weights2, bias2);
    return result;
  }
  void loss(Buffer<T> sum, const Buffer<T> &x, const Buffer<std::int32_t> &arm) const {
    sum.fill(0);
    loss_.launch(blocks_over({x.extents()[0]}, {rows}), sum, scores(x), arm);
  }

  Buffer<T> weights1, bias1, weights2, bias2;

 private:
  static std::vector<T> random(std::int64_t count, double size) {
    static std::mt19937 generator(7);
    std::normal_distribution<double> normal(0, size);
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(normal(generator)));
    return values;
  }

  Device device_;
  TileKernel<void(Array<T, 2>, Array<const T, 2>, Array<const T, 2>, Array<const T, 2>)> first_ = layer<T>(
                                                                                             "first_layer", 2, hidden,
                                                                                             Shape::curved),
                                                                                         second_ = layer<T>(
                                                                                             "second_layer", hidden,
                                                                                             arms, Shape::straight);
  TileKernel<void(Array<T, 1>, Array<const T, 2>, Array<const std::int32_t, 2>)> loss_ = cross_entropy<T>();
};

// One step of Adam, the `step`th.
const Kernel adam{"adam",
                  {"value", "gradient", "mean", "square", "step"},
                  [](Array<float, 2> value, Array<const float, 2> gradient, Array<float, 2> mean,
                     Array<float, 2> square, Float step) {
                    auto [i, j] = thread_index<2>();
                    Float g = gradient(i, j), m = 0.9f * mean(i, j) + 0.1f * g,
                          s = 0.999f * square(i, j) + 0.001f * g * g;
                    mean(i, j) = m;
                    square(i, j) = s;
                    Float rate = 0.02f / (1 - exp(step * std::log(0.9f)));
                    value(i, j) -= rate * m / (sqrt(s / (1 - exp(step * std::log(0.999f)))) + 1e-8f);
                  }};

std::vector<std::int32_t> best(const Buffer<float> &scores) {
  const std::vector<float> values = scores.to_vector();
  std::vector<std::int32_t> arm;
  for (auto row = values.begin(); row != values.end(); row += arms)
    arm.push_back(static_cast<std::int32_t>(std::max_element(row, row + arms) - row));
  return arm;
}

// The arm that each place of the plane is assigned to.
void draw(const Network<float> &network, Device device) {
  constexpr int width = 60, height = 28;
  std::vector<float> places;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (double place : {2.2 * x / (width - 1) - 1.1, 1.1 - 2.2 * y / (height - 1)})
        places.push_back(static_cast<float>(place));
  const auto arm = best(network.scores(Buffer<float>{device, {width * height, 2}, places}));
  for (std::size_t y = 0; y < height; ++y) {
    std::string line = "  ";
    for (std::size_t x = 0; x < width; ++x) line += ".o#"[arm[y * width + x]];
    std::printf("%s\n", line.c_str());
  }
}

bool gradient_is_right(const Data &data, Device device) {
  Network<double> network(device);
  const int some = 40;  // the last block is partial
  std::vector<double> positions;
  std::vector<std::int32_t> arm;
  for (std::size_t k = 0; k < some; ++k) {
    const std::size_t point = k * 7;
    positions.insert(positions.end(), {data.positions[2 * point], data.positions[2 * point + 1]});
    arm.push_back(data.arm[point]);
  }
  Buffer<double> x{device, {some, 2}, positions}, loss{device, {1}, Gradient::tracked};
  Buffer<std::int32_t> right{device, {some, 1}, arm};
  const GradientReport report = gradcheck([&] { network.loss(loss, x, right); },
                                          {network.weights1, network.bias1, network.weights2, network.bias2}, {loss});
  std::printf("gradient of all weights against differences: %s\n", report.passed ? "as expected" : "WRONG");
  return report.passed;
}

}  // namespace

int main() {
  const Device device = Device::preferred();
  const Data data = spirals();
  if (!gradient_is_right(data, device)) return 1;

  Network<float> network(device);
  const Buffer<float> x{device, {points, 2}, std::vector<float>(data.positions.begin(), data.positions.end())};
  const Buffer<std::int32_t> arm{device, {points, 1}, data.arm};
  const Buffer<float> loss{device, {1}, Gradient::tracked};
  std::vector<Buffer<float>> weights{network.weights1, network.bias1, network.weights2, network.bias2}, means, squares;
  for (const Buffer<float> &w : weights) {
    means.emplace_back(device, w.extents());
    squares.emplace_back(device, w.extents());
  }

  std::printf("%6s %10s %10s\n", "step", "loss", "right");
  double now = 1e9;
  for (int step = 1; step <= 600 && now > stated_loss; ++step) {
    Tape tape;
    tape.record([&] { network.loss(loss, x, arm); });
    now = loss.at(0);
    if (step % 50 == 1 || now <= stated_loss) {
      const std::vector<std::int32_t> guessed = best(network.scores(x));
      std::int64_t right = 0;
      for (std::size_t k = 0; k < guessed.size(); ++k) right += guessed[k] == data.arm[k];
      std::printf("%6d %10.4f %6lld/%lld\n", step, now, static_cast<long long>(right), static_cast<long long>(points));
    }
    tape.backward(loss);
    for (std::size_t k = 0; k < weights.size(); ++k)
      adam.launch(weights[k].extents(), weights[k], weights[k].gradient(), means[k], squares[k],
                  static_cast<float>(step));
    tape.zero_gradients();
  }
  draw(network, device);
  std::printf("the loss is %.4f; %.2f was to be reached\n", now, stated_loss);
  return now <= stated_loss ? 0 : 1;
}
