// Fourier transforms of many rows of complex numbers.
//
//   ops::fft(x, y);                       // y[j] = Σ x[k] exp(-2πi j k / n), for each row
//   ops::fft(y, z, {.inverse = true});    // z is x again
//
// x and y are (rows, n, 2); the last dimension holds the real and the imaginary part. The inverse uses the conjugate,
// and divides by n. Rows of up to 4,096 numbers are transformed in one tile, longer ones in two steps: as transforms of
// the columns of an n1 x n2 matrix, and of its rows (Cooley, Tukey, 1965; Bailey, FFTs in external or hierarchical
// memory, 1990). To transform along another dimension, pass views; for the columns of an image, fft(x.permute({1, 0,
// 2}), y.permute({1, 0, 2})).
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

struct FourierOptions {
  bool inverse = false;
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
};

// Arrays of float or double. n is any number up to 4,096, or up to the capacity of a GPU's shared memory, which is less
// for double; a longer n needs two factors that are both at most that, and contiguous arrays. A prime factor above 7
// takes a sum of as many terms for each result. y may be x. On a tape the adjoint is the conjugate transform, unless
// the arrays share memory. UserError if shapes or types do not match, or for an n without such factors; DeviceError as
// for a launch.
void fft(const AnyBuffer &x, const AnyBuffer &y, const FourierOptions &options = {},
         SourceLocation where = std::source_location::current());

struct FourierKind {
  bool inverse = false;
  bool add = false;  // to y instead of overwriting it
};
// The launches planned for that device; the scale has the arrays' type, and multiplies the result.
//
//   last      (x, y, scale), with arrays of (rows, n, 2); after `first` (steps, y, scale), of (rows, n2, n1, 2)
//   first     (x, steps), of (rows, n1, n2, 2) and (rows, n2, n1, 2)
struct FourierLaunches {
  std::optional<PlannedLaunch> first;
  PlannedLaunch last;
  std::int64_t n1 = 1, n2 = 1;
};
FourierLaunches fft_launches(ScalarType type, std::int64_t rows, std::int64_t n, const FourierKind &kind,
                             const PlanDevice &device, SourceLocation where = std::source_location::current());

}  // namespace samite::ops
