// How long a new kernel of about 20 lines takes from C++ to code loaded on the GPU: capture, derive, emit, NVRTC, load.
// Empty cache, and from the cache in a new process. Peer: NVRTC on the same hand-written kernel, in the same process;
// for the cache, the same process with an empty one. Without a GPU there is nothing to measure.
//
// The program runs itself as the new process, with --child.
#include "bench/support/alternate.h"
#include "bench/support/cache_folder.h"
#include "bench/support/report.h"
#include "bench/support/shading.h"
#include "samite/runtime/cuda_device.h"
#include "samite/toolchain/cuda_compiler.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

using namespace samite;

namespace {

constexpr const char *by_hand = R"(
extern "C" __global__ void shading(float *light, const float *x, const float *y, const float *lamp_x,
    const float *lamp_y, const float *power, int lamps, float absorption, float exposure, int count) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float px = x[i], py = y[i], height = 1.5f + 0.25f * sinf(px) * cosf(py);
  float total = {0}f;
  for (int lamp = 0; lamp < lamps; ++lamp) {{
    const float dx = lamp_x[lamp] - px, dy = lamp_y[lamp] - py;
    const float distance2 = dx * dx + dy * dy + height * height, distance = sqrtf(distance2);
    const float cosine = height / distance, gloss = powf(cosine, 8.0f), fade = expf(-absorption * distance);
    total += power[lamp] * fade * (cosine + gloss) / distance2;
  }}
  if (total > 1)
    total = 1 + logf(total);
  else
    total = total * (2 - total);
  light[i] = tanhf(exposure * total);
}}
)";

constexpr const char *adjoint_by_hand = R"(
extern "C" __global__ void shading_adjoint(float *light_g, float *x_g, float *y_g, float *lamp_x_g, float *lamp_y_g,
    float *power_g, const float *x, const float *y, const float *lamp_x, const float *lamp_y, const float *power,
    int lamps, float absorption, float exposure, int count) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float px = x[i], py = y[i], height = 1.5f + 0.25f * sinf(px) * cosf(py);
  float sum = {0}f;
  for (int lamp = 0; lamp < lamps; ++lamp) {{
    const float dx = lamp_x[lamp] - px, dy = lamp_y[lamp] - py;
    const float distance2 = dx * dx + dy * dy + height * height, distance = sqrtf(distance2);
    const float cosine = height / distance;
    sum += power[lamp] * expf(-absorption * distance) * (cosine + powf(cosine, 8.0f)) / distance2;
  }}
  const float light = tanhf(exposure * (sum > 1 ? 1 + logf(sum) : sum * (2 - sum)));
  const float sum_g = light_g[i] * (1 - light * light) * exposure * (sum > 1 ? 1 / sum : 2 - 2 * sum);
  light_g[i] = 0;
  float px_g = 0, py_g = 0, height_g = 0;
  for (int lamp = 0; lamp < lamps; ++lamp) {{
    const float dx = lamp_x[lamp] - px, dy = lamp_y[lamp] - py;
    const float distance2 = dx * dx + dy * dy + height * height, distance = sqrtf(distance2);
    const float cosine = height / distance, gloss = powf(cosine, 8.0f), fade = expf(-absorption * distance);
    const float cosine_g = sum_g * power[lamp] * fade / distance2 * (1 + 8 * powf(cosine, 7.0f));
    const float value = fade * (cosine + gloss) / distance2;
    const float distance_g = -sum_g * power[lamp] * value * absorption - cosine_g * cosine / distance;
    const float distance2_g = -sum_g * power[lamp] * value / distance2 + distance_g / (2 * distance);
    height_g += cosine_g / distance + 2 * height * distance2_g;
    const float dx_g = 2 * dx * distance2_g, dy_g = 2 * dy * distance2_g;
    px_g -= dx_g, py_g -= dy_g;
    atomicAdd(&lamp_x_g[lamp], dx_g);
    atomicAdd(&lamp_y_g[lamp], dy_g);
    atomicAdd(&power_g[lamp], sum_g * value);
  }}
  x_g[i] += px_g + height_g * 0.25f * cosf(px) * cosf(py);
  y_g[i] += py_g - height_g * 0.25f * sinf(px) * sinf(py);
}}
)";

void compile_by_hand(const char *text, float ambient) {
  const driver::Context &context = CudaDevice::of(0)->context();
  const int capability = context.limits().compute_capability;
  const CompiledCuda compiled =
      compile_cuda({.name = "by_hand", .text = fmt::format(fmt::runtime(text), fmt::format("{:.9f}", ambient))}, "",
                   fmt::format("sm_{}{}", capability, capability == 90 ? "a" : ""));
  if (compiled.report.from_cache || compiled.report.from_memory)
    throw std::runtime_error("the peer came from a cache, where a compile is to be timed");
  driver::Library::load(context, std::as_bytes(std::span(compiled.image->cubin())));
}

int child() {
  bench::Scene scene(64, 5, Device::cuda(0));
  const double forward =
      bench::seconds([&] { scene.record(bench::shading(bench::usual_ambient), Direction::forward); });
  const double adjoint =
      bench::seconds([&] { scene.record(bench::shading(bench::usual_ambient), Direction::adjoint); });
  fmt::print("{}\n",
             nlohmann::json{{"forward", forward * 1e3}, {"adjoint", adjoint * 1e3}, {"compiles", cuda_compile_count()}}
                 .dump());
  return 0;
}

struct Times {
  double forward, adjoint;  // milliseconds
};

Times run_child(const bench::CacheFolder &cache, int compiles) {
  cache.use();
  const std::string command = fmt::format("'{}' --child", std::filesystem::read_symlink("/proc/self/exe").string());
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 256> line{};
  if (!pipe || !std::fgets(line.data(), line.size(), pipe.get()))
    throw std::runtime_error(command + " printed nothing");
  const auto answer = nlohmann::json::parse(line.data());
  if (answer["compiles"] != compiles)
    throw std::runtime_error(
        fmt::format("the process compiled {} times, not {}", answer["compiles"].get<int>(), compiles));
  return {answer["forward"], answer["adjoint"]};
}

void measure_compiles(bench::Report &report) {
  const bench::CacheFolder cache;
  bench::Scene scene(64, 5, Device::cuda(0));
  scene.record(bench::shading(bench::usual_ambient), Direction::forward);  // opens NVRTC
  float ambient = 0.2f;
  const bench::Contest contest{.rounds = 11, .prepare = [&] { ambient += 0.001f; }};
  bench::Outcome outcome = bench::alternate(
      contest, [&] { scene.record(bench::shading(ambient), Direction::forward); },
      [&] { compile_by_hand(by_hand, ambient); });
  report.add(
      {"forward", "compile time, empty cache", outcome.ours * 1e3, "ms", "NVRTC, the same by hand", outcome.peer * 1e3},
      {.value_at_most = 120});
  // As in a program that has launched the kernel forward.
  std::optional<bench::Shading> kernel;
  const bench::Contest adjoint_contest{.rounds = 11, .prepare = [&] {
                                         ambient += 0.001f;
                                         kernel.emplace(bench::shading(ambient));
                                         scene.record(*kernel, Direction::forward);
                                       }};
  outcome = bench::alternate(
      adjoint_contest, [&] { scene.record(*kernel, Direction::adjoint); },
      [&] { compile_by_hand(adjoint_by_hand, ambient); });
  report.add({"adjoint, when first asked", "compile time, empty cache", outcome.ours * 1e3, "ms",
              "NVRTC, the same by hand", outcome.peer * 1e3},
             {.value_at_most = 160});
}

void measure_cache(bench::Report &report) {
  const bench::CacheFolder filled;
  run_child(filled, 2);
  std::vector<double> forward, adjoint, forward_empty, adjoint_empty;
  for (int round = 0; round < 9; ++round) {
    const Times cached = run_child(filled, 0);
    forward.push_back(cached.forward), adjoint.push_back(cached.adjoint);
    const bench::CacheFolder empty;
    const Times compiled = run_child(empty, 2);
    forward_empty.push_back(compiled.forward), adjoint_empty.push_back(compiled.adjoint);
  }
  report.add({"forward, from the disk cache", "time from kernel to launch", bench::median(forward), "ms",
              "the same, empty cache", bench::median(forward_empty)},
             {.value_at_most = 5});
  report.add({"adjoint, from the disk cache", "time from kernel to launch", bench::median(adjoint), "ms",
              "the same, empty cache", bench::median(adjoint_empty)},
             {.value_at_most = 5});
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--child") return child();
  return bench::run("cuda_compile", [](bench::Report &report) {
    if (CudaDevice::count() == 0) return report.note("no GPU: nothing measured");
    measure_compiles(report);
    measure_cache(report);
  });
}
