// Matrices in 8 bits: q = x / scale, rounded to the nearest number, and the scales.
//
//   Buffer<f8e4m3> q(device, {m, k});
//   Buffer<float> scale(device, {m, 1});   // one for each row
//   ops::quantise(x, q, scale);
//
// Which numbers share a scale is read off the scales' extents (ops/scales.h). A scale is the largest absolute value of
// its numbers divided by the largest number of the 8-bit type (448 of f8e4m3, 57344 of f8e5m2), and 1 where all are
// zero. It is at least 2^-126, the smallest normal float, since a smaller one would have fewer digits: of numbers that
// small, those below 2^-136 become zero (2^-143 in f8e5m2). A NaN stays one and does not change the scale; an infinity
// makes its scale infinite, and NaN of itself.
#pragma once

#include "samite/ops/planned_launch.h"
#include "samite/ops/scales.h"
#include "samite/runtime/buffer.h"

#include <optional>

namespace samite::ops {

namespace detail {
// Of no template parameters: compilers spell the names of constrained templates in different ways, and a program may be
// compiled by another one than the library.
void quantise(const AnyBuffer &x, const AnyBuffer &q, const AnyBuffer &scale, SourceLocation where);
void dequantise(const AnyBuffer &q, const AnyBuffer &scale, const AnyBuffer &x, SourceLocation where);
}  // namespace detail

// x of half, bfloat16 or float and q (both rows x columns), on one device. UserError where they do not fit each other,
// DeviceError as a launch.
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

// The launches for that many rows and columns. One scale for all takes two: arguments of the first are (x, largest),
// with `largest` (1, 1) of zero, and of the second (x, q, largest, scale). Others are one launch of (x, q, scale); to
// the former extents it is (q, scale, x).
struct QuantiseLaunches {
  std::optional<PlannedLaunch> largest;
  PlannedLaunch quantise;
};
QuantiseLaunches quantise_launches(ScalarType x, ScalarType q, const ScaleGroups &groups, std::int64_t rows,
                                   std::int64_t columns, SourceLocation where = std::source_location::current());
PlannedLaunch dequantise_launch(ScalarType q, ScalarType x, const ScaleGroups &groups, std::int64_t rows,
                                std::int64_t columns, SourceLocation where = std::source_location::current());

}  // namespace samite::ops
