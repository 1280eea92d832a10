// Four steps of diffusion in a box: each element moves towards the mean of its six neighbours.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto stencil_chain() {
  using namespace samite;
  return Pipeline{"stencil_chain", {"out", "in"}, [](Array<float, 3> out, Array<const float, 3> in) {
                    Var z{"z"}, y{"y"}, x{"x"};
                    const auto moved = [&](const Func<float> &s) {
                      return 0.4f * s(z, y, x) + 0.1f * (s(z, y, x - 1) + s(z, y, x + 1) + s(z, y - 1, x) +
                                                         s(z, y + 1, x) + s(z - 1, y, x) + s(z + 1, y, x));
                    };
                    const auto beyond = [&](const Func<float> &s) {
                      return repeat_edge(s, {{0, in.extent(0)}, {0, in.extent(1)}, {0, in.extent(2)}});
                    };
                    Func step1{"step1"}, step2{"step2"}, step3{"step3"}, result{"result", out};
                    step1(z, y, x) = moved(repeat_edge(in));
                    step2(z, y, x) = moved(beyond(step1));
                    step3(z, y, x) = moved(beyond(step2));
                    result(z, y, x) = moved(beyond(step3));

                    Var yo{"yo"}, yi{"yi"}, zo{"zo"}, zi{"zi"}, xo{"xo"}, xi{"xi"};
                    // All steps move along z together, in strips of rows: each keeps the planes that the next one
                    // needs.
                    schedule_cpu([&] {
                      result.split(y, yo, yi, 32).reorder(x, yi, z, yo).parallel(yo).vectorize(x);
                      for (const Func<float> &step : {step1, step2, step3})
                        step.store_at(result, yo).compute_at(result, z).fold_storage(z, 8).vectorize(x);
                    });
                    // Two steps together: the first one of each for a box in shared memory.
                    schedule_cuda([&] {
                      for (const Func<float> &step : {step2, result}) {
                        step.compute_root().split(z, zo, zi, 8).split(y, yo, yi, 8).split(x, xo, xi, 32);
                        step.reorder(xi, yi, zi, xo, yo, zo).gpu_blocks(xo, yo, zo).gpu_threads(xi, yi);
                      }
                      step1.compute_at(step2, xo).store_in(Memory::shared);
                      step3.compute_at(result, xo).store_in(Memory::shared);
                    });
                  }};
}

}  // namespace pipelines
