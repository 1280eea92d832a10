// Optimisers that take steps along gradients: SGD with momentum, Adam, AdamW.
//
//   auto weights = parameter_block(device, ScalarType::Float32, {{64, 32}, {64}});   // side by side in memory
//   Optimiser optimiser(weights, Adam{.rate = 1e-3}, {.clip_norm = 1});
//   for (…) {
//     tape.backward(loss);
//     optimiser.step();
//     tape.zero_gradients();
//   }
//
// Parameters are buffers of f32 or f64 that track gradients. They, the state and the number of steps are on the device:
// a step only launches, so that it can be captured into a graph. Parameters that are adjacent in memory, as those of a
// parameter_block() are, share one launch.
//
//   SGD     v = momentum v + g;  x -= rate v, or rate (g + momentum v) for Nesterov's
//   Adam    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g²;  x -= rate m' / (sqrt(v') + epsilon)
//           with m' = m / (1 - b1^t), v' = v / (1 - b2^t) in step t (Kingma and Ba, 2015)
//   AdamW   the same, with x -= rate weight_decay x first (Loshchilov and Hutter, 2019)
//
// In SGD and Adam, weight_decay x is added to the gradient. With a clip_norm, all gradients are first multiplied by
// min(1, clip_norm / their norm). A gradient that is not finite makes its parameters non-finite; no step is skipped.
//
// One thread uses an optimiser at a time. Errors are UserErrors.
#pragma once

#include "samite/jit/launch.h"
#include "samite/runtime/buffer.h"
#include "samite/solve/parameter_runs.h"

#include <iosfwd>
#include <optional>
#include <variant>
#include <vector>

namespace samite::solvers {

struct Sgd {
  double rate = 1e-2, momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};
struct Adam {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
};
struct AdamW {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 1e-2;
};

struct OptimiserOptions {
  double clip_norm = 0;  // 0: gradients are not clipped
  // The parameters whose joint gradient norm is clipped; empty: those of the optimiser. For an optimiser of some of
  // them.
  std::vector<AnyBuffer> clipped_together = {};
};

// Buffers of these extents in one storage, which tracks a gradient.
std::vector<AnyBuffer> parameter_block(Device device, ScalarType type, const std::vector<Extents> &extents,
                                       SourceLocation where = std::source_location::current());

class Optimiser {
 public:
  using Method = std::variant<Sgd, Adam, AdamW>;

  // UserError for parameters that are empty, not contiguous, overlap, track no gradient or are on different devices,
  // and for rates, decays and norms below 0 or NaN, and betas and a momentum outside of [0, 1).
  Optimiser(const std::vector<AnyBuffer> &parameters, const Method &method, const OptimiserOptions &options = {},
            SourceLocation where = std::source_location::current());

  void step(SourceLocation where = std::source_location::current());
  void zero_gradients(SourceLocation where = std::source_location::current());

  double rate() const;
  void set_rate(double rate, SourceLocation where = std::source_location::current());
  std::int64_t steps() const;    // waits for the device
  double gradient_norm() const;  // in the last step, before clipping; with a clip_norm only. Waits for the device

  // The state, in the order of the parameters: an optimiser with parameters of the same extents can load it, even if
  // their memory layout differs. UserError for a state of another method, or of other parameters.
  void save(std::ostream &stream) const;
  void load(std::istream &stream, SourceLocation where = std::source_location::current());

 private:
  void check(SourceLocation where) const;
  Buffer<double> record_squares();
  void record_launches();
  std::vector<std::vector<AnyBuffer> *> state();

  Method method_;
  OptimiserOptions options_;
  std::vector<AnyBuffer> parameters_;
  detail::ParameterRuns runs_;
  std::optional<detail::ParameterRuns> clipped_together_;
  std::vector<AnyBuffer> first_, second_;  // moments of each run; only Adam has the second
  AnyBuffer counts_;                       // f64: steps, two corrections, the factor of clipping, the norm
  std::vector<Launch> prepare_, update_;   // recorded at the first step
};

}  // namespace samite::solvers
