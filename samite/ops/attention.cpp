#include "samite/ops/attention.h"

#include "samite/base/error.h"
#include "samite/ops/attention_kernels.h"
#include "samite/ops/gradients.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"
#include "samite/ops/rows.h"
#include "samite/runtime/shared_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace samite::ops {
namespace {

using detail::AttentionKernels;
using detail::AttentionPart;
using detail::AttentionPlan;

AttentionPlan plan_of(ScalarType type, const AttentionShape &shape, bool causal, const AttentionMasks &masks,
                      const PlanDevice &device, AttentionPart part, SourceLocation where) {
  if (shape.size > detail::largest_attention_size)
    throw UserError(where, fmt::format("attention: expected up to {} numbers for each row of a head; {} given: have "
                                       "more heads",
                                       detail::largest_attention_size, shape.size));
  // A GPU keeps products that masks change in memory, and those of keys of several heads: tiles must be smaller.
  const bool in_memory = masks.any || (part == AttentionPart::of_keys && shape.heads_of_key > 1);
  const AttentionPart planned = in_memory && !device.is_cpu() ? AttentionPart::differentiated : part;
  AttentionPlan plan = detail::attention_plan(type, shape, causal || masks.any, device, planned);
  plan.causal = causal;
  plan.heads_of_key = static_cast<int>(shape.heads_of_key);
  plan.masks = masks;
  return plan;
}

// The kernels of one type that have been used so far.
template <Scalar T>
struct Made {
  using Of = AttentionKernels<T>;
  detail::Kernels<AttentionPlan, typename Of::Forward> forward{Of::forward};
  detail::Kernels<detail::RowPlan, typename Of::RowProducts> row_products{Of::row_products};
  detail::Kernels<detail::RowPlan, typename Of::RowProductsAndSums> row_products_and_sums{Of::row_products_and_sums};
  detail::Kernels<AttentionPlan, typename Of::OfQueries> of_queries{Of::of_queries};
  detail::Kernels<AttentionPlan, typename Of::OfKeys> of_keys{Of::of_keys};
  detail::Kernels<AttentionPlan, typename Of::MaskedForward> masked_forward{Of::masked_forward};
  detail::Kernels<AttentionPlan, typename Of::MaskedOfQueries> masked_of_queries{Of::masked_of_queries};
  detail::Kernels<AttentionPlan, typename Of::MaskedOfKeys> masked_of_keys{Of::masked_of_keys};

  static Made &all() {
    static Made all;
    return all;
  }
};

template <class Choose>
auto by_type(ScalarType type, SourceLocation where, const Choose &choose) {
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return choose(Made<T>::all());
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("attention", type, where);
  }
}

Extents blocks_of(const AttentionShape &shape, std::int64_t heads, std::int64_t rows, int tile) {
  return {shape.batches, heads, detail::ceil_div(rows, tile)};
}

// Checks the arrays' shapes and types.
class Check : public detail::OperandCheck {
 public:
  Check(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, SourceLocation where)
      : OperandCheck("attention", q, "q", where), q_(q) {
    for (const auto &[buffer, what] : {std::pair{&q, "q"}, {&k, "k"}, {&v, "v"}})
      if (!buffer->valid() || buffer->rank() != 4)
        fail(fmt::format("expected {} of (batches, heads, rows, size); {} given", what, detail::text_of(*buffer)));
    const Extents &e = q.extents();
    const std::int64_t of_k = k.extents()[1], heads = of_k > 0 && e[1] % of_k == 0 ? of_k : e[1];
    shape_ = {e[0], e[1], e[2], e[3], k.extents()[2], heads > 0 ? e[1] / heads : 1};
    expect(k, "k", {e[0], heads, shape_.terms, e[3]}, q.type());
    expect(v, "v", {e[0], heads, shape_.terms, e[3]}, q.type());
    if (shape_.terms == 0 && q.count() > 0) fail("k and v have no rows, so there is nothing to weigh");
  }

  const AttentionShape &shape() const { return shape_; }
  ScalarType sums() const { return q_.type() == ScalarType::Float64 ? ScalarType::Float64 : ScalarType::Float32; }
  Extents of_rows() const { return {shape_.batches, shape_.heads, shape_.rows}; }
  void expect_masks(const AttentionOptions &options) const {
    if (options.bias.valid())
      expect(options.bias, "a bias", {shape_.batches, shape_.heads, shape_.rows, shape_.terms}, q_.type());
    if (options.slopes.valid()) expect(options.slopes, "slopes", {shape_.heads}, sums());
    if (options.lengths.valid()) expect(options.lengths, "lengths", {shape_.batches}, ScalarType::Int32);
    if (options.window.value_or(1) < 1)
      fail(fmt::format("expected a window of at least one row; {} given", *options.window));
  }

 private:
  const AnyBuffer &q_;
  AttentionShape shape_{};
};

double scale_of(const AttentionOptions &options, const Check &check) {
  return options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(check.shape().size, 1))));
}

}  // namespace

PlannedLaunch attention_launch(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                               bool derived, SourceLocation where) {
  const AttentionPart part = derived ? AttentionPart::differentiated : AttentionPart::forward;
  const AttentionPlan plan = plan_of(type, shape, causal, {}, device, part, where);
  return by_type(type, where, [&](auto &made) -> PlannedLaunch {
    return {made.forward.at(plan).definition(), blocks_of(shape, shape.heads, shape.rows, plan.queries)};
  });
}

PlannedLaunch masked_attention_launch(ScalarType type, const AttentionShape &shape, const AttentionMasks &masks,
                                      const PlanDevice &device, bool derived, SourceLocation where) {
  const AttentionPart part = derived ? AttentionPart::differentiated : AttentionPart::forward;
  const AttentionPlan plan = plan_of(type, shape, false, masks, device, part, where);
  return by_type(type, where, [&](auto &made) -> PlannedLaunch {
    return {made.masked_forward.at(plan).definition(), blocks_of(shape, shape.heads, shape.rows, plan.queries)};
  });
}

namespace {

AttentionAdjoint adjoint_launches(ScalarType type, const AttentionShape &shape, bool causal,
                                  const AttentionMasks &masks, const PlanDevice &device, double scale,
                                  const AttentionGradients &gradients, SourceLocation where) {
  const auto plan = [&](AttentionPart part) {
    AttentionPlan plan = plan_of(type, shape, causal, masks, device, part, where);
    plan.tiny_scale = detail::is_tiny_scale(type, scale);
    plan.add_gradients = gradients.add;
    return plan;
  };
  const AttentionPlan queries = plan(AttentionPart::of_queries), keys = plan(AttentionPart::of_keys);
  const detail::RowPlan rows =
      detail::row_plan(shape.size, device, detail::largest_attention_size, detail::many_numbers(type));
  return by_type(type, where, [&](auto &made) -> AttentionAdjoint {
    return {{gradients.of_row_sums ? made.row_products_and_sums.at(rows).definition()
                                   : made.row_products.at(rows).definition(),
             blocks_of(shape, shape.heads, shape.rows, rows.rows)},
            {masks.any ? made.masked_of_queries.at(queries).definition() : made.of_queries.at(queries).definition(),
             blocks_of(shape, shape.heads, shape.rows, queries.queries)},
            {masks.any ? made.masked_of_keys.at(keys).definition() : made.of_keys.at(keys).definition(),
             blocks_of(shape, shape.heads / shape.heads_of_key, shape.terms, keys.keys)}};
  });
}

}  // namespace

AttentionAdjoint attention_adjoint_launches(ScalarType type, const AttentionShape &shape, bool causal,
                                            const PlanDevice &device, double scale, const AttentionGradients &gradients,
                                            SourceLocation where) {
  return adjoint_launches(type, shape, causal, {}, device, scale, gradients, where);
}

AttentionAdjoint masked_attention_adjoint_launches(ScalarType type, const AttentionShape &shape,
                                                   const AttentionMasks &masks, const PlanDevice &device, double scale,
                                                   const AttentionGradients &gradients, SourceLocation where) {
  return adjoint_launches(type, shape, false, masks, device, scale, gradients, where);
}

namespace {

// The masks of a call, with the arrays passed to masked kernels; unused ones have one element.
struct Masking {
  AttentionMasks masks;
  AnyBuffer bias, slopes, lengths;
  std::int32_t before = 0, behind = 0;

  Masking(const AttentionOptions &options, const AnyBuffer &q, const AttentionShape &shape, ScalarType sums) {
    constexpr std::int64_t farthest = std::int64_t{1} << 30;
    const std::int64_t within = std::min(options.window.value_or(farthest) - 1, farthest);
    const bool distances = options.causal || options.window || options.slopes.valid();
    masks = {
        .from_the_end = options.from_the_end && distances && (shape.rows != shape.terms || options.lengths.valid()),
        .bias = options.bias.valid(),
        .slopes = options.slopes.valid(),
        .lengths = options.lengths.valid()};
    masks.any = options.window || masks.from_the_end || masks.bias || masks.slopes || masks.lengths;
    if (!masks.any) return;
    before = static_cast<std::int32_t>(options.window ? within : farthest);
    behind = options.causal ? 0 : before;
    bias = masks.bias ? options.bias : AnyBuffer(q.device(), q.type(), {1, 1, 1, 1});
    slopes = masks.slopes ? options.slopes : AnyBuffer(q.device(), sums, {1});
    lengths = masks.lengths ? options.lengths : AnyBuffer(q.device(), ScalarType::Int32, {1});
  }
};

struct Arrays {
  AnyBuffer q, k, v, out, row_sums;
};
// Gradients; that of row_sums may be missing.
struct Cotangents {
  AnyBuffer out, row_sums;
};
struct Gradients {
  AnyBuffer q, k, v;
};

jit::Argument integer(std::int32_t value) { return {nullptr, static_cast<std::uint32_t>(value)}; }

// The arguments of a kernel; masks add some after v and after the scale.
std::vector<jit::Argument> arguments_of(const Arrays &a, const Masking &masking,
                                        std::initializer_list<jit::Argument> others, const jit::Argument &scale) {
  std::vector<jit::Argument> arguments{{&a.q}, {&a.k}, {&a.v}};
  if (masking.masks.any)
    for (const AnyBuffer *mask : {&masking.bias, &masking.slopes, &masking.lengths}) arguments.push_back({mask});
  arguments.insert(arguments.end(), others);
  arguments.push_back(scale);
  if (masking.masks.any)
    for (const std::int32_t distance : {masking.before, masking.behind}) arguments.push_back(integer(distance));
  return arguments;
}

jit::AdjointLaunch own(const PlannedLaunch &planned, const std::vector<jit::Argument> &arguments) {
  jit::AdjointLaunch launch{planned.kernel, planned.blocks, {}};
  for (const jit::Argument &argument : arguments)
    launch.arguments.push_back(argument.buffer ? jit::OwnedArgument{*argument.buffer, 0}
                                               : jit::OwnedArgument{{}, argument.scalar});
  return launch;
}

// The adjoint's three launches. Only their own array of products is new; it tracks a gradient, so that a tape can
// differentiate them.
std::vector<jit::AdjointLaunch> launches_of_adjoint(const AttentionAdjoint &planned, const Arrays &a,
                                                    const Masking &masking, const Cotangents &of, const Gradients &to,
                                                    double scale) {
  const AnyBuffer products(a.q.device(), a.row_sums.type(), a.row_sums.extents(), Gradient::tracked);
  const jit::Argument number = detail::number(scale, a.row_sums.type());
  return {of.row_sums.valid()
              ? detail::adjoint_launch(planned.row_products, {{&a.out}, {&of.out}, {&of.row_sums}, {&products}})
              : detail::adjoint_launch(planned.row_products, {{&a.out}, {&of.out}, {&products}}),
          own(planned.of_queries, arguments_of(a, masking, {{&a.row_sums}, {&products}, {&of.out}, {&to.q}}, number)),
          own(planned.of_keys,
              arguments_of(a, masking, {{&a.row_sums}, {&products}, {&of.out}, {&to.k}, {&to.v}}, number))};
}

// On a tape. Gradients that no array tracks are read as zeros, and go to memory of their own.
std::vector<jit::AdjointLaunch> taped_adjoint(const Arrays &values, const Arrays &arrays, const Masking &masking,
                                              const AttentionShape &shape, bool causal, double scale,
                                              SourceLocation where) {
  Cotangents of{detail::gradient_or_zeros(arrays.out), {}};
  if (arrays.row_sums.tracks_gradient()) of.row_sums = arrays.row_sums.gradient();
  const AttentionAdjoint planned =
      adjoint_launches(arrays.q.type(), shape, causal, masking.masks, plan_device(arrays.q.device()), scale,
                       {.add = true, .of_row_sums = of.row_sums.valid()}, where);
  return launches_of_adjoint(
      planned, values, masking, of,
      {detail::gradient_or_zeros(arrays.q), detail::gradient_or_zeros(arrays.k), detail::gradient_or_zeros(arrays.v)},
      scale);
}

// Each element once: along a broadcast dimension only the first.
AnyBuffer without_repetition(AnyBuffer x) {
  for (int d = 0; d < x.rank(); ++d)
    if (x.stride(d) == 0 && x.extents()[d] > 1) x = x.slice(d, 0, 1);
  return x;
}

// Adds the masks' arrays to those that the operation reads, and restores them from the values kept by a tape, which
// follow `first` others.
std::vector<jit::Operation::Array> masks_read(const Masking &masking) {
  std::vector<jit::Operation::Array> arrays;
  if (masking.masks.bias)
    arrays.push_back({.buffer = without_repetition(masking.bias), .name = "bias", .needed = true});
  if (masking.masks.slopes) arrays.push_back({.buffer = masking.slopes, .name = "slopes", .needed = true});
  if (masking.masks.lengths) arrays.push_back({.buffer = masking.lengths, .name = "lengths", .needed = true});
  return arrays;
}
Masking with_values(Masking masking, std::span<const AnyBuffer> values) {
  std::size_t next = 0;
  if (masking.masks.bias) masking.bias = values[next++].broadcast(masking.bias.extents());
  if (masking.masks.slopes) masking.slopes = values[next++];
  if (masking.masks.lengths) masking.lengths = values[next++];
  return masking;
}

}  // namespace

void attention(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, const AnyBuffer &out,
               const AnyBuffer &row_sums, const AttentionOptions &options, SourceLocation where) {
  const Check check(q, k, v, where);
  check.expect(out, "out", q.extents(), q.type());
  check.expect(row_sums, "row_sums", check.of_rows(), check.sums());
  check.expect_masks(options);
  const double number = scale_of(options, check);
  const Arrays arrays{q, k, v, out, row_sums};
  const Masking masking(options, q, check.shape(), check.sums());
  const auto adjoint = [=, shape = check.shape(),
                        causal = options.causal && !masking.masks.any](std::span<const AnyBuffer> values) {
    return taped_adjoint({values[0], values[1], values[2], values[3], values[4]}, arrays,
                         with_values(masking, values.subspan(5)), shape, causal, number, where);
  };
  const auto run = [&](bool derived) {
    const PlanDevice device = plan_device(q.device());
    const PlannedLaunch planned =
        masking.masks.any ? masked_attention_launch(q.type(), check.shape(), masking.masks, device, derived, where)
                          : attention_launch(q.type(), check.shape(), options.causal, device, derived, where);
    jit::launch_once(planned.kernel, LaunchExtents(planned.blocks, where), {.stream = options.stream},
                     arguments_of(arrays, masking, {{&out}, {&row_sums}}, detail::number(number, check.sums())));
  };
  // The adjoint has no gradients of masks.
  if (options.bias.tracks_gradient() || options.slopes.tracks_gradient()) return run(/*derived=*/true);
  std::vector<jit::Operation::Array> of_operation{
      {.buffer = q, .name = "q", .needed = true},
      {.buffer = k, .name = "k", .needed = true},
      {.buffer = v, .name = "v", .needed = true},
      {.buffer = out, .name = "out", .written = true, .needed = true},
      {.buffer = row_sums, .name = "row_sums", .written = true, .needed = true}};
  for (jit::Operation::Array &mask : masks_read(masking)) of_operation.push_back(std::move(mask));
  jit::perform({.name = "attention", .arrays = std::move(of_operation), .stream = options.stream, .adjoint = adjoint},
               run, where);
}

void attention_adjoint(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, const AnyBuffer &out,
                       const AnyBuffer &row_sums, const AnyBuffer &out_gradient, const AnyBuffer &q_gradient,
                       const AnyBuffer &k_gradient, const AnyBuffer &v_gradient, const AttentionOptions &options,
                       SourceLocation where) {
  const Check check(q, k, v, where);
  check.expect(out, "out", q.extents(), q.type());
  check.expect(row_sums, "row_sums", check.of_rows(), check.sums());
  check.expect(out_gradient, "the gradient of out", q.extents(), q.type());
  check.expect(q_gradient, "the gradient of q", q.extents(), q.type());
  check.expect(k_gradient, "the gradient of k", k.extents(), q.type());
  check.expect(v_gradient, "the gradient of v", k.extents(), q.type());
  check.expect_masks(options);
  // One kernel writes the first of these before another one reads or writes the others.
  for (const auto &[a, b, what] : {std::tuple{&q_gradient, &k_gradient, "q and k"},
                                   {&q_gradient, &v_gradient, "q and v"},
                                   {&k_gradient, &v_gradient, "k and v"}})
    if (share_elements(*a, *b))
      throw UserError(where, fmt::format("attention_adjoint: expected gradients with memory of their own; those of {} "
                                         "share theirs: give each a buffer, such as a clone()",
                                         what));
  const double number = scale_of(options, check);
  const Masking masking(options, q, check.shape(), check.sums());
  const AttentionAdjoint planned =
      adjoint_launches(q.type(), check.shape(), options.causal && !masking.masks.any, masking.masks,
                       plan_device(q.device()), number, {.add = options.add_gradients}, where);
  for (const jit::AdjointLaunch &launch :
       launches_of_adjoint(planned, {q, k, v, out, row_sums}, masking, {out_gradient, {}},
                           {q_gradient, k_gradient, v_gradient}, number))
    jit::launch_once(launch.kernel, LaunchExtents(launch.extents, where), {.stream = options.stream},
                     jit::views(launch.arguments));
}

}  // namespace samite::ops
