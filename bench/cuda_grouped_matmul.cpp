// Products of groups of rows, each with its own matrix, and of groups of terms, like the gradients of those matrices,
// compared with a loop of ordinary products, one for each group: on a GPU if there is one, and on the CPU. The loop
// knows the heights on the host; the product of groups does not. With --turns each is timed when
// bench/peers/against_torch_grouped.py requests it, in turn with torch's.
#include "bench/support/alternate.h"
#include "bench/support/alternate_on_device.h"
#include "bench/support/report.h"
#include "bench/support/turns.h"
#include "samite/ops/grouped_matmul.h"
#include "samite/ops/grouped_terms.h"
#include "samite/ops/scaled_grouped_matmul.h"
#include "samite/runtime/cuda_device.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace samite;

namespace {

struct Shape {
  std::int64_t groups, rows, columns, inner;

  double operations() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inner);
  }
  std::string to_string(const char *type) const {
    return fmt::format("{} x {} x {}, {} groups, {}", rows, columns, inner, groups, type);
  }
};

// Repeats a million numbers, because generating a thousand million would take the host longer than all products.
template <class T>
Buffer<T> random_buffer(Device device, const Extents &extents, unsigned seed) {
  constexpr std::size_t period = 1'000'003;
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<T> values(static_cast<std::size_t>(extents.count()));
  const std::size_t own = std::min(period, values.size());
  std::generate_n(values.begin(), own, [&] { return T(uniform(engine)); });
  for (std::size_t at = own; at < values.size(); at += own)
    std::copy_n(values.begin(), std::min(own, values.size() - at), values.begin() + static_cast<std::ptrdiff_t>(at));
  return {device, extents, values};
}

// Heights as a router leaves them: some groups have many times the rows of others, some none.
std::vector<std::int32_t> uneven_offsets(const Shape &s) {
  std::mt19937 engine(9);
  std::vector<double> shares;
  double all = 0;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    const double share = g % 8 == 7 ? 0 : 0.25 + static_cast<double>(engine() % 1000) / 500;
    shares.push_back(share), all += share;
  }
  std::vector<std::int32_t> offsets{0};
  double before = 0;
  for (const double share : shares) {
    before += share;
    offsets.push_back(static_cast<std::int32_t>(std::lround(before / all * static_cast<double>(s.rows))));
  }
  offsets.back() = static_cast<std::int32_t>(s.rows);
  return offsets;
}

// Both results for some elements. Sums of this many terms.
template <class C>
void require_same(const Buffer<C> &ours, const Buffer<C> &peer, std::int64_t inner, const char *what) {
  for (const std::int64_t row : {std::int64_t{0}, ours.extents()[0] / 3, ours.extents()[0] - 1})
    bench::require_close(static_cast<double>(static_cast<float>(ours.at(row, row % 7))),
                         static_cast<double>(static_cast<float>(peer.at(row, row % 7))),
                         0.02 * std::sqrt(static_cast<double>(inner)), what);
}

// The device of the products, and the handling of their times.
struct Setting {
  bench::Report &report;
  Device device;
  bool in_turns;
};

template <class Ours, class Peer>
void time(const Setting &setting, const Shape &s, const std::string &name, const Ours &ours, const Peer &peer) {
  const bool on_cpu = setting.device.kind() == DeviceKind::cpu;
  if (setting.in_turns) {
    bench::take_turns(
        name, [&](int calls) { return bench::milliseconds_of_a_turn(Stream::standard(setting.device), ours, calls); });
    return;
  }
  const bench::Contest contest{.rounds = 7, .calls = on_cpu ? 1 : 10};
  const auto [time, peer_time] =
      on_cpu ? bench::alternate(contest, ours, peer)
             : bench::alternate_on_device(contest, Stream::standard(setting.device), ours, peer);
  setting.report.add({name, on_cpu ? "time of a launch on the CPU" : "time of a launch", time * 1e3, "ms",
                      fmt::format("a product for each group, {:.3g} TFLOP/s", s.operations() / peer_time * 1e-12),
                      peer_time * 1e3, fmt::format("{:.3g} TFLOP/s", s.operations() / time * 1e-12)});
}

template <class T>
void measure(const Setting &setting, const Shape &s, const char *type, bool b_transposed) {
  const Device device = setting.device;
  const std::vector<std::int32_t> offsets = uneven_offsets(s);
  const Extents of_b = b_transposed ? Extents{s.groups, s.columns, s.inner} : Extents{s.groups, s.inner, s.columns};
  const auto a = random_buffer<T>(device, {s.rows, s.inner}, 1), b = random_buffer<T>(device, of_b, 2);
  const Buffer<std::int32_t> on_device(device, {s.groups + 1}, offsets);
  Buffer<T> c(device, {s.rows, s.columns}), one_by_one(device, {s.rows, s.columns});
  const ops::MatmulOptions options{.transposed = {.b = b_transposed}};
  const ops::GroupedMatmul grouped{
      "grouped", [](const ops::Sums<T> &sums) { return ops::detail::as_type<T>(sums.values()); }, options};
  const ops::Matmul plain{"plain", [](const ops::Sums<T> &sums) { return ops::detail::as_type<T>(sums.values()); },
                          options};
  Launch launch = grouped.record(a, b, on_device, c);
  std::vector<Launch> loop;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    const auto at = static_cast<std::size_t>(g);
    if (offsets[at] == offsets[at + 1]) continue;
    const Buffer<T> own(b.slice(0, g, g + 1).reshape({of_b[1], of_b[2]}));
    loop.push_back(
        plain.record(a.slice(0, offsets[at], offsets[at + 1]), own, one_by_one.slice(0, offsets[at], offsets[at + 1])));
  }
  const auto peer = [&] {
    for (Launch &each : loop) each.launch();
  };
  launch.launch();
  peer();
  require_same(c, one_by_one, s.inner, type);
  time(setting, s, s.to_string(type), [&] { launch.launch(); }, peer);
}

// The gradients of the groups' matrices: from the transposed a and the cotangent.
template <class T>
void measure_terms(const Setting &setting, const Shape &s, const char *type) {
  const Device device = setting.device;
  const std::vector<std::int32_t> offsets = uneven_offsets(s);
  const auto a = random_buffer<T>(device, {s.rows, s.inner}, 1), b = random_buffer<T>(device, {s.rows, s.columns}, 2);
  const Buffer<std::int32_t> on_device(device, {s.groups + 1}, offsets);
  Buffer<T> c(device, {s.groups, s.inner, s.columns}), one_by_one(device, {s.groups, s.inner, s.columns});
  const ops::PlannedLaunch planned =
      ops::grouped_terms_launch({scalar_type_of<T>, scalar_type_of<T>, {.a = true}},
                                {s.groups, s.inner, s.columns, s.rows}, ops::plan_device(device));
  const ops::Matmul plain{"plain",
                          [](const ops::Sums<T> &sums) { return ops::detail::as_type<T>(sums.values()); },
                          {.transposed = {.a = true}}};
  std::vector<Launch> loop;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    const auto at = static_cast<std::size_t>(g);
    loop.push_back(plain.record(a.slice(0, offsets[at], offsets[at + 1]), b.slice(0, offsets[at], offsets[at + 1]),
                                Buffer<T>(one_by_one.slice(0, g, g + 1).reshape({s.inner, s.columns}))));
  }
  const auto ours = [&] { ops::detail::launch_planned(planned, {{&a}, {&b}, {&on_device}, {&c}}, {}); };
  const auto peer = [&] {
    for (Launch &each : loop) each.launch();
  };
  ours();
  peer();
  const Extents flat{s.groups * s.inner, s.columns};
  require_same(Buffer<T>(c.reshape(flat)), Buffer<T>(one_by_one.reshape(flat)), 4 * s.rows / s.groups, type);
  time(setting, s, fmt::format("{} x {}, {} terms in {} groups, {}", s.inner, s.columns, s.rows, s.groups, type), ours,
       peer);
}

// Scales of each row of a and each column of b's matrices.
void measure_scaled(const Setting &setting, const Shape &s) {
  const Device device = setting.device;
  const std::vector<std::int32_t> offsets = uneven_offsets(s);
  const auto a = random_buffer<f8e4m3>(device, {s.rows, s.inner}, 1);
  const auto b = random_buffer<f8e4m3>(device, {s.groups, s.columns, s.inner}, 2);
  const auto scale_a = random_buffer<float>(device, {s.rows, 1}, 3);
  const auto scale_b = random_buffer<float>(device, {s.groups, 1, s.columns}, 4);
  const Buffer<std::int32_t> on_device(device, {s.groups + 1}, offsets);
  Buffer<bfloat16> c(device, {s.rows, s.columns}), one_by_one(device, {s.rows, s.columns});
  const auto rounded = [](const ops::ScaledSums<f8e4m3> &sums) { return tile::cast<bfloat16>(sums.values()); };
  const ops::ScaledGroupedMatmul grouped{"grouped", rounded, {{.b = true}}};
  const ops::ScaledMatmul plain{"plain", rounded, {{.b = true}}};
  Launch launch = grouped.record(a, b, scale_a, scale_b, on_device, c);
  std::vector<Launch> loop;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    const auto at = static_cast<std::size_t>(g);
    if (offsets[at] == offsets[at + 1]) continue;
    const auto rows = [&](const auto &x) {
      return std::remove_cvref_t<decltype(x)>(x.slice(0, offsets[at], offsets[at + 1]));
    };
    loop.push_back(plain.record(rows(a), Buffer<f8e4m3>(b.slice(0, g, g + 1).reshape({s.columns, s.inner})),
                                rows(scale_a), Buffer<float>(scale_b.slice(0, g, g + 1).reshape({1, s.columns})),
                                rows(one_by_one)));
  }
  const auto peer = [&] {
    for (Launch &each : loop) each.launch();
  };
  launch.launch();
  peer();
  require_same(c, one_by_one, s.inner, "f8e4m3");
  time(setting, s, s.to_string("f8e4m3"), [&] { launch.launch(); }, peer);
}

}  // namespace

int main(int count, char **arguments) {
  return bench::run("cuda_grouped_matmul", [=](bench::Report &report) {
    const bool on_gpu = CudaDevice::count() > 0;
    const Setting setting{report, on_gpu ? Device::cuda(0) : Device::cpu(), bench::asked_for_turns(count, arguments)};
    if (!on_gpu) {
      report.note("There is no GPU here; on the CPU:");
      for (const Shape &shape : {Shape{8, 512, 256, 256}, Shape{64, 512, 256, 256}})
        measure<float>(setting, shape, "float", false);
      measure_terms<float>(setting, {8, 512, 256, 256}, "float");
      return;
    }
    for (const Shape &shape : {Shape{8, 8192, 7168, 2048}, Shape{32, 8192, 4096, 7168}, Shape{64, 2048, 4096, 2048},
                               Shape{128, 512, 2048, 4096}}) {
      measure<bfloat16>(setting, shape, "bfloat16", false);
      measure_scaled(setting, shape);
    }
    for (const Shape &shape : {Shape{32, 16384, 2048, 4096}, Shape{8, 8192, 7168, 2048}, Shape{64, 8192, 2048, 2048}})
      measure_terms<bfloat16>(setting, shape, "bfloat16");
  });
}
