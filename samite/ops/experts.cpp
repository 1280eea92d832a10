#include "samite/ops/experts.h"

#include "samite/base/error.h"
#include "samite/ops/experts_kernels.h"
#include "samite/ops/gradients.h"
#include "samite/ops/grouped_by_type.h"
#include "samite/ops/kernels.h"
#include "samite/ops/matmul_plan.h"
#include "samite/ops/operand_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace samite::ops {
namespace {

using detail::ExpertKernels;
using detail::ExpertPlan;

constexpr std::int64_t most_experts = 4096;

template <Scalar T>
struct Made {
  using Of = ExpertKernels<T>;
  detail::Kernels<ExpertPlan, typename Of::Choose> choose{Of::choose};
  detail::Kernels<ExpertPlan, typename Of::OfLogits> of_logits{Of::of_logits};
  detail::Kernels<ExpertPlan, typename Of::Spread> spread{Of::spread};
  detail::Kernels<ExpertPlan, typename Of::Collect> collect{Of::collect};
  detail::Kernels<ExpertPlan, typename Of::OfWeights> of_weights{Of::of_weights};
  detail::Kernels<ExpertPlan, typename Of::Gate> gate{Of::gate};

  static Made &all() {
    static Made all;
    return all;
  }
};

enum class Step : std::uint8_t { choose, of_logits, spread, collect, of_weights, gate };

// The kernel of a step for arrays of that type.
std::shared_ptr<jit::KernelDefinition> kernel_of(Step step, ScalarType type, const ExpertPlan &plan,
                                                 SourceLocation where) {
  const auto choose = [&](auto &made) {
    switch (step) {
      case Step::choose: return made.choose.at(plan).definition();
      case Step::of_logits: return made.of_logits.at(plan).definition();
      case Step::spread: return made.spread.at(plan).definition();
      case Step::collect: return made.collect.at(plan).definition();
      case Step::of_weights: return made.of_weights.at(plan).definition();
      case Step::gate: break;
    }
    return made.gate.at(plan).definition();
  };
  switch (type) {
#define SAMITE_CASE(T) \
  case scalar_type_of<T>: return choose(Made<T>::all());
    SAMITE_ROW_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
    default: detail::refuse_row_type("mixture of experts", type, where);
  }
}

// Tiles of rows of this many numbers. Those with all experts in a tile are sorted, so that extents are powers of two.
ExpertPlan plan_of(ScalarType type, std::int64_t width, std::int64_t chosen, const PlanDevice &device) {
  const detail::RowPlan rows = detail::row_plan(width, device, 2048, detail::many_numbers(type));
  return {.rows = std::min(rows.rows, 64),
          .columns = rows.columns,
          .chosen = static_cast<int>(chosen),
          .threads = rows.threads};
}
ExpertPlan plan_of_choice(std::int64_t experts, std::int64_t chosen, bool normalised, const PlanDevice &device) {
  const auto columns = std::max(16, static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(experts))));
  return {.rows = std::clamp(2048 / columns, 1, 32),
          .columns = columns,
          .chosen = static_cast<int>(chosen),
          .threads = device.is_cpu() ? 32 : 128,
          .weighted = normalised};
}
Extents blocks_of(std::int64_t rows, std::int64_t width, const ExpertPlan &plan) {
  return {detail::ceil_div(rows, plan.rows), detail::ceil_div(width, plan.columns)};
}

void expect(const char *name, const AnyBuffer &buffer, const char *what, const Extents &extents, ScalarType type,
            Device device, SourceLocation where) {
  if (!buffer.valid() || buffer.extents() != extents || buffer.type() != type || buffer.device() != device)
    throw UserError(where,
                    fmt::format("{}: expected {} of {} with extents {} on {}; {} given", name, what, cpp_name(type),
                                extents.to_string(), device.to_string(), detail::text_of(buffer)));
}
void expect_matrix(const char *name, const AnyBuffer &buffer, const char *what, SourceLocation where) {
  if (!buffer.valid() || buffer.rank() != 2)
    throw UserError(where, fmt::format("{}: expected {}; {} given", name, what, detail::text_of(buffer)));
}

// x (tokens, width) and the rows of experts (tokens * chosen, width), of one type.
void check_rows_of(const char *name, const AnyBuffer &tokens, const AnyBuffer &rows, const Routing &routing,
                   const char *what, SourceLocation where) {
  expect_matrix(name, tokens, what, where);
  const std::int64_t width = tokens.extents()[1];
  expect(name, tokens, what, {routing.tokens(), width}, tokens.type(), routing.experts.device(), where);
  expect(name, rows, "rows of experts", {routing.tokens() * routing.chosen(), width}, tokens.type(), tokens.device(),
         where);
  if (routing.weights.type() != detail::row_number_type(tokens.type()))
    throw UserError(where, fmt::format("{}: expected a routing with weights of {}, as {} is {}; they are of {}", name,
                                       cpp_name(detail::row_number_type(tokens.type())), what, detail::text_of(tokens),
                                       cpp_name(routing.weights.type())));
}

// The weights in the order of the entries.
AnyBuffer flat(const AnyBuffer &of_tokens) { return of_tokens.reshape({of_tokens.count()}); }

PlannedLaunch order_launch(std::int64_t experts, const PlanDevice &device) {
  static detail::Kernels<ExpertPlan, decltype(detail::order_entries({}))> made(detail::order_entries);
  const ExpertPlan plan{.rows = 1024, .threads = device.is_cpu() ? 32 : 256};
  return {made.at(plan).definition(), {experts}};
}

}  // namespace

ExpertLaunches expert_launches(ScalarType type, const ExpertShape &shape, bool normalised, const PlanDevice &device,
                               SourceLocation where) {
  const auto &[tokens, experts, chosen, width] = shape;
  const ExpertPlan of_choice = plan_of_choice(experts, chosen, normalised, device),
                   plain = plan_of(type, width, chosen, device);
  ExpertPlan added = plain, weighted = plain;
  added.add = weighted.weighted = true;
  ExpertPlan both = weighted;
  both.add = true;
  const Extents choices{detail::ceil_div(tokens, of_choice.rows)}, of_tokens = blocks_of(tokens, width, plain),
                                                                   of_rows = blocks_of(tokens * chosen, width, plain);
  const auto launch = [&](Step step, const ExpertPlan &plan, const Extents &blocks) {
    return PlannedLaunch{kernel_of(step, type, plan, where), blocks};
  };
  return {.choose = launch(Step::choose, of_choice, choices),
          .order = order_launch(experts, device),
          .of_logits = launch(Step::of_logits, of_choice, choices),
          .dispatch = launch(Step::spread, plain, of_rows),
          .of_x = launch(Step::collect, added, of_tokens),
          .combine = launch(Step::collect, weighted, of_tokens),
          .of_rows = launch(Step::spread, both, of_rows),
          .of_weights = launch(Step::of_weights, both, {of_tokens[0]})};
}

Routing::Routing(Device device, ScalarType logits, std::int64_t tokens, std::int64_t experts, std::int64_t chosen,
                 SourceLocation where) {
  if (chosen < 1 || chosen > experts || experts > most_experts)
    throw UserError(where, fmt::format("routing: expected 1 or more experts for each token, out of up to {}; {} of {} "
                                       "given",
                                       most_experts, chosen, experts));
  if (tokens * chosen >= std::int64_t{1} << 31)
    throw UserError(
        where,
        fmt::format("routing: expected fewer than 2^31 rows of experts; {} tokens with {} each given", tokens, chosen));
  const auto integers = [&](const Extents &extents) { return AnyBuffer(device, ScalarType::Int32, extents); };
  this->experts = integers({tokens, chosen});
  weights = AnyBuffer(device, detail::row_number_type(logits), {tokens, chosen}, Gradient::tracked);
  places = integers({tokens, chosen});
  entries = integers({tokens * chosen});
  offsets = integers({experts + 1});
}

void route(const AnyBuffer &logits, const Routing &routing, const RoutingOptions &options, SourceLocation where) {
  expect_matrix("route", logits, "logits of (tokens, experts)", where);
  const std::int64_t tokens = routing.tokens(), experts = routing.offsets.count() - 1;
  expect("route", logits, "logits", {tokens, experts}, logits.type(), routing.experts.device(), where);
  expect("route", routing.weights, "weights in the routing", {tokens, routing.chosen()},
         detail::row_number_type(logits.type()), logits.device(), where);
  const ExpertLaunches planned = expert_launches(logits.type(), {tokens, experts, routing.chosen(), 1},
                                                 options.normalised, plan_device(logits.device()), where);
  const auto adjoint = [=](std::span<const AnyBuffer> values) {
    const AnyBuffer of_weights = routing.weights.gradient(), of_logits = detail::gradient_or_zeros(logits);
    return std::vector{
        detail::adjoint_launch(planned.of_logits, {{&values[0]}, {&values[1]}, {&of_weights}, {&of_logits}})};
  };
  jit::perform(
      {.name = "choose_experts",
       .arrays = {{.buffer = logits, .name = "logits", .needed = true},
                  {.buffer = routing.experts, .name = "experts", .written = true, .needed = true},
                  {.buffer = routing.weights, .name = "weights", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        detail::launch_planned(planned.choose, {{&logits}, {&routing.experts}, {&routing.weights}}, where,
                               options.stream);
      },
      where);
  const AnyBuffer numbers = flat(routing.experts), places = flat(routing.places);
  detail::launch_planned(planned.order, {{&numbers}, {&places}, {&routing.entries}, {&routing.offsets}}, where,
                         options.stream);
}

namespace {

ExpertLaunches launches_for(const AnyBuffer &of_tokens, const Routing &routing, SourceLocation where) {
  return expert_launches(of_tokens.type(),
                         {routing.tokens(), routing.offsets.count() - 1, routing.chosen(), of_tokens.extents()[1]},
                         true, plan_device(of_tokens.device()), where);
}

}  // namespace

void dispatch(const AnyBuffer &x, const Routing &routing, const AnyBuffer &rows, const ExpertOptions &options,
              SourceLocation where) {
  check_rows_of("dispatch", x, rows, routing, "x of (tokens, width)", where);
  const ExpertLaunches planned = launches_for(x, routing, where);
  const AnyBuffer no_weights(x.device(), detail::row_number_type(x.type()), {1, 1});
  const auto adjoint = [=](std::span<const AnyBuffer> values) {
    const AnyBuffer of_rows = rows.gradient(), of_x = detail::gradient_or_zeros(x);
    return std::vector{detail::adjoint_launch(planned.of_x, {{&of_rows}, {&values[2]}, {&no_weights}, {&of_x}})};
  };
  jit::perform(
      {.name = "dispatch",
       .arrays = {{x, "x"},
                  {routing.entries, "entries"},
                  {.buffer = routing.places, .name = "places", .needed = true},
                  {.buffer = rows, .name = "rows", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        const AnyBuffer weights = flat(no_weights);
        detail::launch_planned(planned.dispatch, {{&x}, {&routing.entries}, {&weights}, {&rows}}, where,
                               options.stream);
      },
      where);
}

void combine(const AnyBuffer &rows, const Routing &routing, const AnyBuffer &y, const ExpertOptions &options,
             SourceLocation where) {
  check_rows_of("combine", y, rows, routing, "y of (tokens, width)", where);
  const ExpertLaunches planned = launches_for(y, routing, where);
  const auto adjoint = [=](std::span<const AnyBuffer> values) {
    const AnyBuffer of_y = y.gradient(), of_rows = detail::gradient_or_zeros(rows),
                    of_weights = detail::gradient_or_zeros(routing.weights), weights = flat(values[1]);
    return std::vector{
        detail::adjoint_launch(planned.of_rows, {{&of_y}, {&values[3]}, {&weights}, {&of_rows}}),
        detail::adjoint_launch(planned.of_weights, {{&of_y}, {&values[0]}, {&values[2]}, {&of_weights}})};
  };
  jit::perform(
      {.name = "combine",
       .arrays = {{.buffer = rows, .name = "rows", .needed = true},
                  {.buffer = routing.weights, .name = "weights", .needed = true},
                  {.buffer = routing.places, .name = "places", .needed = true},
                  {.buffer = routing.entries, .name = "entries", .needed = true},
                  {.buffer = y, .name = "y", .written = true}},
       .stream = options.stream,
       .adjoint = adjoint},
      [&](bool) {
        detail::launch_planned(planned.combine, {{&rows}, {&routing.places}, {&routing.weights}, {&y}}, where,
                               options.stream);
      },
      where);
}

void mixture_of_experts(const AnyBuffer &x, const AnyBuffer &logits, const AnyBuffer &up, const AnyBuffer &down,
                        const AnyBuffer &y, const MixtureOptions &options, SourceLocation where) {
  const char *const name = "mixture_of_experts";
  expect_matrix(name, x, "x of (tokens, width)", where);
  expect_matrix(name, logits, "logits of (tokens, experts)", where);
  if (!down.valid() || down.rank() != 3)
    throw UserError(
        where, fmt::format("{}: expected `down` of (experts, hidden, width); {} given", name, detail::text_of(down)));
  const std::int64_t tokens = x.extents()[0], width = x.extents()[1], experts = logits.extents()[1],
                     hidden = down.extents()[1], rows = tokens * options.chosen;
  const ScalarType type = x.type();
  const Device device = x.device();
  expect(name, logits, "logits", {tokens, experts}, type, device, where);
  expect(name, up, "`up`", {experts, width, options.gated ? 2 * hidden : hidden}, type, device, where);
  expect(name, down, "`down`", {experts, hidden, width}, type, device, where);
  expect(name, y, "y", {tokens, width}, type, device, where);
  const Routing routing(device, type, tokens, experts, options.chosen, where);
  route(logits, routing, {.normalised = options.normalised, .stream = options.stream}, where);
  const auto made = [&](std::int64_t columns) { return AnyBuffer(device, type, {rows, columns}, Gradient::tracked); };
  const AnyBuffer of_tokens = made(width), inner = made(hidden), results = made(width);
  dispatch(x, routing, of_tokens, {.stream = options.stream}, where);
  const auto multiply = [&](const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &c, Activation activation) {
    const PlannedLaunch planned = grouped_matmul_launch({.factor = type,
                                                         .epilogue = {.result = type, .activation = activation},
                                                         .differentiated = is_differentiated({}, c)},
                                                        grouped_shape(name, {a, b, routing.offsets, c, false}, where),
                                                        plan_device(device), where);
    detail::launch_planned(planned, {{&a}, {&b}, {&routing.offsets}, {&c}}, where, options.stream);
  };
  if (options.gated) {
    const AnyBuffer both = made(2 * hidden);
    multiply(of_tokens, up, both, Activation::none);
    ExpertPlan plan = plan_of(type, hidden, options.chosen, plan_device(device));
    plan.activation = options.activation;
    const AnyBuffer gates = both.slice(1, 0, hidden), values = both.slice(1, hidden, 2 * hidden);
    detail::launch_planned({kernel_of(Step::gate, type, plan, where), blocks_of(rows, hidden, plan)},
                           {{&gates}, {&values}, {&inner}}, where, options.stream);
  } else {
    multiply(of_tokens, up, inner, options.activation);
  }
  multiply(inner, down, results, Activation::none);
  combine(results, routing, y, {.stream = options.stream}, where);
}

}  // namespace samite::ops
