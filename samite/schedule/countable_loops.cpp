#include "samite/schedule/countable_loops.h"

#include "samite/base/error.h"
#include "samite/schedule/launch_sizes.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Affine;

namespace {

constexpr std::int64_t most_index = std::numeric_limits<std::int32_t>::max();

Value wide(std::int64_t of) { return Value::constant(ScalarType::Int64, of); }

// `parts` identifies the requirement, which may recur in an unrolled kernel.
bool is_new(Lowering &lowering, std::vector<Affine> parts) {
  return !lowering.kernel.open || lowering.kernel.countable.insert(std::move(parts)).second;
}

void require(Lowering &lowering, const Value &condition, Message message, SourceLocation where) {
  lowering.host.add({Requirement{condition, std::move(message), where}});
}

void require_fused(Lowering &lowering, const Site &site, const Nest::Fused &fused) {
  const Relation &relation = site.schedule.relations[fused.relation];
  const std::string what = fmt::format("loop '{}' of '{}' fuses '{}' and '{}'", relation.whole,
                                       lowering.function(site.function).name, relation.outer, relation.inner);
  const std::string remedy =
      "more than the 2147483647 that a loop counts; split one of them, and fuse the pieces' loops";
  const auto range = lowering.symbols.range();
  const auto product = [](std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    return __builtin_mul_overflow(std::max<std::int64_t>(a, 0), std::max<std::int64_t>(b, 0), &result)
               ? std::numeric_limits<std::int64_t>::max()
               : result;
  };
  const auto most_outer = at_most(fused.outer, range), most_inner = at_most(fused.inner, range);
  if (most_outer && most_inner && product(*most_outer, *most_inner) <= most_index) return;
  if (fused.outer.is_constant() && fused.inner.is_constant())
    throw UserError(relation.where, fmt::format("{}, which have {} x {} iterations, {}", what, fused.outer.constant(),
                                                fused.inner.constant(), remedy));
  const auto outer = most_at_launch(lowering, fused.outer, lowering.open.all),
             inner = most_at_launch(lowering, fused.inner, lowering.open.all);
  // Whether one loop can count them, and the message if it cannot.
  const auto fitting = [&](const Affine &of_outer, const Affine &of_inner) {
    const Value first = lowering.integers.wide_value_of(of_outer), second = lowering.integers.wide_value_of(of_inner);
    // Neither loop has more than 2^31 iterations, so that 64 bits hold the product.
    const Value all = lowering.write(Op::Mul, first, lowering.write(Op::Max, second, wide(0)));
    Message message;
    message.texts = {what + ", which have ", " x ", " iterations, " + remedy};
    message.values = {first, second};
    return std::pair(lowering.write(Op::LessEqual, all, wide(most_index)), std::move(message));
  };
  if (!outer || !inner) {
    const auto of_own_loops = [&](const Affine &form) {
      return lowering.symbols.depends_on(form, [&](const passes::Symbol &symbol) {
        return std::ranges::any_of(site.nest.loops, [&](const NestLoop &loop) { return loop.symbol == symbol; });
      });
    };
    if (of_own_loops(fused.outer) || of_own_loops(fused.inner))
      throw UserError(relation.where,
                      fmt::format("{}, and how many iterations they have depends on what the kernel computes, so that "
                                  "a launch cannot tell whether one loop can count them; leave them apart",
                                  what));
    auto [fits, message] = fitting(fused.outer, fused.inner);
    if (!lowering.kernel.open) return require(lowering, fits, std::move(message), relation.where);
    // Only the kernel can check it, and does.
    lowering.write.out->emplace_back(ir::Check{fits, std::move(message), {}}, relation.where);
    return;
  }
  if (!is_new(lowering, {*outer, *inner})) return;
  on_host(lowering, [&] {
    auto [fits, message] = fitting(*outer, *inner);
    require(lowering, fits, std::move(message), relation.where);
  });
}

void require_guarded(Lowering &lowering, const Site &site, const Affine &index) {
  const auto most = at_most(index, lowering.symbols.range());
  if (most && *most <= most_index) return;
  std::vector<OpenLoop> loops = lowering.open.all;
  for (const NestLoop &loop : site.nest.loops) loops.push_back({loop.symbol, loop.extent, false});
  const auto last = most_at_launch(lowering, index, loops);
  if (!last || !is_new(lowering, {*last})) return;
  on_host(lowering, [&] {
    const Value value = lowering.integers.wide_value_of(*last);
    const Value fits = lowering.write(Op::LessEqual, value, wide(most_index));
    Message message;
    message.texts = {fmt::format("the last piece of a loop of '{}' that is split goes to index ",
                                 lowering.function(site.function).name),
                     ", beyond 2147483647; split by a power of two, or compute less at once"};
    message.values = {value};
    require(lowering, fits, std::move(message), site.definition.where);
  });
}

}  // namespace

void require_countable_loops(Lowering &lowering, const Site &site) {
  for (const Nest::Fused &fused : site.nest.fused) require_fused(lowering, site, fused);
  for (const auto &[index, whole] : site.nest.guards) require_guarded(lowering, site, index);
}

}  // namespace samite::schedules
