// The mean of 3 x 3 pixels: first along rows, then along columns.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto blur() {
  using namespace samite;
  return Pipeline{"blur", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                    Var y{"y"}, x{"x"};
                    Func image = repeat_edge(in), across{"across"}, result{"result", out};
                    across(y, x) = (image(y, x - 1) + image(y, x) + image(y, x + 1)) * (1 / 3.0f);
                    result(y, x) = (across(y - 1, x) + across(y, x) + across(y + 1, x)) * (1 / 3.0f);

                    Var yo{"yo"}, xo{"xo"}, yi{"yi"}, xi{"xi"};
                    // Strips, in which each row of `across` is computed once and kept for the two rows below.
                    schedule_cpu([&] {
                      result.split(y, yo, yi, 32).parallel(yo).vectorize(x);
                      across.store_at(result, yo).compute_at(result, yi).fold_storage(y, 4).vectorize(x);
                    });
                    schedule_cuda([&] {
                      result.gpu_tile(x, y, xo, yo, xi, yi, 32, 16);
                      across.compute_at(result, xo).store_in(Memory::shared);
                    });
                  }};
}

}  // namespace pipelines
