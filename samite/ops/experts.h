// Mixture of experts: each token goes to the few experts that it scores best, and gets the sum of their results,
// weighted by these scores.
//
//   ops::mixture_of_experts(x, logits, up, down, y, {.chosen = 2, .activation = ops::Activation::silu});
//
// or its steps, with others between them:
//
//   const ops::Routing routing(logits.device(), logits.type(), tokens, experts, 2);
//   ops::route(logits, routing);                             // which experts, their weights, and where their rows lie
//   ops::dispatch(x, routing, rows);                         // each token's row to each of its experts
//   ops::grouped_matmul(rows, up, routing.offsets, hidden);  // the rows of one expert lie one after another
//   ops::combine(results, routing, y);                       // the weighted sums
//
// No step depends on the order in which blocks run: rows of an expert are in the order of their tokens, and all sums
// but those of the grouped products' gradients have a fixed order. No token is dropped. The host reads nothing.
#pragma once

#include "samite/ops/matmul_by_type.h"
#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"
#include "samite/runtime/any_buffer.h"

#include <optional>

namespace samite::ops {

// The routing of `tokens` rows, each to `chosen` of the experts. `weights` are of float, or of double if the logits
// are, the others of int32.
struct Routing {
  AnyBuffer experts, weights;  // (tokens, chosen): which experts, the best first
  AnyBuffer places;            // (tokens, chosen): the row of a token among those of the expert
  AnyBuffer entries;           // (tokens * chosen): for each row its token * chosen + which of its experts this is
  AnyBuffer offsets;           // (experts + 1): where the rows of each expert begin, and those of the last one end

  // With new memory; the weights track a gradient. UserError unless 1 <= chosen <= experts <= 4,096.
  Routing(Device device, ScalarType logits, std::int64_t tokens, std::int64_t experts, std::int64_t chosen,
          SourceLocation where = std::source_location::current());

  std::int64_t tokens() const { return experts.extents()[0]; }
  std::int64_t chosen() const { return experts.extents()[1]; }
};

struct RoutingOptions {
  bool normalised = true;             // the weights of a token are a softmax of the chosen logits; otherwise of all
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
};

// The logits (tokens, experts) are of half, bfloat16, float or double. Among equal logits the first are chosen. On a
// tape the weights' gradient goes to the logits. UserError if shapes or types do not match, DeviceError as for a
// launch; so for the functions below.
void route(const AnyBuffer &logits, const Routing &routing, const RoutingOptions &options = {},
           SourceLocation where = std::source_location::current());

struct ExpertOptions {
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
};

// rows[places(t, s)] = x[t]: x is (tokens, width) and rows (tokens * chosen, width), of one type, half, bfloat16, float
// or double. On a tape the gradient of x is added to.
void dispatch(const AnyBuffer &x, const Routing &routing, const AnyBuffer &rows, const ExpertOptions &options = {},
              SourceLocation where = std::source_location::current());

// y[t] = the sum of weights(t, s) rows[places(t, s)] over s. On a tape the gradients of the rows and of the weights are
// added to.
void combine(const AnyBuffer &rows, const Routing &routing, const AnyBuffer &y, const ExpertOptions &options = {},
             SourceLocation where = std::source_location::current());

struct MixtureOptions {
  std::int64_t chosen = 2;
  bool normalised = true;
  Activation activation = Activation::silu;
  // The first half of the columns of `up` is activated and multiplied by the second half, which has no activation.
  bool gated = false;
  std::optional<Stream> stream = {};  // default: the standard stream of the arrays' device
};
// y[t] = the sum over the chosen experts e of weight(t, e) activation(x[t] up[e]) down[e]. x and y are (tokens, width),
// the logits (tokens, experts), `up` (experts, width, hidden), or twice as many columns if gated, and `down` (experts,
// hidden, width), all of one type, half, bfloat16, float or double. On a tape gradients go to all four.
void mixture_of_experts(const AnyBuffer &x, const AnyBuffer &logits, const AnyBuffer &up, const AnyBuffer &down,
                        const AnyBuffer &y, const MixtureOptions &options = {},
                        SourceLocation where = std::source_location::current());

struct ExpertShape {
  std::int64_t tokens, experts, chosen, width;
};
// The launches planned for that device, for arrays of that type; weights are of float, or of double for double arrays.
//
//   choose             (logits, experts, weights)
//   order              (experts, places, entries, offsets), the first two as (tokens * chosen)
//   of_logits          (logits, experts, weights_gradient, logits_gradient), adds
//   dispatch           (x, entries, weights, rows), which does not read weights of (1)
//   of_x               (rows_gradient, places, weights, x_gradient), adds, and does not read weights of (1, 1)
//   combine            (rows, places, weights, y)
//   of_rows            (y_gradient, entries, weights, rows_gradient), adds; weights of (tokens * chosen)
//   of_weights         (y_gradient, rows, places, weights_gradient), adds
struct ExpertLaunches {
  PlannedLaunch choose, order, of_logits, dispatch, of_x, combine, of_rows, of_weights;
};
ExpertLaunches expert_launches(ScalarType type, const ExpertShape &shape, bool normalised, const PlanDevice &device,
                               SourceLocation where = std::source_location::current());

}  // namespace samite::ops
