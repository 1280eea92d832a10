#include "samite/ops/packed_attention.h"

#include "samite/base/error.h"
#include "samite/ops/attention_plan.h"
#include "samite/ops/gradients.h"
#include "samite/ops/grouped_matmul.h"
#include "samite/ops/kernels.h"
#include "samite/ops/operand_check.h"
#include "samite/ops/packed_attention_kernels.h"
#include "samite/runtime/shared_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace samite::ops {
namespace {

using detail::PackedAttentionKernels;
using detail::PackedAttentionPlan;

// The kernels of one type that have been used so far.
template <Scalar T>
struct Made {
  using Of = PackedAttentionKernels<T>;
  detail::Kernels<PackedAttentionPlan, typename Of::Forward> forward{Of::forward};
  detail::Kernels<detail::RowPlan, typename Of::RowProducts> row_products{Of::row_products};
  detail::Kernels<PackedAttentionPlan, typename Of::OfQueries> of_queries{Of::of_queries};
  detail::Kernels<PackedAttentionPlan, typename Of::OfKeys> of_keys{Of::of_keys};

  static Made &all() {
    static Made all;
    return all;
  }
};

// The plan for sequences of equal lengths. A GPU keeps products that masks change in memory, as in ops/attention.cpp.
PackedAttentionPlan plan_of(ScalarType type, const PackedAttentionShape &shape, const PackedAttentionKind &kind,
                            const PlanDevice &device) {
  const std::int64_t sequences = std::max<std::int64_t>(shape.sequences, 1);
  const detail::AttentionPlan plan =
      detail::attention_plan(type,
                             {sequences, shape.heads, detail::ceil_div(shape.rows, sequences), shape.size,
                              detail::ceil_div(shape.terms, sequences), shape.heads_of_key},
                             true, device, detail::AttentionPart::differentiated);
  return {plan.queries,      plan.keys,          plan.size,
          plan.threads,      plan.stages,        static_cast<int>(shape.heads_of_key),
          kind.from_the_end, kind.add_gradients, detail::GroupSearch::of(sequences, kind.checked)};
}

// Checks the arrays' shapes and types.
class Check : public detail::OperandCheck {
 public:
  Check(const PackedAttentionArrays &a, const PackedAttentionOptions &options, SourceLocation where)
      : OperandCheck("packed_attention", a.q, "q", where), q_(a.q) {
    for (const auto &[buffer, what] : {std::pair{&a.q, "q"}, {&a.k, "k"}, {&a.v, "v"}})
      if (!buffer->valid() || buffer->rank() != 3)
        fail(fmt::format("expected {} of (rows, heads, size); {} given", what, detail::text_of(*buffer)));
    if (!a.q_offsets.valid() || a.q_offsets.rank() != 1 || a.q_offsets.count() < 2)
      fail(fmt::format("expected q_offsets, where each sequence begins and where the last one ends; {} given",
                       detail::text_of(a.q_offsets)));
    const Extents &e = a.q.extents();
    const std::int64_t of_k = a.k.extents()[1], heads = of_k > 0 && e[1] % of_k == 0 ? of_k : e[1];
    shape_ = {a.q_offsets.count() - 1, e[1], e[0], e[2], a.k.extents()[0], heads > 0 ? e[1] / heads : 1};
    expect(a.k, "k", {shape_.terms, heads, e[2]}, q_.type());
    expect(a.v, "v", {shape_.terms, heads, e[2]}, q_.type());
    expect(a.q_offsets, "q_offsets", {shape_.sequences + 1}, ScalarType::Int32);
    expect(a.k_offsets, "k_offsets", {shape_.sequences + 1}, ScalarType::Int32);
    expect(a.out, "out", e, q_.type());
    expect(a.row_sums, "row_sums", {e[1], e[0]}, sums());
    if (options.window.value_or(1) < 1)
      fail(fmt::format("expected a window of at least one row; {} given", *options.window));
  }

  const PackedAttentionShape &shape() const { return shape_; }
  ScalarType sums() const { return detail::row_number_type(q_.type()); }

 private:
  const AnyBuffer &q_;
  PackedAttentionShape shape_{};
};

// The numbers that kernels are given behind their arrays.
struct Numbers {
  double scale = 1;
  std::int32_t before = 0, behind = 0;
  bool from_the_end = false;

  Numbers(const PackedAttentionOptions &options, const PackedAttentionShape &shape)
      : scale(options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(shape.size, 1))))),
        from_the_end(options.from_the_end) {
    constexpr std::int64_t farthest = std::int64_t{1} << 30;
    before = static_cast<std::int32_t>(std::min(options.window.value_or(farthest + 1) - 1, farthest));
    behind = options.causal ? 0 : before;
  }
  std::vector<jit::Argument> behind_arrays(ScalarType type) const {
    return {detail::number(scale, detail::row_number_type(type)),
            {nullptr, static_cast<std::uint32_t>(before)},
            {nullptr, static_cast<std::uint32_t>(behind)}};
  }
};

AnyBuffer by_heads(const AnyBuffer &x) { return x.permute({1, 0, 2}); }

// With everything by heads, as kernels are given it.
PackedAttentionArrays by_heads(const PackedAttentionArrays &a) {
  return {by_heads(a.q), by_heads(a.k), by_heads(a.v), a.q_offsets, a.k_offsets, by_heads(a.out), a.row_sums};
}

jit::AdjointLaunch launch_of(const PlannedLaunch &planned, std::initializer_list<const AnyBuffer *> arrays,
                             const std::vector<jit::Argument> &numbers) {
  jit::AdjointLaunch launch{planned.kernel, planned.blocks, {}};
  for (const AnyBuffer *array : arrays) launch.arguments.push_back({*array, 0});
  for (const jit::Argument &number : numbers) launch.arguments.push_back({{}, number.scalar});
  return launch;
}

struct Gradients {
  AnyBuffer out, row_sums, q, k, v;  // by heads
};

// The arrays are by heads. Only `products` is new.
std::vector<jit::AdjointLaunch> launches_of_adjoint(const PackedAttentionLaunches &planned,
                                                    const PackedAttentionArrays &a, const Gradients &g,
                                                    const Numbers &numbers) {
  const AnyBuffer products(a.q.device(), a.row_sums.type(), a.row_sums.extents(), Gradient::tracked);
  const std::vector<jit::Argument> behind = numbers.behind_arrays(a.q.type());
  return {
      launch_of(planned.row_products, {&a.out, &g.out, &g.row_sums, &products}, {}),
      launch_of(planned.of_queries,
                {&a.q, &a.k, &a.v, &a.q_offsets, &a.k_offsets, &a.row_sums, &products, &g.out, &g.q}, behind),
      launch_of(planned.of_keys,
                {&a.q, &a.k, &a.v, &a.q_offsets, &a.k_offsets, &a.row_sums, &products, &g.out, &g.k, &g.v}, behind)};
}

PackedAttentionKind kind_of(const PackedAttentionOptions &options, const AnyBuffer &q, bool add) {
  return {options.from_the_end, checks_offsets({}, q.device()), add};
}

}  // namespace

PackedAttentionLaunches packed_attention_launches(ScalarType type, const PackedAttentionShape &shape,
                                                  const PackedAttentionKind &kind, const PlanDevice &device,
                                                  SourceLocation where) {
  if (shape.size > detail::largest_attention_size)
    throw UserError(where, fmt::format("packed_attention: expected up to {} numbers for each row of a head; {} given: "
                                       "have more heads",
                                       detail::largest_attention_size, shape.size));
  const PackedAttentionPlan plan = plan_of(type, shape, kind, device);
  PackedAttentionPlan forward = plan;
  forward.add_gradients = false;
  const detail::RowPlan rows =
      detail::row_plan(shape.size, device, detail::largest_attention_size, detail::many_numbers(type));
  const std::int64_t key_heads = shape.heads / shape.heads_of_key;
  const Extents of_rows{shape.heads, shape.rows / plan.queries + shape.sequences},
      of_terms{key_heads, shape.terms / plan.keys + shape.sequences};
  switch (type) {
#define SAMITE_CASE(T)                                                                                         \
  case scalar_type_of<T>: {                                                                                    \
    auto &made = Made<T>::all();                                                                               \
    return {{made.forward.at(forward).definition(), of_rows},                                                  \
            {made.row_products.at(rows).definition(), {shape.heads, detail::ceil_div(shape.rows, rows.rows)}}, \
            {made.of_queries.at(plan).definition(), of_rows},                                                  \
            {made.of_keys.at(plan).definition(), of_terms}};                                                   \
  }
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("packed_attention", type, where);
  }
}

void packed_attention(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, const AnyBuffer &q_offsets,
                      const AnyBuffer &k_offsets, const AnyBuffer &out, const AnyBuffer &row_sums,
                      const PackedAttentionOptions &options, SourceLocation where) {
  const PackedAttentionArrays arrays{q, k, v, q_offsets, k_offsets, out, row_sums};
  const Check check(arrays, options, where);
  const PackedAttentionShape shape = check.shape();
  const Numbers numbers(options, shape);
  const PlanDevice device = plan_device(q.device());
  const auto adjoint = [=](std::span<const AnyBuffer> values) {
    const PackedAttentionLaunches planned =
        packed_attention_launches(q.type(), shape, kind_of(options, q, /*add=*/true), device, where);
    return launches_of_adjoint(
        planned,
        by_heads(PackedAttentionArrays{values[0], values[1], values[2], values[3], values[4], values[5], values[6]}),
        {by_heads(detail::gradient_or_zeros(out)), detail::gradient_or_zeros(row_sums),
         by_heads(detail::gradient_or_zeros(q)), by_heads(detail::gradient_or_zeros(k)),
         by_heads(detail::gradient_or_zeros(v))},
        numbers);
  };
  const auto run = [&](bool) {
    const PlannedLaunch planned =
        packed_attention_launches(q.type(), shape, kind_of(options, q, /*add=*/false), device, where).forward;
    const PackedAttentionArrays a = by_heads(arrays);
    std::vector<jit::Argument> arguments{{&a.q},         {&a.k},   {&a.v},       {&a.q_offsets},
                                         {&a.k_offsets}, {&a.out}, {&a.row_sums}};
    for (const jit::Argument &number : numbers.behind_arrays(q.type())) arguments.push_back(number);
    jit::launch_once(planned.kernel, LaunchExtents(planned.blocks, where), {.stream = options.stream}, arguments);
  };
  jit::perform({.name = "packed_attention",
                .arrays = {{.buffer = q, .name = "q", .needed = true},
                           {.buffer = k, .name = "k", .needed = true},
                           {.buffer = v, .name = "v", .needed = true},
                           {.buffer = q_offsets, .name = "q_offsets", .needed = true},
                           {.buffer = k_offsets, .name = "k_offsets", .needed = true},
                           {.buffer = out, .name = "out", .written = true, .needed = true},
                           {.buffer = row_sums, .name = "row_sums", .written = true, .needed = true}},
                .stream = options.stream,
                .adjoint = adjoint},
               run, where);
}

void packed_attention_adjoint(const PackedAttentionArrays &arrays, const AnyBuffer &out_gradient,
                              const AnyBuffer &q_gradient, const AnyBuffer &k_gradient, const AnyBuffer &v_gradient,
                              const PackedAttentionOptions &options, SourceLocation where) {
  const Check check(arrays, options, where);
  const auto &[q, k, v, q_offsets, k_offsets, out, row_sums] = arrays;
  check.expect(out_gradient, "the gradient of out", q.extents(), q.type());
  check.expect(q_gradient, "the gradient of q", q.extents(), q.type());
  check.expect(k_gradient, "the gradient of k", k.extents(), q.type());
  check.expect(v_gradient, "the gradient of v", k.extents(), q.type());
  // One kernel writes the first of these before another one reads or writes the others.
  for (const auto &[a, b, what] : {std::tuple{&q_gradient, &k_gradient, "q and k"},
                                   {&q_gradient, &v_gradient, "q and v"},
                                   {&k_gradient, &v_gradient, "k and v"}})
    if (share_elements(*a, *b))
      throw UserError(where, fmt::format("packed_attention_adjoint: expected gradients with memory of their own; those "
                                         "of {} share theirs: give each a buffer, such as a clone()",
                                         what));
  const PackedAttentionLaunches planned = packed_attention_launches(
      q.type(), check.shape(), kind_of(options, q, options.add_gradients), plan_device(q.device()), where);
  const AnyBuffer no_gradient(q.device(), row_sums.type(), row_sums.extents());
  for (const jit::AdjointLaunch &launch : launches_of_adjoint(
           planned, by_heads(arrays),
           {by_heads(out_gradient), no_gradient, by_heads(q_gradient), by_heads(k_gradient), by_heads(v_gradient)},
           Numbers(options, check.shape())))
    jit::launch_once(launch.kernel, LaunchExtents(launch.extents, where), {.stream = options.stream},
                     jit::views(launch.arguments));
}

}  // namespace samite::ops
