// How long large pipelines take to compile for the CPU, in seconds of a processor: lowering, emission, the compiler of
// all kernels, link and load. Nothing is cached but the precompiled prelude, as in any process that has compiled
// before.
#include "examples/pipelines/local_laplacian.h"

#include "bench/support/cache_folder.h"
#include "bench/support/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

using namespace samite;

namespace {

enum class Where : std::uint8_t { unscheduled, root, tile };

// Stencils, each of the one before.
auto chain(Where where, int funcs) {
  return Pipeline{"chain", {"out", "in"}, [=](Array<float, 2> out, Array<const float, 2> in) {
                    Var y{"y"}, x{"x"}, yo{"yo"}, xo{"xo"}, yi{"yi"}, xi{"xi"};
                    std::vector<Func<float>> all{repeat_edge(in)};
                    for (int i = 1; i < funcs; ++i) {
                      const Func<float> &f = all.back();
                      const Float sum = f(y - 1, x) + f(y, x - 1) + f(y, x) + f(y, x + 1) + f(y + 1, x);
                      all.emplace_back(fmt::format("f{}", i));
                      all.back()(y, x) = sum * 0.2f;
                    }
                    Func result{"result", out};
                    result(y, x) = all.back()(y, x);
                    if (where == Where::unscheduled) return;
                    schedule_cpu([&] {
                      if (where == Where::tile) result.tile(x, y, xo, yo, xi, yi, 8, 8).parallel(yo);
                      for (int i = 1; i < funcs; ++i)
                        if (where == Where::tile)
                          all[static_cast<std::size_t>(i)].compute_at(result, xo);
                        else
                          all[static_cast<std::size_t>(i)].compute_root();
                    });
                  }};
}

struct Case {
  const char *name;
  double most;  // seconds
  std::function<void()> launch;
};

void launch_chain(Where where, int funcs) {
  Buffer<float> out{Device::cpu(), {1, 1}}, in{Device::cpu(), {1, 1}};  // so that running it takes little
  in.fill(1);
  chain(where, funcs).launch(out, in);
}

void launch_local_laplacian(bool debug) {
  Buffer<float> out{Device::cpu(), {3, 64, 64}}, in{Device::cpu(), {3, 64, 64}};
  in.fill(0.5f);
  pipelines::local_laplacian().launch({.debug = debug}, out, in);
}

// Of all threads of the process.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

int main(int count, char **arguments) {
  const std::vector<std::string> names(arguments + 1, arguments + count);
  return bench::run("pipeline_compile", [&](bench::Report &report) {
    bench::CacheFolder cache;
    launch_chain(Where::root, 2);  // opens the plug-in and precompiles the prelude
    const Case cases[] = {
        {"300 Funcs without a schedule", 5, [] { launch_chain(Where::unscheduled, 300); }},
        {"300 Funcs at the root", 5, [] { launch_chain(Where::root, 300); }},
        {"300 Funcs in a tile", 5, [] { launch_chain(Where::tile, 300); }},
        {"local Laplacian", 1, [] { launch_local_laplacian(false); }},
        {"local Laplacian, debug mode", 1, [] { launch_local_laplacian(true); }},
    };
    for (const Case &each : cases) {
      if (!names.empty() && std::ranges::find(names, each.name) == names.end()) continue;
      const double begin = processor_seconds();
      each.launch();
      const double taken = processor_seconds() - begin;
      report.add({each.name, "time of processors", taken * 1e3, "ms", "", 0, ""}, {.value_at_most = each.most * 1e3});
    }
  });
}
