// Quantises matrices to 8 bits: q = x / scale, rounded to nearest, and the scales.
//
//   Buffer<f8e4m3> q(device, {m, k});
//   Buffer<float> scale(device, {m, 1});   // one for each row
//   ops::quantise(x, q, scale);
//
// The scales' extents determine which numbers share a scale (ops/scales.h). A scale is the largest magnitude of its
// numbers divided by the largest number of the 8-bit type (448 for f8e4m3, 57344 for f8e5m2), and 1 if all are zero. It
// is at least 2^-126, the smallest normal float, since a smaller one would have fewer digits: among such small numbers,
// those below 2^-136 become zero (2^-143 in f8e5m2). A NaN stays one and does not affect the scale; an infinity makes
// its scale infinite, and itself NaN.
#pragma once

#include "samite/ops/planned_launch.h"
#include "samite/ops/scales.h"
#include "samite/runtime/buffer.h"

#include <optional>

namespace samite::ops {

// x of half, bfloat16 or float, q of f8e4m3 or f8e5m2 (both rows x columns), and scales of float, on one device.
// `stream`: by default the standard stream of that device. UserError if types or shapes do not match, DeviceError as
// for a launch.
void quantise(const AnyBuffer &x, const AnyBuffer &q, const AnyBuffer &scale, const std::optional<Stream> &stream = {},
              SourceLocation where = std::source_location::current());
// x = q scale.
void dequantise(const AnyBuffer &q, const AnyBuffer &scale, const AnyBuffer &x,
                const std::optional<Stream> &stream = {}, SourceLocation where = std::source_location::current());

// The launches for that many rows and columns. A single scale takes two: arguments of the first are (x, largest), with
// a zero `largest` of (1, 1), and of the second (x, q, largest, scale). Others are one launch of (x, q, scale); for
// dequantisation it is (q, scale, x).
struct QuantiseLaunches {
  std::optional<PlannedLaunch> largest;
  PlannedLaunch quantise;
};
QuantiseLaunches quantise_launches(ScalarType x, ScalarType q, const ScaleGroups &groups, std::int64_t rows,
                                   std::int64_t columns, SourceLocation where = std::source_location::current());
PlannedLaunch dequantise_launch(ScalarType q, ScalarType x, const ScaleGroups &groups, std::int64_t rows,
                                std::int64_t columns, SourceLocation where = std::source_location::current());

}  // namespace samite::ops
