#include "samite/schedule/thread_loops.h"

#include "samite/base/error.h"
#include "samite/schedule/loops.h"
#include "samite/schedule/producers.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Symbol;

namespace {

void begin_group(Lowering &lowering) {
  ThreadNest &threads = *lowering.open.threads;
  threads.number = ++lowering.kernel.groups;
  threads.group.clear();
  threads.line = lowering.nest.open(threads.lines[0]);
  for (std::size_t l = 1; l < threads.lines.size(); ++l) lowering.nest.open(threads.lines[l]);
  for (const NestLoop &loop : threads.loops)
    lowering.integers.set(loop.symbol, Value::local(ScalarType::Int32, lowering.write.new_local()));
  lowering.write.out = &threads.group;
}

void write_cpu_loops(Lowering &lowering, const Block &group) {
  const ThreadNest &threads = *lowering.open.threads;
  const std::size_t count = threads.loops.size();
  // The innermost loop is the vectors' lanes, unless there are vectors inside. An extent may depend on outer loops.
  const std::function<void(std::size_t)> write = [&](std::size_t l) {
    if (l == count) {
      for (const Stmt &stmt : group) lowering.write.out->push_back(stmt);
      return;
    }
    const Value end = lowering.integers.value_of(threads.loops[l].extent);
    For made{
        lowering.integers.known(threads.loops[l].symbol).id(), ScalarType::Int32, number(0), end, number(1), {}, {}};
    if (l + 1 == count && !threads.vectors) made.kind = LoopKind::Thread;
    Block *const around = std::exchange(lowering.write.out, &made.body);
    write(l + 1);
    lowering.write.out = around;
    lowering.write.out->emplace_back(std::move(made), lowering.write.where);
  };
  write(0);
}

// For loops distributed over the block's threads, with any number of iterations.
void write_group_of_launch(Lowering &lowering, Block group) {
  const ThreadNest &threads = *lowering.open.threads;
  // A chunk's length may depend on its index: then all have as many iterations as the longest.
  const auto differs = [&](std::size_t l) {
    return threads.caps[l] > 0 && std::ranges::any_of(threads.loops, [&](const NestLoop &other) {
             return lowering.symbols.depends_on(threads.loops[l].extent,
                                                [&](const Symbol &s) { return s == other.symbol; });
           });
  };
  std::vector<Value> extents;
  Value all = number(1);
  for (std::size_t l = 0; l < threads.loops.size(); ++l) {
    extents.push_back(differs(l)
                          ? number(threads.caps[l])
                          : lowering.write(Op::Max, lowering.integers.value_of(threads.loops[l].extent), number(0)));
    all = lowering.write(Op::Mul, all, extents.back());
  }
  For made{lowering.write.new_local(), ScalarType::Int32, number(0), all, number(1), {}, {}};
  made.kind = LoopKind::Thread;
  lowering.nest.is_loop(threads.line, made.index);
  lowering.write.out = &made.body;
  Value rest = Value::local(ScalarType::Int32, made.index);
  for (std::size_t l = threads.loops.size(); l-- > 0;) {
    const LocalId index = lowering.integers.known(threads.loops[l].symbol).id();
    const Value here = l == 0 ? rest : lowering.write(Op::Rem, rest, extents[l]);
    lowering.write.out->emplace_back(Let{index, {Op::Copy, ScalarType::Int32, {here}}}, lowering.write.where);
    if (l != 0) rest = lowering.write(Op::Div, rest, extents[l]);
  }
  std::optional<Value> inside;
  for (std::size_t l = 0; l < threads.loops.size(); ++l) {
    if (!differs(l)) continue;
    const Value within = lowering.write(Op::Less, lowering.integers.known(threads.loops[l].symbol),
                                        lowering.integers.value_of(threads.loops[l].extent));
    inside = inside ? lowering.write(Op::And, *inside, within) : within;
  }
  if (inside)
    lowering.write.out->emplace_back(If{*inside, std::move(group), {}, {}}, lowering.write.where);
  else
    for (Stmt &stmt : group) lowering.write.out->push_back(std::move(stmt));
  lowering.write.out = threads.outside;
  lowering.write.out->emplace_back(std::move(made), lowering.write.where);
}

void write_group(Lowering &lowering) {
  ThreadNest &threads = *lowering.open.threads;
  Block group = std::move(threads.group);
  threads.group.clear();
  lowering.write.out = threads.outside;
  if (group.empty()) return lowering.nest.forget(threads.line);
  lowering.nest.close(threads.line);
  if (!lowering.gpu) return write_cpu_loops(lowering, group);
  if (threads.sized_at_launch) return write_group_of_launch(lowering, std::move(group));
  const std::size_t count = threads.loops.size();
  std::vector<Value> index;
  for (const NestLoop &loop : threads.loops) index.push_back(lowering.integers.known(loop.symbol));
  // One loop over all of them, the last dimension varying faster.
  std::int64_t all = 1;
  for (const std::int64_t cap : threads.caps) all *= cap;
  // A single loop keeps its length.
  const bool as_it_is = count == 1 && all > 1024;
  const Value end = as_it_is ? lowering.integers.value_of(threads.loops[0].extent) : number(all);
  For made{lowering.write.new_local(), ScalarType::Int32, number(0), end, number(1), {}, {}};
  made.kind = LoopKind::Thread;
  lowering.nest.is_loop(threads.line, made.index);
  const Value thread = Value::local(ScalarType::Int32, made.index);
  lowering.write.out = &made.body;
  Affine rest{Symbol::local(made.index)};
  lowering.symbols.set_range(Symbol::local(made.index), {0, all - 1});
  lowering.integers.set(Symbol::local(made.index), thread);
  std::optional<Value> inside;
  for (std::size_t l = count; l-- > 0;) {
    const Affine here = l == 0 ? rest : remainder(rest, threads.caps[l]);
    rest = quotient(rest, threads.caps[l]);
    const Value value = lowering.integers.value_of(here);
    lowering.write.out->emplace_back(Let{index[l].id(), {Op::Copy, ScalarType::Int32, {value}}}, lowering.write.where);
  }
  for (std::size_t l = count; l-- > 0;) {
    const NestLoop &loop = threads.loops[l];
    if (as_it_is || loop.extent == Affine(threads.caps[l])) continue;
    const Value within = lowering.write(Op::Less, index[l], lowering.integers.value_of(loop.extent));
    inside = inside ? lowering.write(Op::And, *inside, within) : within;
  }
  if (inside) {
    If branch{*inside, std::move(group), {}, {}};
    lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
  } else {
    for (Stmt &stmt : group) lowering.write.out->push_back(std::move(stmt));
  }
  lowering.write.out = threads.outside;
  lowering.write.out->emplace_back(std::move(made), lowering.write.where);
}

// Writes the thread loops around the collected statements. Returns the loop nest's lines inside them.
std::vector<NestLine> end_group(Lowering &lowering) {
  const std::vector<NestLine> headings = lowering.nest.headings(lowering.open.threads->line);
  write_group(lowering);
  return headings;
}

}  // namespace

void thread_loops(Lowering &lowering, const Site &site, std::size_t i) {
  const std::vector<NestLoop> &all = site.nest.loops;
  if (lowering.open.threads)
    throw UserError(all[i].where,
                    fmt::format("'{}' has loops of threads, and is computed inside of such; compute it outside of "
                                "them, or leave its own serial",
                                lowering.function(site.function).name));
  const bool vector = all[i].type == LoopType::vectorized;
  std::size_t end = i;
  for (std::size_t l = i; l < all.size(); ++l)
    if (all[l].type == LoopType::gpu_thread || l == i) end = l + 1;
  for (const Follower &follower : site.followers)
    if (follower.loops < end)
      throw UserError(follower.where,
                      fmt::format("'{0}' and '{1}' share the loop '{2}', one of threads, and not '{3}' inside of it; "
                                  "share the loops of threads as far as '{3}', or none of them",
                                  lowering.function(follower.site.function).name, lowering.function(site.function).name,
                                  all[follower.loops - 1].name, all[end - 1].name));
  ThreadNest nest;
  nest.function = site.function;
  constexpr std::int64_t most_threads = std::int64_t{1} << 31;
  std::int64_t threads = 1;
  const bool of_block = &site.schedule == &lowering.schedules[site.function].definitions[site.number] && !vector;
  for (std::size_t l = i; l < end; ++l) {
    if (all[l].type != LoopType::gpu_thread && !vector)
      throw UserError(all[end - 1].where,
                      fmt::format("loop '{}' of '{}' is between loops of threads; reorder them so that the loops of "
                                  "threads are directly inside of each other",
                                  all[l].name, lowering.function(site.function).name));
    const auto most = at_most(all[l].extent, lowering.symbols.range());
    const bool at_launch =
        !most || *most > (lowering.gpu && !of_block && !vector ? most_elements_of_block : most_iterations);
    if (at_launch && (of_block || vector))
      throw UserError(all[l].where,
                      fmt::format("loop '{}' of '{}' is one of threads and has a number of iterations that is known "
                                  "at launch only; split it by a number of threads",
                                  all[l].name, lowering.function(site.function).name));
    nest.loops.push_back(all[l]);
    nest.lines.push_back(line_of(lowering, site, all[l], vector ? "vectorized" : "gpu_thread"));
    nest.sized_at_launch = nest.sized_at_launch || at_launch;
    nest.caps.push_back(at_launch ? 0 : std::max<std::int64_t>(*most, 1));
    if (at_launch) continue;
    threads = nest.caps.back() > most_threads / threads ? most_threads : threads * nest.caps.back();
  }
  // Extents at their limits, that is more than a block stores, or than an integer holds.
  nest.sized_at_launch =
      nest.sized_at_launch || (lowering.gpu && !of_block && end - i > 1 && threads > most_elements_of_block);
  if (of_block) {
    if (threads > 1024)
      throw UserError(all[end - 1].where,
                      fmt::format("the loops of threads of '{}' make {} threads ({}); a block has 1024 at most: split "
                                  "by smaller factors",
                                  lowering.function(site.function).name, threads, fmt::join(nest.caps, " x ")));
    lowering.kernel.block_threads = std::max(lowering.kernel.block_threads, threads);
  }
  nest.outside = lowering.write.out;
  nest.vectors = !lowering.gpu && any_inside(lowering, site, end, LoopType::vectorized);
  nest.number = lowering.kernel.groups;
  nest.id = ++lowering.kernel.nests;
  lowering.open.threads = std::move(nest);
  for (std::size_t l = i; l < end; ++l) lowering.open.all.push_back({all[l].symbol, all[l].extent, true});
  lowering.open.lanes = !lowering.gpu && !lowering.open.threads->vectors;
  const auto outer = lowering.storages;
  begin_group(lowering);
  produce_of(lowering, site, end, i);
  loops(lowering, site, end);
  end_group(lowering);
  lowering.storages = outer;
  lowering.open.lanes = false;
  for (std::size_t l = i; l < end; ++l) lowering.open.all.pop_back();
  lowering.write.out = lowering.open.threads->outside;
  lowering.open.threads.reset();
}

void loop_of_block(Lowering &lowering, const Site &site, std::size_t i) {
  const NestLoop &loop = site.nest.loops[i];
  if (depends_on_threads(lowering.open, lowering.symbols, loop.extent))
    throw UserError(
        loop.where,
        fmt::format("the threads of a block go through loop '{}' of '{}' together, because shared memory "
                    "is filled in it, and its number of iterations differs between them; split it into pieces that are "
                    "all whole, or compute what is in shared memory outside of it",
                    loop.name, lowering.function(site.function).name));
  int first = -1;
  for (NestLine &heading : end_group(lowering)) {
    const int line = lowering.nest.open_heading(std::move(heading));
    if (first == -1) first = line;
  }
  For made = loop_over(lowering, loop.symbol, loop.extent, LoopKind::Serial);
  const int line = lowering.nest.open(line_of(lowering, site, loop, "for"));
  lowering.nest.is_loop(line, made.index);
  Block *const outside = std::exchange(lowering.open.threads->outside, &made.body);
  const auto outer = lowering.storages;
  begin_group(lowering);
  opened(lowering, site, i);
  end_group(lowering);
  lowering.nest.close(first == -1 ? line : first);
  lowering.storages = outer;
  lowering.open.threads->outside = outside;
  lowering.write.out = outside;
  lowering.write.out->emplace_back(std::move(made), lowering.write.where);
  begin_group(lowering);
}

void between_threads(Lowering &lowering, const std::function<void()> &contents) {
  end_group(lowering);
  ThreadNest nest = *std::exchange(lowering.open.threads, std::nullopt);
  const bool lanes = std::exchange(lowering.open.lanes, false);
  std::vector<OpenLoop> open = std::exchange(lowering.open.all, {});
  for (const OpenLoop &loop : open)
    if (!loop.thread) lowering.open.all.push_back(loop);
  lowering.write.out = nest.outside;
  contents();
  lowering.open.all = std::move(open);
  lowering.open.lanes = lanes;
  lowering.open.threads = std::move(nest);
  begin_group(lowering);
}

}  // namespace samite::schedules
