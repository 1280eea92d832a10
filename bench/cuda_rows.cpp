// Ready-made softmax, layer norm and RMS norm of rows, and their adjoints, in typical widths of networks; cross
// entropy, group norm and rotary embedding: on a GPU if there is one, and on the CPU. Each is compared with a copy of
// as many bytes, measured in the same process. With --turns each is timed when bench/peers/against_torch_rows.py
// requests it, in turn with torch's.
#include "bench/support/beside_a_copy.h"
#include "bench/support/report.h"
#include "bench/support/turns.h"
#include "samite/ops/cross_entropy.h"
#include "samite/ops/group_norm.h"
#include "samite/ops/layer_norm.h"
#include "samite/ops/rms_norm.h"
#include "samite/ops/rotary.h"
#include "samite/ops/softmax.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <random>

using namespace samite;

namespace {

struct Shape {
  std::int64_t rows, columns;
};

template <class T>
Buffer<T> random_buffer(Device device, const Extents &extents, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<T> values(static_cast<std::size_t>(extents.count()));
  for (T &value : values) value = T(uniform(engine));
  return {device, extents, values};
}

template <class T>
std::vector<double> row_of(const Buffer<T> &x, std::int64_t row) {
  std::vector<double> values;
  for (std::int64_t j = 0; j < x.extents()[1]; ++j)
    values.push_back(static_cast<double>(static_cast<float>(x.at(row, j))));
  return values;
}

// Some of its elements.
template <class T>
void require_row(const Buffer<T> &y, std::int64_t row, const std::vector<double> &expected, double tolerance,
                 const std::string &what) {
  for (const std::int64_t j : {std::int64_t{0}, y.extents()[1] / 3, y.extents()[1] - 1})
    bench::require_close(static_cast<double>(static_cast<float>(y.at(row, j))), expected[static_cast<std::size_t>(j)],
                         tolerance, what);
}

using bench::Setting;

void measure(const Setting &setting, const std::string &what, const std::function<void()> &ours, std::int64_t bytes) {
  bench::measure_beside_a_copy(setting, what, ours, bytes, {.rounds = 15, .calls = setting.on_gpu() ? 20 : 1});
}

template <class T>
void rows(const Setting &setting, Shape shape, const char *type) {
  const auto [count, columns] = shape;
  const auto x = random_buffer<T>(setting.device, {count, columns}, 1),
             gradient = random_buffer<T>(setting.device, {count, columns}, 2);
  const auto weight = random_buffer<float>(setting.device, {columns}, 3),
             bias = random_buffer<float>(setting.device, {columns}, 4);
  const Buffer<T> y(setting.device, {count, columns}), out(setting.device, {count, columns});
  const std::int64_t row = count / 3, bytes = 2 * count * columns * static_cast<std::int64_t>(sizeof(T));
  const double digits = sizeof(T) == 2 ? 0.01 : 1e-5;
  const auto name = [&](const char *operation) {
    return fmt::format("{}, {} x {}, {}", operation, count, columns, type);
  };

  ops::softmax(x, y);
  const std::vector<double> of_x = row_of(x, row);
  std::vector<double> expected = of_x;
  double sum = 0;
  for (double &value : expected) sum += value = std::exp(value);
  for (double &value : expected) value /= sum;
  require_row(y, row, expected, digits * 4 / static_cast<double>(columns), name("softmax"));
  measure(setting, name("softmax"), [&] { ops::softmax(x, out); }, bytes);

  ops::softmax_adjoint(y, gradient, out);
  const std::vector<double> values = row_of(y, row), cotangent = row_of(gradient, row);
  double product = 0;
  for (std::size_t j = 0; j < values.size(); ++j) product += values[j] * cotangent[j];
  for (std::size_t j = 0; j < values.size(); ++j) expected[j] = values[j] * (cotangent[j] - product);
  require_row(out, row, expected, digits * 4 / static_cast<double>(columns), name("softmax's adjoint"));
  measure(setting, name("softmax's adjoint"), [&] { ops::softmax_adjoint(y, gradient, out); }, bytes / 2 * 3);

  ops::layer_norm(x, weight, bias, y);
  double mean = 0, variance = 0;
  for (const double value : of_x) mean += value / static_cast<double>(columns);
  for (const double value : of_x) variance += (value - mean) * (value - mean) / static_cast<double>(columns);
  for (std::size_t j = 0; j < of_x.size(); ++j) {
    const auto at = static_cast<std::int64_t>(j);
    expected[j] = (of_x[j] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(weight.at(at)) +
                  static_cast<double>(bias.at(at));
  }
  require_row(y, row, expected, digits * 2, name("layer norm"));
  measure(setting, name("layer norm"), [&] { ops::layer_norm(x, weight, bias, y); }, bytes);

  ops::rms_norm(x, weight, y);
  double squares = 0;
  for (const double value : of_x) squares += value * value / static_cast<double>(columns);
  for (std::size_t j = 0; j < of_x.size(); ++j)
    expected[j] = of_x[j] / std::sqrt(squares + 1e-6) * static_cast<double>(weight.at(static_cast<std::int64_t>(j)));
  require_row(y, row, expected, digits * 2, name("rms norm"));
  measure(setting, name("rms norm"), [&] { ops::rms_norm(x, weight, y); }, bytes);
  const Buffer<float> of_weight(setting.device, {columns});
  measure(
      setting, name("rms norm's adjoint"), [&] { ops::rms_norm_adjoint(x, weight, gradient, out, of_weight); },
      bytes / 2 * 3);
}

// The loss, and the loss with its gradient; targets are int64, as torch has them.
template <class T>
void cross_entropy(const Setting &setting, Shape shape, const char *type) {
  const auto [count, classes] = shape;
  const auto logits = random_buffer<T>(setting.device, {count, classes}, 1);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(i * 7919 % classes);
  const Buffer<std::int64_t> targets(setting.device, {count}, chosen);
  const Buffer<float> loss(setting.device, {1}), row_sums(setting.device, {count}),
      one(setting.device, {1}, std::vector<float>{1});
  const Buffer<T> gradient(setting.device, {count, classes});
  const std::int64_t bytes = count * classes * static_cast<std::int64_t>(sizeof(T)), row = count / 3;
  const auto name = [&](const char *operation) {
    return fmt::format("{}, {} x {}, {}", operation, count, classes, type);
  };
  ops::cross_entropy(logits, targets, loss, row_sums);
  double sum = 0;
  for (const double value : row_of(logits, row)) sum += std::exp(value);
  bench::require_close(static_cast<double>(row_sums.at(row)), std::log(sum), 1e-4, name("cross entropy"));
  measure(setting, name("cross entropy"), [&] { ops::cross_entropy(logits, targets, loss, row_sums); }, bytes);
  const auto both = [&] {
    ops::cross_entropy(logits, targets, loss, row_sums);
    ops::cross_entropy_adjoint(logits, targets, row_sums, one, gradient);
  };
  measure(setting, name("cross entropy and its gradient"), both, 3 * bytes);
}

template <class T>
void group_norm(const Setting &setting, const Extents &extents, std::int64_t groups, const char *type) {
  const auto x = random_buffer<T>(setting.device, extents, 1), g = random_buffer<T>(setting.device, extents, 2);
  const auto weight = random_buffer<float>(setting.device, {extents[1]}, 3),
             bias = random_buffer<float>(setting.device, {extents[1]}, 4);
  const Buffer<T> y(setting.device, extents);
  const Buffer<float> of_weight(setting.device, {extents[1]}), of_bias(setting.device, {extents[1]});
  const std::int64_t bytes = 2 * extents.count() * static_cast<std::int64_t>(sizeof(T));
  const auto name = [&](const char *operation) {
    return fmt::format("{} of {} groups, {} x {} x {}, {}", operation, groups, extents[0], extents[1], extents[2],
                       type);
  };
  measure(setting, name("group norm"), [&] { ops::group_norm(x, weight, bias, y, {.groups = groups}); }, bytes);
  measure(
      setting, name("group norm's adjoint"),
      [&] { ops::group_norm_adjoint(x, weight, g, y, of_weight, of_bias, {.groups = groups}); }, bytes / 2 * 3);
}

template <class T>
void rotary(const Setting &setting, const Extents &extents, const char *type) {
  const auto x = random_buffer<T>(setting.device, extents, 1);
  const auto cosines = random_buffer<float>(setting.device, {extents[2], extents[3] / 2}, 2),
             sines = random_buffer<float>(setting.device, {extents[2], extents[3] / 2}, 3);
  const Buffer<T> y(setting.device, extents);
  for (const auto &[pairs, order] :
       {std::pair{ops::RotaryPairs::halves, "halves"}, {ops::RotaryPairs::interleaved, "interleaved"}})
    measure(
        setting,
        fmt::format("rotary {}, {} x {} x {} x {}, {}", order, extents[0], extents[1], extents[2], extents[3], type),
        [&] { ops::rotary(x, cosines, sines, y, {.pairs = pairs}); },
        2 * extents.count() * static_cast<std::int64_t>(sizeof(T)));
}

}  // namespace

int main(int count, char **arguments) {
  return bench::run("cuda_rows", [=](bench::Report &report) {
    const bool on_gpu = CudaDevice::count() > 0;
    const Setting setting{report, on_gpu ? Device::cuda(0) : Device::cpu(), bench::asked_for_turns(count, arguments)};
    if (!on_gpu) {
      report.note("There is no GPU here; on the CPU:");
      for (const Shape shape : {Shape{512, 1024}, Shape{128, 5120}}) rows<float>(setting, shape, "float");
      cross_entropy<float>(setting, {256, 32000}, "float");
      group_norm<float>(setting, {2, 64, 1024}, 32, "float");
      rotary<float>(setting, {1, 8, 256, 128}, "float");
      return;
    }
    // The last two end within a tile.
    for (const Shape shape : {Shape{8192, 8192}, Shape{16384, 4096}, Shape{8192, 5120}, Shape{8192, 7168},
                              Shape{32768, 1024}, Shape{2048, 4096}, Shape{8192, 4000}, Shape{16384, 1000}}) {
      rows<float>(setting, shape, "float");
      rows<bfloat16>(setting, shape, "bfloat16");
    }
    for (const Shape shape : {Shape{8192, 32000}, Shape{4096, 128256}, Shape{16384, 4096}})
      cross_entropy<bfloat16>(setting, shape, "bfloat16");
    group_norm<bfloat16>(setting, {32, 320, 4096}, 32, "bfloat16");
    group_norm<float>(setting, {32, 320, 4096}, 32, "float");
    group_norm<bfloat16>(setting, {32, 1280, 64}, 32, "bfloat16");
    rotary<bfloat16>(setting, {4, 32, 4096, 128}, "bfloat16");
  });
}
