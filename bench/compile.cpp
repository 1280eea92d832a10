// How long a new kernel of about 20 lines takes from C++ to callable code: capture, derive, lower, emit, compile, link,
// load. The cache does not have it; the plug-in is loaded and the prelude precompiled, as in any process that has
// compiled before. Peer: the compiler as a program, on the same hand-written function.
#include "bench/peers/shading.h"
#include "bench/support/alternate.h"
#include "bench/support/cache_folder.h"
#include "bench/support/report.h"
#include "bench/support/shading.h"
#include "samite/jit/variant.h"

#include <fmt/core.h>

#include <cstdlib>
#include <stdexcept>

using namespace samite;

namespace {

// Both ways to shade give the same light and the same gradients, so that the compiled work is the same.
void verify(const bench::Scene &scene) {
  bench::Shading kernel = bench::shading(bench::usual_ambient);
  int points = static_cast<int>(scene.light.extent(0)), lamp_count = static_cast<int>(scene.lamp_x.extent(0));
  Lamps lamps{lamp_count, scene.lamp_x.data(), scene.lamp_y.data(), scene.lamp_power.data()};
  Buffer<float> light = scene.light.clone();
  scene.record(kernel, Direction::forward).launch();
  peer_shading(light.data(), scene.x.data(), scene.y.data(), lamps, scene.absorption, scene.exposure, 0, points);
  for (int i = 0; i < points; ++i) bench::require_close(scene.light.at(i), light.at(i), 1e-5, "light");

  Buffer<float> inputs[] = {scene.light, scene.x, scene.y, scene.lamp_x, scene.lamp_y, scene.lamp_power};
  Buffer<float> seed = scene.light.gradient(), gradients[6];
  seed.fill(1);
  for (int k = 0; k < 6; ++k) gradients[k] = inputs[k].gradient().clone();
  scene.record(kernel, Direction::adjoint).launch();
  peer_shading_adjoint({gradients[0].data(), gradients[1].data(), gradients[2].data(), gradients[3].data(),
                        gradients[4].data(), gradients[5].data()},
                       scene.x.data(), scene.y.data(), lamps, scene.absorption, scene.exposure, 0, points);
  for (int k = 0; k < 6; ++k)
    for (std::int64_t i = 0; i < inputs[k].count(); ++i)
      bench::require_close(inputs[k].gradient().at(i), gradients[k].at(i), 1e-3, fmt::format("gradient {}", k));
}

void compile_by_hand(const char *source, float ambient, const std::filesystem::path &folder) {
  std::string command = fmt::format(
      "'{}' -std=c++20 -O2 -march=native -fno-math-errno -fopenmp -fPIC -shared "
      "-DAMBIENT={:.9g}f -I '{}' '{}/bench/peers/{}.cpp' -o '{}/by_hand.so'",
      SAMITE_BENCH_PEER_COMPILER, ambient, SAMITE_BENCH_SOURCE_DIR, SAMITE_BENCH_SOURCE_DIR, source, folder.string());
  if (std::system(command.c_str()) != 0) throw std::runtime_error("the peer does not compile: " + command);
}

// The parts of a compile's time, over the rounds.
class Steps {
 public:
  void add(const jit::Variant &variant) {
    if (variant.host.compile.from_cache || variant.host.compile.from_memory)
      throw std::runtime_error("a kernel came from a cache, where a compile is to be timed");
    const CompileReport &report = variant.host.compile;
    const double values[] = {variant.report.times.derive, variant.report.times.lower, variant.report.times.emit,
                             report.times.frontend_ms,    report.times.backend_ms,    report.times.link_ms,
                             report.times.load_ms};
    for (int k = 0; k < 7; ++k) times_[k].push_back(values[k]);
  }
  std::string to_string() const {
    const char *names[] = {"derive", "lower", "emit", "front end", "back end", "link", "load"};
    std::string text;
    for (int k = 0; k < 7; ++k)
      text += fmt::format("{}{} {:.2f}", k == 0 ? "" : ", ", names[k], bench::median(times_[k]));
    return text + " ms";
  }

 private:
  std::vector<double> times_[7];
};

}  // namespace

int main() {
  return bench::run("compile", [](bench::Report &report) {
    bench::CacheFolder cache;
    bench::Scene scene(64, 5);
    verify(scene);  // and opens the plug-in and precompiles the prelude

    float ambient = 0.2f;
    auto next = [&] { ambient += 0.001f; };
    Steps forward_steps, adjoint_steps;
    bench::Outcome forward = bench::alternate(
        {.rounds = 15, .prepare = next},
        [&] { forward_steps.add(scene.record(bench::shading(ambient), Direction::forward).variant()); },
        [&] { compile_by_hand("shading", ambient, cache.path()); });
    report.add({"forward", "compile time, empty cache", forward.ours * 1e3, "ms", "clang++-22 -O2 as a process",
                forward.peer * 1e3},
               {.value_at_most = 60});

    bench::Outcome adjoint = bench::alternate(
        {.rounds = 15, .prepare = next},
        [&] { adjoint_steps.add(scene.record(bench::shading(ambient), Direction::adjoint).variant()); },
        [&] { compile_by_hand("shading_adjoint", ambient, cache.path()); });
    report.add({"adjoint", "compile time, empty cache", adjoint.ours * 1e3, "ms", "clang++-22 -O2 as a process",
                adjoint.peer * 1e3});
    report.note("forward: " + forward_steps.to_string());
    report.note("adjoint: " + adjoint_steps.to_string());
  });
}
