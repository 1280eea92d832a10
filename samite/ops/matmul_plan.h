// How a product of matrices is cut into tiles: a pure function of its shape, its element type and the device.
//
// A block computes one tile of the result. The largest tile is chosen that leaves each multiprocessor a block, because
// a larger one reads the factors less often; where the result has too few elements for that, the smallest.
#pragma once

#include "samite/base/scalar_type.h"
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

// `batches` products of (rows x inner) by (inner x columns).
struct MatmulShape {
  std::int64_t batches = 1, rows = 0, columns = 0, inner = 0;

  friend bool operator==(const MatmulShape &, const MatmulShape &) = default;
};

struct MatmulPlan {
  int rows = 0, columns = 0, inner = 0;  // of a block's tile of the result, and of one iteration
  int threads = 0, stages = 0;           // of a block, and iterations whose factors have memory; on CUDA

  friend auto operator<=>(const MatmulPlan &, const MatmulPlan &) = default;
};

// What is multiplied, and how it lies.
struct MatmulFactors {
  ScalarType type = ScalarType::Float32;
  tile::Precision precision = tile::Precision::full;
  tile::Transposes transposed = {};
  bool block_scales = false;    // the sums of 128 terms are scaled before they are added up
  bool scales_beside = false;   // which bulk copies bring beside the factors
  bool row_blocks = false;      // by scales of 128 rows each
  bool rows_vary = false;       // the shape's rows are a mean, of groups of rows
  bool terms_vary = false;      // its terms are, of groups of terms: their loops have a limit (passes/masked_copies.h)
  bool differentiated = false;  // an adjoint is derived of the kernel, and of what follows its sums
  // They are whole arrays, which a launch may copy first (passes/factor_copies.h).
  bool copied_where_that_pays = false;
};

MatmulPlan matmul_plan(const MatmulShape &shape, const MatmulFactors &factors, const PlanDevice &device);

// Plans among which tune() measures (ops/tune.h), each once: that of matmul_plan first, then the others of its kind
// that are not much too high, and those with a stage less or more. A pure function.
std::vector<MatmulPlan> matmul_candidates(const MatmulShape &shape, const MatmulFactors &factors,
                                          const PlanDevice &device);

// Of a launch: batches, tiles of rows, tiles of columns; without the first where there are no batches.
Extents matmul_blocks(const MatmulShape &shape, const MatmulPlan &plan, bool in_batches = true);

}  // namespace samite::ops
