// The tiling of a matrix product: a pure function of its shape, its element type and the device.
//
// A block computes one tile of the result. The largest tile that still gives each multiprocessor a block is chosen,
// because larger tiles read the factors less often; for a smaller result, the smallest.
#pragma once

#include "samite/base/scalar_type.h"
#include "samite/ir/tile_plan.h"
#include "samite/lang/tile_operations.h"
#include "samite/ops/plan_device.h"
#include "samite/runtime/extents.h"

#include <cstdint>
#include <vector>

namespace samite::ops {

namespace detail {
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t step) { return ceil_div(a, step) * step; }
}  // namespace detail

// `batches` products of (rows x inner) times (inner x columns).
struct MatmulShape {
  std::int64_t batches = 1, rows = 0, columns = 0, inner = 0;

  friend bool operator==(const MatmulShape &, const MatmulShape &) = default;
};

struct MatmulPlan {
  int rows = 0, columns = 0, inner = 0;  // of a block's tile of the result; and the terms of an iteration
  int threads = 0, stages = 0;           // threads of a block, and stages of its loop; on CUDA

  friend auto operator<=>(const MatmulPlan &, const MatmulPlan &) = default;
};

// The factors' types and layouts.
struct MatmulFactors {
  ScalarType type = ScalarType::Float32;
  tile::Precision precision = tile::Precision::full;
  tile::Transposes transposed = {};
  bool block_scales = false;   // the sums of 128 terms are scaled before they are added
  bool scales_beside = false;  // bulk copies load these scales with the factors
  bool row_blocks = false;     // with scales for blocks of 128 rows
  bool rows_vary = false;      // the shape's rows are a mean, for groups of rows
  bool terms_vary =
      false;  // its terms are, for groups of terms: their loops have a limit (passes/tiles/declared_products.h)
  bool differentiated = false;   // the kernel, with its epilogue, has a derived adjoint
  bool by_single_warps = false;  // warp groups do not multiply, though the device has them
  // The factors are whole arrays, which a launch may copy first (passes/tiles/factor_copies.h).
  bool copied_where_that_pays = false;
};

MatmulPlan matmul_plan(const MatmulShape &shape, const MatmulFactors &factors, const PlanDevice &device);

// Candidate plans for tune() (ops/tune.h), without duplicates: that of matmul_plan first, then the others of its kind
// that are not much too high, and those with a stage less or more. A pure function.
std::vector<MatmulPlan> matmul_candidates(const MatmulShape &shape, const MatmulFactors &factors,
                                          const PlanDevice &device);

// `plan` with the fields that are set in `asked` replaced.
MatmulPlan obeying(const TilePlan &asked, MatmulPlan plan);

// The blocks of a launch: batches, tiles of rows, tiles of columns; without the first if there are no batches.
Extents matmul_blocks(const MatmulShape &shape, const MatmulPlan &plan, bool in_batches = true);

}  // namespace samite::ops
