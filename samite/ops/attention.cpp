#include "samite/ops/attention.h"

#include "samite/base/error.h"
#include "samite/ops/attention_kernels.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
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

AttentionPlan plan_of(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                      AttentionPart part, SourceLocation where) {
  if (shape.size > detail::largest_attention_size)
    throw UserError(where, fmt::format("attention: expected up to {} numbers for each row of a head; {} given: have "
                                       "more heads",
                                       detail::largest_attention_size, shape.size));
  return detail::attention_plan(type, shape, causal, device, part);
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

Extents blocks_of(const AttentionShape &shape, std::int64_t rows, int tile) {
  return {shape.batches, shape.heads, detail::ceil_div(rows, tile)};
}

// Checks the arrays' shapes and types.
class Check {
 public:
  Check(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, SourceLocation where) : q_(q), where_(where) {
    for (const auto &[buffer, what] : {std::pair{&q, "q"}, {&k, "k"}, {&v, "v"}})
      if (!buffer->valid() || buffer->rank() != 4)
        fail(fmt::format("expected {} of (batches, heads, rows, size); {} given", what, text(*buffer)));
    const Extents &e = q.extents();
    shape_ = {e[0], e[1], e[2], e[3], k.extents()[2]};
    expect(k, "k", {e[0], e[1], shape_.terms, e[3]}, q.type());
    expect(v, "v", {e[0], e[1], shape_.terms, e[3]}, q.type());
    if (shape_.terms == 0 && q.count() > 0) fail("k and v have no rows, so there is nothing to weigh");
  }

  const AttentionShape &shape() const { return shape_; }
  ScalarType sums() const { return q_.type() == ScalarType::Float64 ? ScalarType::Float64 : ScalarType::Float32; }
  Extents of_rows() const { return {shape_.batches, shape_.heads, shape_.rows}; }
  void expect(const AnyBuffer &buffer, const char *what, const Extents &extents, ScalarType type) const {
    if (!buffer.valid() || buffer.extents() != extents || buffer.type() != type || buffer.device() != q_.device())
      fail(fmt::format("expected {} of {} with extents {} on {}, as q is {}; {} given", what, cpp_name(type),
                       extents.to_string(), q_.device().to_string(), text(q_), text(buffer)));
  }

 private:
  static std::string text(const AnyBuffer &buffer) { return buffer.valid() ? buffer.to_string() : "an empty buffer"; }
  [[noreturn]] void fail(const std::string &what) const { throw UserError(where_, "attention: " + what); }

  const AnyBuffer &q_;
  SourceLocation where_;
  AttentionShape shape_{};
};

double scale_of(const AttentionOptions &options, const Check &check) {
  return options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(check.shape().size, 1))));
}

}  // namespace

PlannedLaunch attention_launch(ScalarType type, const AttentionShape &shape, bool causal, const PlanDevice &device,
                               bool derived, SourceLocation where) {
  const AttentionPart part = derived ? AttentionPart::differentiated : AttentionPart::forward;
  const AttentionPlan plan = plan_of(type, shape, causal, device, part, where);
  return by_type(type, where, [&](auto &made) -> PlannedLaunch {
    return {made.forward.at(plan).definition(), blocks_of(shape, shape.rows, plan.queries)};
  });
}

AttentionAdjoint attention_adjoint_launches(ScalarType type, const AttentionShape &shape, bool causal,
                                            const PlanDevice &device, double scale, const AttentionGradients &gradients,
                                            SourceLocation where) {
  const auto plan = [&](AttentionPart part) {
    AttentionPlan plan = plan_of(type, shape, causal, device, part, where);
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
             blocks_of(shape, shape.rows, rows.rows)},
            {made.of_queries.at(queries).definition(), blocks_of(shape, shape.rows, queries.queries)},
            {made.of_keys.at(keys).definition(), blocks_of(shape, shape.terms, keys.keys)}};
  });
}

namespace {

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

// The adjoint's three launches. Only their own array of products is new; it tracks a gradient, so that a tape can
// differentiate them.
std::vector<jit::AdjointLaunch> launches_of_adjoint(const AttentionAdjoint &planned, const Arrays &a,
                                                    const Cotangents &of, const Gradients &to, double scale) {
  const AnyBuffer products(a.q.device(), a.row_sums.type(), a.row_sums.extents(), Gradient::tracked);
  const jit::Argument number = detail::number(scale, a.row_sums.type());
  return {
      of.row_sums.valid()
          ? detail::adjoint_launch(planned.row_products, {{&a.out}, {&of.out}, {&of.row_sums}, {&products}})
          : detail::adjoint_launch(planned.row_products, {{&a.out}, {&of.out}, {&products}}),
      detail::adjoint_launch(planned.of_queries,
                             {{&a.q}, {&a.k}, {&a.v}, {&a.row_sums}, {&products}, {&of.out}, {&to.q}, number}),
      detail::adjoint_launch(
          planned.of_keys, {{&a.q}, {&a.k}, {&a.v}, {&a.row_sums}, {&products}, {&of.out}, {&to.k}, {&to.v}, number})};
}

// On a tape. Gradients that no array tracks are read as zeros, and go to memory of their own.
std::vector<jit::AdjointLaunch> taped_adjoint(std::span<const AnyBuffer> values, const Arrays &arrays,
                                              const AttentionShape &shape, bool causal, double scale,
                                              SourceLocation where) {
  const auto gradient = [](const AnyBuffer &array) {
    return array.tracks_gradient() ? array.gradient() : AnyBuffer(array.device(), array.type(), array.extents());
  };
  Cotangents of{gradient(arrays.out), {}};
  if (arrays.row_sums.tracks_gradient()) of.row_sums = arrays.row_sums.gradient();
  const AttentionAdjoint planned =
      attention_adjoint_launches(arrays.q.type(), shape, causal, plan_device(arrays.q.device()), scale,
                                 {.add = true, .of_row_sums = of.row_sums.valid()}, where);
  return launches_of_adjoint(planned, {values[0], values[1], values[2], values[3], values[4]}, of,
                             {gradient(arrays.q), gradient(arrays.k), gradient(arrays.v)}, scale);
}

}  // namespace

void attention(const AnyBuffer &q, const AnyBuffer &k, const AnyBuffer &v, const AnyBuffer &out,
               const AnyBuffer &row_sums, const AttentionOptions &options, SourceLocation where) {
  const Check check(q, k, v, where);
  check.expect(out, "out", q.extents(), q.type());
  check.expect(row_sums, "row_sums", check.of_rows(), check.sums());
  const double number = scale_of(options, check);
  const auto adjoint = [arrays = Arrays{q, k, v, out, row_sums}, shape = check.shape(), causal = options.causal, number,
                        where](std::span<const AnyBuffer> values) {
    return taped_adjoint(values, arrays, shape, causal, number, where);
  };
  const auto run = [&](bool derived) {
    const PlannedLaunch planned =
        attention_launch(q.type(), check.shape(), options.causal, plan_device(q.device()), derived, where);
    const jit::Argument scale = detail::number(number, check.sums());
    detail::launch_planned(planned, {{&q}, {&k}, {&v}, {&out}, {&row_sums}, scale}, where, options.stream);
  };
  jit::perform({.name = "attention",
                .arrays = {{.buffer = q, .name = "q", .needed = true},
                           {.buffer = k, .name = "k", .needed = true},
                           {.buffer = v, .name = "v", .needed = true},
                           {.buffer = out, .name = "out", .written = true, .needed = true},
                           {.buffer = row_sums, .name = "row_sums", .written = true, .needed = true}},
                .stream = options.stream,
                .adjoint = adjoint},
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
  // One kernel writes the first of these before another one reads or writes the others.
  for (const auto &[a, b, what] : {std::tuple{&q_gradient, &k_gradient, "q and k"},
                                   {&q_gradient, &v_gradient, "q and v"},
                                   {&k_gradient, &v_gradient, "k and v"}})
    if (share_elements(*a, *b))
      throw UserError(where, fmt::format("attention_adjoint: expected gradients with memory of their own; those of {} "
                                         "share theirs: give each a buffer, such as a clone()",
                                         what));
  const double number = scale_of(options, check);
  const AttentionAdjoint planned = attention_adjoint_launches(
      q.type(), check.shape(), options.causal, plan_device(q.device()), number, {.add = options.add_gradients}, where);
  for (const jit::AdjointLaunch &launch : launches_of_adjoint(planned, {q, k, v, out, row_sums}, {out_gradient, {}},
                                                              {q_gradient, k_gradient, v_gradient}, number))
    jit::launch_once(launch.kernel, LaunchExtents(launch.extents, where), {.stream = options.stream},
                     jit::views(launch.arguments));
}

}  // namespace samite::ops
