// Cross entropy of a softmax and the right classes: for each row of logits, -log(softmax(logits)[target]).
//
//   ops::cross_entropy(logits, targets, loss, row_sums, {.smoothing = 0.1});
//
// Softmax, logarithm and the choice of the target's element take one pass over the logits, without an array as large as
// these: `row_sums` keeps the logarithm of each row's sum of exponentials, from which the adjoint recomputes the
// softmax. Sums are in float, for double in double.
//
// With smoothing s the target is 1 - s of its class and s / classes of each class: the loss of a row is log(sum of
// exp(x)) - (1 - s) x[target] - s mean(x). A row with the ignored target has loss 0 and no gradient, and does not count
// in the mean. A target that is neither a class nor ignored gives NaN, as loss and as the row's gradient; so does the
// mean of no rows, as 0 / 0.
#pragma once

#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

enum class Reduction : std::uint8_t { none, sum, mean };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;  // over the rows that are not ignored
  double smoothing = 0;                   // from 0 to 1
  std::int32_t ignored = -100;            // the target of rows that do not count
  std::optional<Stream> stream = {};      // default: the standard stream of the arrays' device
  bool add_gradients = false;  // cross_entropy_adjoint adds to the gradient, as tapes do, instead of overwriting it
};

// The logits (rows x classes) are of half, bfloat16, float or double, the targets (rows) of int32 or int64. The loss
// has one element, or with Reduction::none one for each row; it and row_sums (rows) are of float, or of double if the
// logits are. All on one device. On a tape its adjoint is cross_entropy_adjoint, if the arrays share no memory.
// UserError if shapes, types or the smoothing do not fit, DeviceError as for a launch.
void cross_entropy(const AnyBuffer &logits, const AnyBuffer &targets, const AnyBuffer &loss, const AnyBuffer &row_sums,
                   const CrossEntropyOptions &options = {}, SourceLocation where = std::source_location::current());

// The gradient of the logits for that of the loss; row_sums are those that cross_entropy() has written. The gradient
// may be the array of the logits, which it then overwrites.
void cross_entropy_adjoint(const AnyBuffer &logits, const AnyBuffer &targets, const AnyBuffer &row_sums,
                           const AnyBuffer &loss_gradient, const AnyBuffer &logits_gradient,
                           const CrossEntropyOptions &options = {},
                           SourceLocation where = std::source_location::current());

// The launches planned for that device. Numbers are of the loss's type, `ignored` is an int32.
//
//   rows        (logits, targets, losses, row_sums, smoothing, ignored): losses has one element for each row
//   reduction   (losses, targets, loss, ignored), after it: their sum, or mean; with Reduction::none not at all
struct CrossEntropyLaunches {
  PlannedLaunch rows;
  std::optional<PlannedLaunch> reduction;
};
CrossEntropyLaunches cross_entropy_launches(ScalarType type, ScalarType targets, Reduction reduction, std::int64_t rows,
                                            std::int64_t classes, const PlanDevice &device,
                                            SourceLocation where = std::source_location::current());
//   share       (targets, loss_gradient, share, ignored), first, for the mean alone: the loss's gradient divided by the
//               number of rows that count, in one element
//   rows        (logits, targets, row_sums, gradients, logits_gradient, smoothing, ignored): `gradients` is share, or
//               the gradient of the loss
struct CrossEntropyAdjoint {
  std::optional<PlannedLaunch> share;
  PlannedLaunch rows;
};
CrossEntropyAdjoint cross_entropy_adjoint_launches(ScalarType type, ScalarType targets, Reduction reduction,
                                                   std::int64_t rows, std::int64_t classes, const PlanDevice &device,
                                                   bool add_gradients = false,
                                                   SourceLocation where = std::source_location::current());

}  // namespace samite::ops
