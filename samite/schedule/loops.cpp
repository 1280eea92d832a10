#include "samite/schedule/loops.h"

#include "samite/base/error.h"
#include "samite/schedule/bodies.h"
#include "samite/schedule/fused_rows.h"
#include "samite/schedule/launches.h"
#include "samite/schedule/producers.h"
#include "samite/schedule/thread_loops.h"
#include "samite/schedule/whole_pieces.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Symbol;

namespace {

constexpr std::int64_t most_unrolled = 1024;  // iterations of a loop
constexpr std::int64_t most_copies = 8192;    // of a body inside of several
// For a loop: compilers take as long for hundreds of loops in one function as for tens of thousands of statements, and
// the time is quadratic in their number.
constexpr std::int64_t most_copied_loops = 256;

// Whether open loops over threads must end, and begin again, around the block's cooperative computations: if so, no
// condition may enclose these.
bool ends_thread_loops(const Lowering &lowering, const Site &site, std::size_t from) {
  return lowering.open.threads && meets_inside(lowering, site, from);
}

bool must_be_unrolled(const Lowering &lowering, const Site &site, const Symbol &loop) {
  const auto depends = [&](const std::vector<Value> &indices, std::uint32_t f) {
    const auto storage = lowering.storages.find(f);
    if (storage == lowering.storages.end() || !storage->second.local || storage->second.space != MemorySpace::registers)
      return false;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Affine form = in_loops(lowering, site, indices[d]);
      if (!form.known() || (form - storage->second.begin[d]).contains(loop)) return true;
    }
    return false;
  };
  if (depends(site.definition.indices, site.function)) return true;
  for (const Stmt &stmt : site.definition.body) {
    const Let *let = stmt.as<Let>();
    if (let->value.op != Op::Load) continue;
    const auto called = lowering.algorithm.function_of(let->value.array);
    if (called && depends(let->value.operands, called->function)) return true;
  }
  return std::ranges::any_of(site.followers,
                             [&](const Follower &follower) { return must_be_unrolled(lowering, follower.site, loop); });
}

void host_loop(Lowering &lowering, const Site &site, std::size_t i) {
  const NestLoop &loop = site.nest.loops[i];
  const Value end = lowering.integers.value_of(loop.extent);
  lowering.host.flush();
  HostLoop made{lowering.write.new_local(), number(0), end, {}};
  lowering.integers.set(loop.symbol, Value::local(ScalarType::Int32, made.index));
  lowering.open.all.push_back({loop.symbol, loop.extent, false});
  Steps *const before = std::exchange(lowering.host.steps, &made.body);
  const auto outer = lowering.storages;
  const int line = lowering.nest.open(line_of(lowering, site, loop, "on the host, for"));
  produce(lowering, site, i + 1);
  loops(lowering, site, i + 1);
  lowering.nest.close(line);
  lowering.host.flush();
  lowering.storages = outer;
  lowering.host.steps = before;
  lowering.open.all.pop_back();
  lowering.host.steps->push_back({std::move(made)});
}

void once(Lowering &lowering, const Site &site, std::size_t i, std::int64_t iteration) {
  const Symbol symbol = site.nest.loops[i].symbol;
  Site fixed = site, before = site;
  put(fixed, symbol, iteration);
  put(before, symbol, iteration - 1);
  lowering.integers.set(symbol, number(iteration));
  const auto outer = lowering.storages;
  produce(lowering, fixed, i + 1, {.before = iteration > 0 ? &before : nullptr});
  loops(lowering, fixed, i + 1);
  lowering.storages = outer;
}

// The number of warm-up iterations of a loop (schedule/sliding.h).
std::int64_t iterations_before(Lowering &lowering, const Site &site, std::size_t i) {
  const std::optional<Sliding> slides = sliding(lowering, site, i);
  if (!slides) return 0;
  const bool folded = std::ranges::any_of(slides->functions, [&](const auto &of) {
    const auto storage = lowering.storages.find(of.first);
    return storage != lowering.storages.end() && !storage->second.folds.empty() &&
           storage->second.folds[of.second.dimension].has_value();
  });
  return folded ? slides->warm_up : 0;
}

// A loop that is part of a fused one, and the loop inside if that is, too.
void fused_loop(Lowering &lowering, const Site &site, std::size_t i, const FusedRows &rows) {
  const std::size_t inner = rows.with_next ? i + 1 : i;
  const NestLoop &loop = site.nest.loops[inner];
  const auto words = [&](const NestLoop &of) {
    return lowering.nest.open(line_of(lowering, site, of, of.type == LoopType::vectorized ? "vectorized" : "for"));
  };
  const bool vectors = loop.type == LoopType::vectorized;
  const int outermost = words(site.nest.loops[i]);
  const int line = rows.with_next ? words(loop) : outermost;
  if (rows.with_next) {
    lowering.integers.set(site.nest.loops[i].symbol, number(0));
    lowering.open.all.push_back({site.nest.loops[i].symbol, site.nest.loops[i].extent, false});
  }
  const LocalId index = loop_in_rows(lowering, rows, loop.symbol, vectors ? LoopKind::Thread : LoopKind::Serial, [&] {
    lowering.open.lanes = vectors;
    opened(lowering, site, inner);
    lowering.open.lanes = false;
  });
  if (rows.with_next) lowering.open.all.pop_back();
  lowering.nest.is_loop(line, index);
  if (rows.with_next) lowering.nest.close(line);
  lowering.nest.close(outermost);
}

void serial_loop(Lowering &lowering, const Site &site, std::size_t i) {
  const NestLoop &loop = site.nest.loops[i];
  const std::int64_t warm_up = loop.extent == Affine(1) ? 0 : iterations_before(lowering, site, i);
  if (warm_up == 0)
    if (const auto rows = fused_rows(lowering, site, i)) return fused_loop(lowering, site, i, *rows);
  // A single iteration needs no loop.
  const int line = lowering.nest.open(line_of(lowering, site, loop, "for"));
  if (loop.extent == Affine(1)) {
    once(lowering, site, i, 0);
    return lowering.nest.close(line);
  }
  For made = loop_over(lowering, loop.symbol, loop.extent + warm_up, LoopKind::Serial);
  lowering.nest.is_loop(line, made.index);
  lowering.into(made.body, [&] { opened(lowering, site, i, warm_up); });
  lowering.nest.close(line);
  lowering.write.out->emplace_back(std::move(made), lowering.write.where);
}

void unrolled_loop(Lowering &lowering, const Site &site, std::size_t i) {
  const NestLoop &loop = site.nest.loops[i];
  const auto most = at_most(loop.extent, lowering.symbols.range());
  if (!most || *most > most_unrolled)
    throw UserError(
        loop.where,
        fmt::format("loop '{}' of '{}' is unrolled and has {}; split it, and unroll the inner loop. A "
                    "loop over what is in registers is unrolled, too: store_in local memory does without",
                    loop.name, lowering.function(site.function).name,
                    most && *most <= most_told ? fmt::format("{} iterations, more than {}", *most, most_unrolled)
                                               : std::string("a number of iterations that is known at launch only")));
  const std::int64_t around = lowering.open.copies;
  if (*most > 0 && around > most_copies / *most)
    throw UserError(
        loop.where,
        fmt::format("loop '{}' of '{}' is unrolled inside of others, which makes {} x {} copies of its body, "
                    "more than {}; leave one of them serial, or compute less at once. A loop over what is "
                    "in registers is unrolled, too: store_in local memory does without",
                    loop.name, lowering.function(site.function).name, around, *most, most_copies));
  lowering.open.copies = around * std::max<std::int64_t>(*most, 1);
  const bool guarded = !(loop.extent == Affine(*most));
  const int line = lowering.nest.open(line_of(lowering, site, loop, "unrolled"));
  for (std::int64_t k = 0; k < *most; ++k) {
    std::optional<LoopNest::Silence> silence;
    if (k > 0) silence.emplace(lowering.nest);
    if (!guarded) {
      once(lowering, site, i, k);
      continue;
    }
    If within{lowering.write(Op::Less, number(k), lowering.integers.value_of(loop.extent)), {}, {}, {}};
    lowering.into(within.then_block, [&] { once(lowering, site, i, k); });
    if (!within.then_block.empty()) lowering.write.out->emplace_back(std::move(within), lowering.write.where);
  }
  lowering.open.copies = around;
  lowering.nest.close(line);
}

void check_copied_loop(const Lowering &lowering, const Site &site, const NestLoop &loop) {
  if (lowering.open.copies <= most_copied_loops || loop.extent == Affine(1)) return;
  throw UserError(
      loop.where,
      fmt::format("loop '{}' of '{}' is inside of unrolled ones, which make {} copies of it, more than {}; "
                  "reorder it outside of them, unroll it, too, or leave one of the others serial. A loop "
                  "over what is in registers is unrolled, too: store_in local memory does without",
                  loop.name, lowering.function(site.function).name, lowering.open.copies, most_copied_loops));
}

// After the last loop that followers share: the inside of each, one after another.
void one_after_another(Lowering &lowering, const Site &site, std::size_t i) {
  Site first = site;
  first.followers.clear();
  for (const Follower &follower : site.followers)
    if (follower.loops != i) first.followers.push_back(follower);
  loops(lowering, first, i);
  for (const Follower &follower : site.followers)
    if (follower.loops == i) loops(lowering, follower.site, i);
}

// The CPU's lanes.
void vector_loop(Lowering &lowering, const Site &site, std::size_t i) {
  const NestLoop &loop = site.nest.loops[i];
  if (const auto rows = fused_rows(lowering, site, i)) return fused_loop(lowering, site, i, *rows);
  For made = loop_over(lowering, loop.symbol, loop.extent, LoopKind::Thread);
  lowering.open.lanes = true;
  const int line = lowering.nest.open(line_of(lowering, site, loop, "vectorized"));
  lowering.into(made.body, [&] { opened(lowering, site, i); });
  lowering.nest.close(line);
  lowering.open.lanes = false;
  lowering.write.out->emplace_back(std::move(made), lowering.write.where);
}

}  // namespace

void loops(Lowering &lowering, const Site &site, std::size_t i) {
  if (std::ranges::any_of(site.followers, [&](const Follower &follower) { return follower.loops == i; }))
    return one_after_another(lowering, site, i);
  const std::vector<NestLoop> &all = site.nest.loops;
  if (!lowering.kernel.open) {
    const auto launches = [](const NestLoop &loop) {
      return loop.type == LoopType::parallel || loop.type == LoopType::gpu_block;
    };
    const bool later = std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i), all.end(), launches);
    if (!later || launches(all[i])) return launch(lowering, site, i);
    return host_loop(lowering, site, i);
  }
  if (i == all.size()) {
    // Producers of this body are private to it, even without a loop around it.
    const auto outer = lowering.storages;
    produce(lowering, site, i);
    body(lowering, site);
    lowering.storages = outer;
    return;
  }
  const NestLoop &loop = all[i];
  LoopType type = loop.type;
  if (type == LoopType::parallel || type == LoopType::gpu_block) type = LoopType::serial;
  if (type == LoopType::vectorized && lowering.gpu)
    type = lowering.open.threads ? LoopType::unrolled : LoopType::gpu_thread;
  if (type == LoopType::vectorized && lowering.open.lanes) type = LoopType::serial;
  if (type == LoopType::gpu_thread && lowering.open.lanes && !lowering.open.threads)
    type = LoopType::serial;  // of the CPU: a lane's own
  if (type == LoopType::serial && must_be_unrolled(lowering, site, loop.symbol)) type = LoopType::unrolled;
  // Operations of the whole block run in all of an iteration: neither in lanes nor under a condition.
  if (ends_thread_loops(lowering, site, i) &&
      (type == LoopType::vectorized || (type == LoopType::unrolled && !loop.extent.is_constant())))
    type = LoopType::serial;
  if (type != LoopType::unrolled) check_copied_loop(lowering, site, loop);
  switch (type) {
    case LoopType::gpu_thread: return thread_loops(lowering, site, i);
    case LoopType::unrolled: return unrolled_loop(lowering, site, i);
    case LoopType::vectorized: return vector_loop(lowering, site, i);
    default: break;
  }
  if (ends_thread_loops(lowering, site, i)) return loop_of_block(lowering, site, i);
  serial_loop(lowering, site, i);
}

void within_guards(Lowering &lowering, const Site &site, std::size_t first, std::size_t from,
                   const std::function<void(const Site &, bool tested)> &inside) {
  if (lowering.gpu || !site.followers.empty() || site.nest.guards.empty() || ends_thread_loops(lowering, site, first) ||
      computed_inside(lowering, site, first).empty())
    return inside(site, false);
  const auto known = [&](const Affine &form) {
    return std::none_of(site.nest.loops.begin() + static_cast<std::ptrdiff_t>(from), site.nest.loops.end(),
                        [&](const NestLoop &loop) {
                          return lowering.symbols.depends_on(form, [&](const Symbol &s) { return s == loop.symbol; });
                        });
  };
  Site tested = site;
  tested.nest.guards.clear();
  std::optional<Value> all;
  for (const auto &[value, whole] : site.nest.guards) {
    if (!known(value) || !known(whole)) {
      tested.nest.guards.emplace_back(value, whole);
      continue;
    }
    const Value within = lowering.write(Op::Less, lowering.integers.value_of(value), lowering.integers.value_of(whole));
    all = all ? lowering.write(Op::And, *all, within) : within;
  }
  if (!all) return inside(site, false);
  If branch{*all, {}, {}, {}};
  lowering.into(branch.then_block, [&] { inside(tested, true); });
  lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
}

For loop_over(Lowering &lowering, const Symbol &symbol, const Affine &extent, LoopKind kind) {
  const Value end = lowering.integers.value_of(extent);
  For made{lowering.write.new_local(), ScalarType::Int32, number(0), end, number(1), {}, {}};
  made.kind = kind;
  lowering.integers.set(symbol, Value::local(ScalarType::Int32, made.index));
  return made;
}

void opened(Lowering &lowering, const Site &site, std::size_t i, std::int64_t warm_up) {
  const Symbol loop = site.nest.loops[i].symbol;
  const passes::Range range = lowering.symbols.range_of(loop);
  if (warm_up != 0) {
    lowering.integers.set(loop, lowering.write(Op::Sub, lowering.integers.known(loop), number(warm_up)));
    lowering.symbols.set_range(loop, {-warm_up, range.upper});
  }
  const bool by_thread = lowering.open.threads && lowering.write.out != &lowering.open.threads->group;
  lowering.open.all.push_back({loop, site.nest.loops[i].extent, false, by_thread});
  const auto inside = [&](const Site &here) {
    const Symbol symbol = here.nest.loops[i].symbol;
    Site before = here;
    put(before, symbol, Affine(symbol) - 1);
    std::optional<Sliding> slides;
    if (warm_up != 0) {
      slides = sliding(lowering, here, i);
      internal_check(slides.has_value(), "a loop has iterations before its first one, and nothing that slides");
      slides->warm_up = warm_up;
    }
    within_guards(lowering, here, i, i + 1, [&](const Site &within, bool tested) {
      // The previous iteration may have been beyond the end, and have computed nothing.
      produce(
          lowering, within, i + 1,
          tested ? Earlier{} : Earlier{.before = &before, .symbol = symbol, .sliding = slides ? &*slides : nullptr});
      if (warm_up == 0) return loops(lowering, within, i + 1);
      If branch{lowering.write(Op::GreaterEqual, lowering.integers.value_of(symbol), number(0)), {}, {}, {}};
      lowering.into(branch.then_block, [&] { loops(lowering, within, i + 1); });
      lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
    });
  };
  if (lowering.gpu || lowering.open.lanes || ends_thread_loops(lowering, site, i))
    inside(site);
  else
    whole_or_not(lowering, site, i, i + 1, inside);
  lowering.open.all.pop_back();
  lowering.symbols.set_range(loop, range);
}

}  // namespace samite::schedules
