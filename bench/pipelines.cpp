// Scheduled pipelines on the CPU compared with the same algorithms in Halide (bench/halide/), in the sizes that its
// README lists.
//
//   pipelines [--python PYTHON] [--adjoints] [names…]
//
// With --adjoints, the adjoints of the pipelines are run next to the pipelines themselves, under derived schedules. If
// PYTHON has Halide 21, each pipeline is run there right before ours, and results are compared. Otherwise the peer's
// times are those of bench/halide/README.md.
#include "examples/pipelines/bilateral_grid.h"
#include "examples/pipelines/blur.h"
#include "examples/pipelines/conv_layer.h"
#include "examples/pipelines/depthwise_separable.h"
#include "examples/pipelines/harris.h"
#include "examples/pipelines/histogram.h"
#include "examples/pipelines/local_laplacian.h"
#include "examples/pipelines/matmul.h"
#include "examples/pipelines/nl_means.h"
#include "examples/pipelines/recursive_filter.h"
#include "examples/pipelines/stencil_chain.h"
#include "examples/pipelines/tensor_product.h"
#include "examples/pipelines/unsharp.h"

#include "bench/narrow_pipelines.h"
#include "bench/support/alternate.h"
#include "bench/support/report.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

using namespace samite;

namespace {

std::uint32_t mixed(std::uint32_t seed, std::uint32_t i) {
  std::uint32_t h = i + seed * 0x9E3779B9u;
  h ^= h >> 16, h *= 0x7FEB352Du;
  h ^= h >> 15, h *= 0x846CA68Bu;
  return h ^ (h >> 16);
}

template <class T, class F>
Buffer<T> filled(const Extents &extents, const F &value) {
  Buffer<T> buffer{Device::cpu(), extents};
  for (std::int64_t i = 0; i < extents.count(); ++i) buffer.data()[i] = value(static_cast<std::uint32_t>(i));
  return buffer;
}

// In [-1, 1).
Buffer<float> uniform(std::uint32_t seed, const Extents &extents) {
  return filled<float>(extents, [&](std::uint32_t i) { return float(mixed(seed, i) >> 8) * 0x1p-23f - 1; });
}

// From channels, rows and columns: a number from 0 to 65486.
int picture16(std::uint32_t i, int rows, int columns) {
  const int x = int(i) % columns, y = int(i) / columns % rows, c = int(i) / columns / rows;
  int wave = (3 * x + 2 * y + 341 * c) % 2048;
  if (wave >= 1024) wave = 2047 - wave;
  return wave * 48 + int(mixed(1, i) >> 18);
}
Buffer<float> picture(const Extents &extents, int rows, int columns) {
  return filled<float>(extents, [&](std::uint32_t i) { return float(picture16(i, rows, columns)) / 65536.0f; });
}

// A different one for each row: row n contains the numbers that sort mixed(seed + n, …).
Buffer<std::int32_t> permutations(std::uint32_t seed, int rows, int count) {
  Buffer<std::int32_t> buffer{Device::cpu(), {rows, count}};
  for (int n = 0; n < rows; ++n) {
    std::int32_t *const row = buffer.data() + std::int64_t{n} * count;
    std::iota(row, row + count, 0);
    std::sort(row, row + count,
              [&](auto a, auto b) { return mixed(seed + n, std::uint32_t(a)) < mixed(seed + n, std::uint32_t(b)); });
  }
  return buffer;
}

struct Run {
  std::function<void()> launch;
  std::function<std::function<void()>()> adjoint;  // makes a launch of it; for arrays of floats
  std::function<std::vector<double>()> result;
  double operations = 0, tolerance = 2e-6;
  int bytes = 4;  // of an element of the result: 1 and 2 are unsigned integers, else floats
};

template <class T>
Buffer<T> tracked(Buffer<T> buffer) {
  if constexpr (std::is_floating_point_v<T>) buffer.track_gradient();
  return buffer;
}

template <class P, class Out, class... As>
Run recorded(const P &pipeline, Out out, As... inputs) {
  auto launch = std::make_shared<PipelineLaunch>(pipeline.record(out, inputs...));
  Run run;
  run.launch = [launch] { launch->launch(); };
  run.adjoint = [pipeline, out, inputs...] {
    const Out result = tracked(out);
    const auto adjoint = std::make_shared<PipelineLaunch>(
        pipeline.record({.direction = Direction::adjoint}, result, tracked(inputs)...));
    return [adjoint] { adjoint->launch(); };
  };
  run.result = [out] {
    const auto values = out.to_vector();
    return std::vector<double>(values.begin(), values.end());
  };
  return run;
}

Buffer<float> empty(const Extents &extents) { return Buffer<float>{Device::cpu(), extents}; }

template <class T>
Buffer<T> integers(std::uint32_t seed, const Extents &extents) {
  return filled<T>(extents, [&](std::uint32_t i) { return static_cast<T>(mixed(seed, i) >> 20); });
}
template <class P, class T, class... As>
Run exact(const P &pipeline, Buffer<T> out, As... inputs) {
  Run run = recorded(pipeline, out, inputs...);
  run.bytes = sizeof(T);
  run.tolerance = 0;
  return run;
}
template <class T>
Buffer<T> empty_of(const Extents &extents) {
  return Buffer<T>{Device::cpu(), extents};
}

constexpr int rows = 2560, columns = 1536;  // of pictures, by default
Buffer<float> colours() { return picture({3, rows, columns}, rows, columns); }

struct Case {
  const char *name;
  double halide_ms;  // from bench/halide/README.md; 0 if missing there
  std::function<Run()> make;
  double ratio = 0.9;  // to reach
};

const std::vector<Case> cases{
    {"blur", 3.61, [] { return recorded(pipelines::blur(), empty({3072, 4096}), picture({3072, 4096}, 3072, 4096)); }},
    {"matmul", 9.94,
     [] {
       Run run = recorded(pipelines::matmul(), empty({1024, 1024}), uniform(1, {1024, 1024}), uniform(2, {1024, 1024}));
       run.operations = 2.0 * 1024 * 1024 * 1024;
       return run;
     }},
    {"tensor_product", 196,
     [] {
       constexpr int points = 100'000, offsets = 27, channels = 64;
       Run run = recorded(pipelines::tensor_product(), empty({points, channels}), uniform(1, {points, channels}),
                          uniform(2, {offsets, channels, channels}), permutations(100, offsets, points),
                          permutations(200, offsets, points));
       run.operations = 2.0 * points * offsets * channels * channels;
       return run;
     }},
    {"stencil_chain_3d", 22.6,
     [] {
       Run run = recorded(pipelines::stencil_chain(), empty({256, 256, 256}), uniform(1, {256, 256, 256}));
       run.operations = 8.0 * 4 * 256 * 256 * 256;
       return run;
     }},
    {"conv_layer", 53,
     [] {
       Run run = recorded(pipelines::conv_layer(), empty({5, 80, 100, 128}), uniform(1, {5, 82, 102, 128}),
                          uniform(2, {128, 3, 3, 128}), uniform(3, {128}));
       run.operations = 2.0 * 5 * 80 * 100 * 128 * 128 * 9;
       return run;
     },
     1},
    {"unsharp", 3.73, [] { return recorded(pipelines::unsharp(), empty({3, rows, columns}), colours()); }},
    {"harris", 2.87, [] { return recorded(pipelines::harris(), empty({rows - 6, columns - 6}), colours()); }, 1},
    {"depthwise_separable", 0.554,
     [] {
       Run run = recorded(pipelines::depthwise_separable(), empty({4, 112, 112, 16}), uniform(1, {4, 112, 112, 32}),
                          uniform(2, {3, 3, 32}), uniform(3, {32, 16}), uniform(4, {16}));
       run.operations = 2.0 * 4 * 112 * 112 * 32 * (9 + 16);
       return run;
     }},
    {"recursive_filter", 11.8,
     [] { return recorded(pipelines::recursive_filter(), empty({3, rows, columns}), colours()); }},
    {"histogram", 2.85,
     [] {
       const auto bytes = filled<std::uint8_t>({3, rows, columns}, [](std::uint32_t i) {
         return static_cast<std::uint8_t>(picture16(i, rows, columns) >> 8);
       });
       Run run = recorded(pipelines::histogram(), Buffer<std::uint8_t>{Device::cpu(), {3, rows, columns}}, bytes);
       run.bytes = 1;
       run.tolerance = 4 / 255.0;
       return run;
     }},
    {"bilateral_grid", 17.8,
     [] {
       return recorded(pipelines::bilateral_grid(), empty({rows, columns}), picture({rows, columns}, rows, columns));
     }},
    {"nl_means", 29.8,
     [] { return recorded(pipelines::nl_means(), empty({3, 1024, 614}), picture({3, 1024, 614}, 1024, 614)); }},
    {"local_laplacian", 33.4,
     [] {
       Run run = recorded(pipelines::local_laplacian(), empty({3, rows, columns}), colours());
       run.tolerance = 2e-3;
       return run;
     }},
    {"plain_u8", 0,
     [] {
       using T = std::uint8_t;
       return exact(pipelines::plain_integers<T>("plain_u8"), empty_of<T>({1024, 1024}), integers<T>(1, {1024, 1024}),
                    integers<T>(2, {1024, 1024}));
     }},
    {"plain_u16", 0,
     [] {
       using T = std::uint16_t;
       return exact(pipelines::plain_integers<T>("plain_u16"), empty_of<T>({1024, 1024}), integers<T>(1, {1024, 1024}),
                    integers<T>(2, {1024, 1024}));
     }},
    {"median", 0,
     [] {
       using T = std::uint8_t;
       return exact(pipelines::median(), empty_of<T>({1024, 1024}), integers<T>(1, {1026, 1026}));
     }},
    {"mean_of_bytes", 0,
     [] {
       using T = std::uint8_t;
       return exact(pipelines::mean_of_bytes(), empty_of<T>({1024, 1024}), integers<T>(1, {1026, 1026}));
     }},
    {"stencils16", 0,
     [] {
       using T = std::uint16_t;
       return exact(pipelines::stencils16(), empty_of<T>({rows - 16, columns - 16}), integers<T>(1, {rows, columns}));
     }},
};

double processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval &time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Times {
  double best = 1e9, processor = 1e9;  // ms
};

Times measured(const std::function<void()> &launch) {
  launch();
  Times times;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 5 || std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(600); ++i) {
    const double busy = processor_time();
    times.best = std::min(times.best, bench::seconds(launch) * 1e3);
    times.processor = std::min(times.processor, (processor_time() - busy) * 1e3);
  }
  return times;
}

// Halide's times, and the elements that it computes; empty without Halide.
struct Peer {
  double ms = 0, processor_ms = 0;
  std::vector<float> result;
};
Peer peer(const std::string &python, const std::string &name, int bytes) {
  if (python.empty()) return {};
  const auto folder = std::filesystem::temp_directory_path() / "samite-bench-halide-";
  const std::string command =
      fmt::format("{} {}/bench/halide/pipelines.py {} --json --threads {} --check {}", python, SAMITE_BENCH_SOURCE_DIR,
                  name, std::thread::hardware_concurrency(), folder.string());
  FILE *const pipe = popen(command.c_str(), "r");
  if (!pipe) return {};
  std::string text;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) text += static_cast<char>(c);
  if (pclose(pipe) != 0) return {};
  Peer made;
  const auto line = nlohmann::json::parse(text);
  made.ms = line["value"];
  made.processor_ms = line["processor_ms"];
  const std::string file = folder.string() + name + ".bin";
  const auto read = [&]<class T>(T) {
    std::vector<T> elements(std::filesystem::file_size(file) / sizeof(T));
    std::ifstream(file, std::ios::binary)
        .read(reinterpret_cast<char *>(elements.data()), std::streamsize(elements.size() * sizeof(T)));
    made.result.assign(elements.begin(), elements.end());
  };
  if (bytes == 1)
    read(std::uint8_t());
  else if (bytes == 2)
    read(std::uint16_t());
  else
    read(float());
  std::filesystem::remove(file);
  return made;
}

// Processor time of the adjoint beside that of the forward launch, in turn. Returns the ratio; nothing without a
// gradient.
std::optional<double> compare_adjoint(bench::Report &report, const Case &each) {
  const Run run = each.make();
  std::function<void()> adjoint;
  try {
    adjoint = run.adjoint();
  } catch (const UserError &error) {
    report.note(fmt::format("{}: {}", each.name, error.what()));
    return std::nullopt;
  }
  Times forward = measured(run.launch), backward = measured(adjoint);
  forward.processor = std::min(forward.processor, measured(run.launch).processor);
  backward.processor = std::min(backward.processor, measured(adjoint).processor);
  const double ratio = backward.processor / forward.processor;
  report.add({std::string(each.name) + ", adjoint", "processor time of a launch", backward.processor, "ms",
              "the forward launch", forward.processor, fmt::format("{:.2f} times the forward launch", ratio)},
             {.ratio_at_least = 1.0 / 6});
  return ratio;
}

void compare_adjoints(bench::Report &report, const std::vector<std::string> &names) {
  double product = 1;
  int compared = 0;
  for (const Case &each : cases) {
    if (each.halide_ms == 0 || (!names.empty() && std::ranges::find(names, each.name) == names.end())) continue;
    if (const auto ratio = compare_adjoint(report, each)) product *= *ratio, ++compared;
  }
  if (compared > 0)
    report.note(fmt::format("adjoint over forward launch, geometric mean of {}: {:.2f}", compared,
                            std::pow(product, 1.0 / compared)));
}

}  // namespace

int main(int count, char **arguments) {
  std::vector<std::string> names(arguments + 1, arguments + count);
  std::string python;
  if (names.size() > 1 && names[0] == "--python") {
    python = names[1];
    names.erase(names.begin(), names.begin() + 2);
  }
  const bool adjoints = std::erase(names, "--adjoints") != 0;
  return bench::run("pipelines", [&](bench::Report &report) {
    if (adjoints) return compare_adjoints(report, names);
    double product = 1;
    int compared = 0;
    for (const Case &each : cases) {
      if (!names.empty() && std::ranges::find(names, each.name) == names.end()) continue;
      const Run run = each.make();
      const Peer halide = peer(python, each.name, run.bytes);
      const Times times = measured(run.launch);
      if (!halide.result.empty()) {
        const std::vector<double> ours = run.result();
        double largest = 0, error = 0;
        for (std::size_t i = 0; i < ours.size(); ++i) {
          largest = std::max(largest, std::abs(ours[i]));
          error = std::max(error, std::abs(ours[i] - halide.result[i]));
        }
        if (!(error <= run.tolerance * largest) || largest == 0)
          throw std::runtime_error(fmt::format("{}: differs by {} of {}", each.name, error, largest));
      }
      const double peer_ms = halide.ms > 0 ? halide.ms : each.halide_ms;
      std::string rate = fmt::format("{:.2f} ms of processors", times.processor);
      if (halide.ms > 0) rate += fmt::format(", the peer {:.2f}", halide.processor_ms);
      if (run.operations > 0) rate += fmt::format(", {:.1f} GFLOP/s", run.operations / times.best * 1e-6);
      if (peer_ms == 0) {
        report.add({each.name, "time of a launch", times.best, "ms", "", 0, rate});
        continue;
      }
      report.add({each.name, "time of a launch", times.best, "ms", halide.ms > 0 ? "Halide 21" : "Halide 21, recorded",
                  peer_ms, rate},
                 {.ratio_at_least = each.ratio});
      product *= peer_ms / times.best;
      ++compared;
    }
    if (compared > 0)
      report.note(fmt::format("geometric mean of the ratios: {:.2f}", std::pow(product, 1.0 / compared)));
  });
}
