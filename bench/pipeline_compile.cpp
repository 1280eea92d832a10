// How long large pipelines take to compile for the CPU, in processor seconds: lowering, emission, the compiler of all
// kernels, link and load. Only the precompiled prelude is cached, as in any process that has compiled before.
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

#include "bench/support/cache_folder.h"
#include "bench/support/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <iterator>
#include <vector>

using namespace samite;

namespace {

enum class Where : std::uint8_t { unscheduled, root, tile };

// Stencils, each of the previous one.
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

Buffer<float> floats(const Extents &extents) { return Buffer<float>{Device::cpu(), extents}; }

// Recording compiles the kernels; nothing runs.
template <class P, class... Arrays>
void debug(const P &pipeline, const Arrays &...arrays) {
  (void)pipeline.record({.debug = true}, arrays...);
}

const std::vector<Case> examples_in_debug_mode{
    {"blur, debug mode", 1, [] { debug(pipelines::blur(), floats({256, 256}), floats({256, 256})); }},
    {"matmul, debug mode", 1,
     [] { debug(pipelines::matmul(), floats({256, 256}), floats({256, 256}), floats({256, 256})); }},
    {"tensor product, debug mode", 1,
     [] {
       const Buffer<std::int32_t> maps{Device::cpu(), {27, 1000}};
       debug(pipelines::tensor_product(), floats({1000, 64}), floats({1000, 64}), floats({27, 64, 64}), maps, maps);
     }},
    {"stencil chain, debug mode", 1,
     [] { debug(pipelines::stencil_chain(), floats({64, 64, 64}), floats({64, 64, 64})); }},
    {"conv layer, debug mode", 1,
     [] {
       debug(pipelines::conv_layer(), floats({5, 80, 100, 128}), floats({5, 82, 102, 128}), floats({128, 3, 3, 128}),
             floats({128}));
     }},
    {"unsharp, debug mode", 1, [] { debug(pipelines::unsharp(), floats({3, 256, 256}), floats({3, 256, 256})); }},
    {"Harris, debug mode", 1, [] { debug(pipelines::harris(), floats({250, 250}), floats({3, 256, 256})); }},
    {"depthwise separable, debug mode", 1,
     [] {
       debug(pipelines::depthwise_separable(), floats({4, 112, 112, 16}), floats({4, 112, 112, 32}), floats({3, 3, 32}),
             floats({32, 16}), floats({16}));
     }},
    {"recursive filter, debug mode", 1,
     [] { debug(pipelines::recursive_filter(), floats({3, 256, 256}), floats({3, 256, 256})); }},
    {"histogram, debug mode", 1,
     [] {
       const Extents extents{3, 256, 256};
       debug(pipelines::histogram(), Buffer<std::uint8_t>{Device::cpu(), extents},
             Buffer<std::uint8_t>{Device::cpu(), extents});
     }},
    {"bilateral grid, debug mode", 1,
     [] { debug(pipelines::bilateral_grid(), floats({256, 256}), floats({256, 256})); }},
    {"non-local means, debug mode", 1, [] { debug(pipelines::nl_means(), floats({3, 64, 64}), floats({3, 64, 64})); }},
};

// CPU time of all threads of the process.
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
    std::vector<Case> cases = {
        {"300 Funcs without a schedule", 5, [] { launch_chain(Where::unscheduled, 300); }},
        {"300 Funcs at the root", 5, [] { launch_chain(Where::root, 300); }},
        {"300 Funcs in a tile", 5, [] { launch_chain(Where::tile, 300); }},
        {"local Laplacian", 1, [] { launch_local_laplacian(false); }},
        {"local Laplacian, debug mode", 1, [] { launch_local_laplacian(true); }},
    };
    std::ranges::copy(examples_in_debug_mode, std::back_inserter(cases));
    for (const Case &each : cases) {
      if (!names.empty() && std::ranges::find(names, each.name) == names.end()) continue;
      const double begin = processor_seconds();
      each.launch();
      const double taken = processor_seconds() - begin;
      report.add({each.name, "time of processors", taken * 1e3, "ms", "", 0, ""}, {.value_at_most = each.most * 1e3});
    }
  });
}
