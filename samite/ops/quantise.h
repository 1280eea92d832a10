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

namespace detail {
// Without template parameters: compilers mangle constrained templates differently, and the program's compiler may
// differ from the library's.
void quantise(const AnyBuffer &x, const AnyBuffer &q, const AnyBuffer &scale, SourceLocation where);
void dequantise(const AnyBuffer &q, const AnyBuffer &scale, const AnyBuffer &x, SourceLocation where);
}  // namespace detail

// x of half, bfloat16 or float and q (both rows x columns), on one device. UserError if their shapes do not match,
// DeviceError as for a launch.
template <Scalar T, Scalar Q>
void quantise(const Buffer<T> &x, const Buffer<Q> &q, const Buffer<float> &scale,
              SourceLocation where = std::source_location::current()) {
  detail::quantise(x, q, scale, where);
}

// x = q scale.
template <Scalar Q, Scalar T>
void dequantise(const Buffer<Q> &q, const Buffer<float> &scale, const Buffer<T> &x,
                SourceLocation where = std::source_location::current()) {
  detail::dequantise(q, scale, x, where);
}

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
