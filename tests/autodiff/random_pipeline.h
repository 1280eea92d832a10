// Random pipelines with gradients compared with differences: stencils, shifts, transposes, boundary conditions, gathers
// and scatters by index arrays, reductions, scans, products, least and greatest values, updates of some elements, Funcs
// of two values.
#pragma once

#include "samite/ir/func.h"

#include <cstdint>

namespace samite::test {

// With the arguments out (4 x 5, double), in (5 x 4, double), row (6, double), map (5, i32 from 0 to 5).
ir::CapturedPipeline random_pipeline(std::uint32_t seed);

}  // namespace samite::test
