#include "samite/ops/cross_entropy.h"

#include "samite/base/error.h"
#include "samite/ops/cross_entropy_kernels.h"
#include "samite/ops/gradients.h"
#include "samite/ops/kernels.h"
#include "samite/ops/operand_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace samite::ops {
namespace {

using detail::CrossEntropyKernels;
using detail::CrossEntropyPlan;

// No part of a row is kept: parts stay in the first-level cache.
constexpr std::int64_t longest_on_cpu = 2048;

// The kernels of one type of logits and one of targets that have been used so far.
template <Scalar T, std::integral I>
struct Made {
  using Of = CrossEntropyKernels<T, I>;
  // Blocks read all arrays at the places they write; only the share, or the sum, belongs to one block.
  detail::Kernels<CrossEntropyPlan, typename Of::Forward> forward{Of::forward, 0b0010};
  detail::Kernels<bool, typename Of::Reduce> reduce{Of::reduce};
  detail::Kernels<bool, typename Of::Share> share{Of::share};
  detail::Kernels<CrossEntropyPlan, typename Of::Adjoint> adjoint{Of::adjoint, 0b1110};

  static Made &all() {
    static Made all;
    return all;
  }
};

template <std::integral I, class Choose>
auto by_logits(ScalarType type, SourceLocation where, const Choose &choose) {
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return choose(Made<T, I>::all());
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("cross_entropy", type, where);
  }
}
template <class Choose>
auto by_type(ScalarType type, ScalarType targets, SourceLocation where, const Choose &choose) {
  if (targets == ScalarType::Int32) return by_logits<std::int32_t>(type, where, choose);
  if (targets == ScalarType::Int64) return by_logits<std::int64_t>(type, where, choose);
  throw UserError(where, fmt::format("cross_entropy: expected targets of int32 or int64, the numbers of classes; {} "
                                     "given",
                                     cpp_name(targets)));
}

detail::RowPlan plan_of(ScalarType type, std::int64_t classes, const PlanDevice &device) {
  return detail::row_plan(classes, device, longest_on_cpu, detail::many_numbers(type));
}

void check(const char *operation, const AnyBuffer &logits, const AnyBuffer &targets, const AnyBuffer &loss,
           const AnyBuffer &row_sums, const CrossEntropyOptions &options, SourceLocation where) {
  if (!logits.valid() || logits.rank() != 2)
    throw UserError(where, fmt::format("{}: expected a matrix of logits, a row for each target; {} given", operation,
                                       detail::text_of(logits)));
  const std::int64_t rows = logits.extents()[0];
  const ScalarType type = detail::row_number_type(logits.type());
  const auto expect = [&](const AnyBuffer &buffer, const char *what, ScalarType expected, std::int64_t count) {
    if (!buffer.valid() || buffer.type() != expected || buffer.extents() != Extents{count} ||
        buffer.device() != logits.device())
      throw UserError(where, fmt::format("{}: expected {} of {} with extents ({}) on {}, as logits is {}; {} given",
                                         operation, what, cpp_name(expected), count, logits.device().to_string(),
                                         detail::text_of(logits), detail::text_of(buffer)));
  };
  if (!targets.valid() || (targets.type() != ScalarType::Int64 && targets.type() != ScalarType::Int32))
    throw UserError(where, fmt::format("{}: expected targets of int32 or int64, the numbers of classes; {} given",
                                       operation, detail::text_of(targets)));
  expect(targets, "targets", targets.type(), rows);
  expect(loss, "a loss", type, options.reduction == Reduction::none ? rows : 1);
  expect(row_sums, "row_sums", type, rows);
  if (!(options.smoothing >= 0 && options.smoothing <= 1))
    throw UserError(where, fmt::format("{}: expected smoothing from 0 to 1; {} given", operation, options.smoothing));
  if (rows > 0 && logits.extents()[1] == 0)
    throw UserError(where, fmt::format("{}: the logits have no classes to choose from; {} given", operation,
                                       detail::text_of(logits)));
}

jit::Argument integer(std::int32_t value) {
  jit::Argument argument;
  std::memcpy(&argument.scalar, &value, sizeof value);
  return argument;
}

struct Arrays {
  AnyBuffer logits, targets, loss, row_sums;

  AnyBuffer numbers(std::int64_t count, Gradient gradient = Gradient::untracked) const {
    return {logits.device(), row_sums.type(), {count}, gradient};
  }
  std::int64_t rows() const { return logits.extents()[0]; }
};

std::vector<jit::AdjointLaunch> launches_of_adjoint(const Arrays &a, const AnyBuffer &loss_gradient,
                                                    const AnyBuffer &logits_gradient,
                                                    const CrossEntropyOptions &options, bool adds,
                                                    SourceLocation where) {
  const CrossEntropyAdjoint planned =
      cross_entropy_adjoint_launches(a.logits.type(), a.targets.type(), options.reduction, a.rows(),
                                     a.logits.extents()[1], plan_device(a.logits.device()), adds, where);
  std::vector<jit::AdjointLaunch> launches;
  AnyBuffer gradients = loss_gradient;
  if (planned.share) {
    gradients = a.numbers(1, Gradient::tracked);  // so that a tape can differentiate them
    launches.push_back(detail::adjoint_launch(
        *planned.share, {{&a.targets}, {&loss_gradient}, {&gradients}, integer(options.ignored)}));
  }
  launches.push_back(detail::adjoint_launch(planned.rows, {{&a.logits},
                                                           {&a.targets},
                                                           {&a.row_sums},
                                                           {&gradients},
                                                           {&logits_gradient},
                                                           detail::number(options.smoothing, a.row_sums.type()),
                                                           integer(options.ignored)}));
  return launches;
}

// The losses of rows are a separate array if they are reduced.
void run_forward(const CrossEntropyLaunches &planned, const Arrays &a, const CrossEntropyOptions &options, bool derived,
                 SourceLocation where) {
  const AnyBuffer losses =
      planned.reduction ? a.numbers(a.rows(), derived ? Gradient::tracked : Gradient::untracked) : a.loss;
  detail::launch_planned(planned.rows,
                         {{&a.logits},
                          {&a.targets},
                          {&losses},
                          {&a.row_sums},
                          detail::number(options.smoothing, a.row_sums.type()),
                          integer(options.ignored)},
                         where, options.stream);
  if (planned.reduction)
    detail::launch_planned(*planned.reduction, {{&losses}, {&a.targets}, {&a.loss}, integer(options.ignored)}, where,
                           options.stream);
}

}  // namespace

CrossEntropyLaunches cross_entropy_launches(ScalarType type, ScalarType targets, Reduction reduction, std::int64_t rows,
                                            std::int64_t classes, const PlanDevice &device, SourceLocation where) {
  const CrossEntropyPlan plan{plan_of(type, classes, device)};
  const Extents blocks = detail::row_blocks(rows, plan.rows);
  return by_type(type, targets, where, [&](auto &made) {
    CrossEntropyLaunches launches{{made.forward.at(plan).definition(), blocks}, {}};
    if (reduction != Reduction::none)
      launches.reduction = PlannedLaunch{made.reduce.at(reduction == Reduction::mean).definition(), {1}};
    return launches;
  });
}

CrossEntropyAdjoint cross_entropy_adjoint_launches(ScalarType type, ScalarType targets, Reduction reduction,
                                                   std::int64_t rows, std::int64_t classes, const PlanDevice &device,
                                                   bool add_gradients, SourceLocation where) {
  const CrossEntropyPlan plan{plan_of(type, classes, device), reduction == Reduction::none, add_gradients};
  const Extents blocks = detail::row_blocks(rows, plan.rows);
  return by_type(type, targets, where, [&](auto &made) {
    CrossEntropyAdjoint launches{{}, {made.adjoint.at(plan).definition(), blocks}};
    if (reduction == Reduction::mean) launches.share = PlannedLaunch{made.share.at(true).definition(), {1}};
    return launches;
  });
}

void cross_entropy(const AnyBuffer &logits, const AnyBuffer &targets, const AnyBuffer &loss, const AnyBuffer &row_sums,
                   const CrossEntropyOptions &options, SourceLocation where) {
  check("cross_entropy", logits, targets, loss, row_sums, options, where);
  const Arrays arrays{logits, targets, loss, row_sums};
  const CrossEntropyLaunches planned =
      cross_entropy_launches(logits.type(), targets.type(), options.reduction, arrays.rows(), logits.extents()[1],
                             plan_device(logits.device()), where);
  const auto adjoint = [arrays, options, where](std::span<const AnyBuffer> values) {
    const Arrays kept{values[0], values[1], arrays.loss, values[3]};
    return launches_of_adjoint(kept, detail::gradient_or_zeros(arrays.loss), arrays.logits.gradient(), options,
                               /*adds=*/true, where);
  };
  const auto run = [&](bool derived) { run_forward(planned, arrays, options, derived, where); };
  // The adjoint has no gradient of row_sums.
  if (row_sums.tracks_gradient()) return run(/*derived=*/true);
  jit::perform({.name = "cross_entropy",
                .arrays = {{.buffer = logits, .name = "logits", .needed = true},
                           {.buffer = targets, .name = "targets", .needed = true},
                           {.buffer = loss, .name = "loss", .written = true},
                           {.buffer = row_sums, .name = "row_sums", .written = true, .needed = true}},
                .stream = options.stream,
                .adjoint = adjoint},
               run, where);
}

void cross_entropy_adjoint(const AnyBuffer &logits, const AnyBuffer &targets, const AnyBuffer &row_sums,
                           const AnyBuffer &loss_gradient, const AnyBuffer &logits_gradient,
                           const CrossEntropyOptions &options, SourceLocation where) {
  check("cross_entropy_adjoint", logits, targets, loss_gradient, row_sums, options, where);
  detail::check_rows("cross_entropy_adjoint", logits, logits_gradient, where);
  for (const jit::AdjointLaunch &launch : launches_of_adjoint({logits, targets, loss_gradient, row_sums}, loss_gradient,
                                                              logits_gradient, options, options.add_gradients, where))
    jit::launch_once(launch.kernel, LaunchExtents(launch.extents, where), {.stream = options.stream},
                     jit::views(launch.arguments));
}

}  // namespace samite::ops
