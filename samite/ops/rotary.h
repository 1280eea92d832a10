// Rotary position embedding: turns pairs of numbers of each row by the angles of the row's position.
//
//   ops::rotary(q, cosines, sines, turned);
//   ops::rotary(q, cosines, sines, turned, {.pairs = ops::RotaryPairs::interleaved});
//
// With (a, b) a pair of row i, and c and s the cosine and the sine of row i for this pair, the result is (a c - b s, b
// c + a s) (Su and others, RoFormer, 2021). The pairs are numbers d and d + size / 2 of a row, or interleaved, 2 d and
// 2 d + 1. To rotate only a part of each row, pass views of that part: slice(3, 0, turned).
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

enum class RotaryPairs : std::uint8_t { halves, interleaved };

struct RotaryOptions {
  RotaryPairs pairs = RotaryPairs::halves;
  bool backwards = false;             // turns by the negative angles, as the adjoint does
  bool add = false;                   // adds to y instead of overwriting it
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
};

// x and y are (batches, heads, rows, size) of half, bfloat16, float or double, and may be views with any strides; size
// is even and at most 16,384. The cosines and sines (rows, size / 2) are of float, or of double if x is; for positions
// that begin later, give slices of them. All on one device; y may be x. On a tape the adjoint turns the gradient of y
// backwards and adds it to that of x; it is a derived one if x and y share memory, or if the cosines or sines track
// gradients. UserError if shapes or types do not match, DeviceError as for a launch.
void rotary(const AnyBuffer &x, const AnyBuffer &cosines, const AnyBuffer &sines, const AnyBuffer &y,
            const RotaryOptions &options = {}, SourceLocation where = std::source_location::current());

// The extents of x.
struct RotaryShape {
  std::int64_t batches, heads, rows, size;
};
// The launch with arguments (first, second, cosines, sines, first of y, second of y), planned for that device: views of
// the first and the second numbers of all pairs of x and of y.
PlannedLaunch rotary_launch(ScalarType type, const RotaryShape &shape, bool backwards, bool add,
                            const PlanDevice &device, SourceLocation where = std::source_location::current());

}  // namespace samite::ops
