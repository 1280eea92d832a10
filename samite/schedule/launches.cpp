#include "samite/schedule/launches.h"

#include "samite/passes/tiles/plan_tile_memory.h"
#include "samite/schedule/fused_rows.h"
#include "samite/schedule/launch_sizes.h"
#include "samite/schedule/loops.h"
#include "samite/schedule/producers.h"
#include "samite/schedule/whole_pieces.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Affine;

namespace {

std::size_t dimension_of(const Site &site, std::size_t begin, std::size_t end, const Nest::Piece &piece) {
  std::size_t d = begin;
  while (d < end && !(piece.outer == Affine(site.nest.loops[d].symbol))) ++d;
  return d - begin;
}

// The splits of a site whose chunks are counted by a loop of the launch.
std::vector<Nest::Piece> pieces_of_launch(const Site &site, std::size_t begin, std::size_t end) {
  std::vector<Nest::Piece> found;
  for (const Nest::Piece &piece : site.nest.pieces)
    if (dimension_of(site, begin, end, piece) < end - begin) found.push_back(piece);
  return found;
}

// With its threads, and the offsets of its shared memory.
std::string described(const Lowering &lowering, const Kernel &kernel) {
  std::string text = fmt::format("kernel {}, {} thread{} a block", kernel.name, kernel.block_threads,
                                 kernel.block_threads == 1 ? "" : "s");
  const passes::TileMemoryPlan plan = passes::plan_tile_memory(kernel);
  std::vector<std::string> places;
  for (const auto &[kept, line, words] : lowering.kernel.kept)
    if (const passes::PlacedTile *place = plan.tile(kept.array))
      places.push_back(fmt::format("{} {} {}", kept.func, place->sized_at_launch ? "from" : "at", place->offset) +
                       (place->sized_at_launch ? " on" : ""));
  if (!places.empty())
    text += fmt::format(", {} bytes of shared memory{} ({})", plan.bytes,
                        plan.sized_at_launch() ? " and what is known at launch" : "", fmt::join(places, ", "));
  return text;
}

// Describes the prefetches that were requested.
void describe(Lowering &lowering, const std::vector<LoadAhead> &all) {
  for (const LoadAhead &ahead : all)
    for (Kept &kept : lowering.kernel.kept) {
      if (kept.memory.array != ahead.array) continue;
      kept.memory.array = ahead.memory;
      lowering.nest.rename(
          kept.line,
          kept.text + (ahead.why_not.empty() ? fmt::format(", {} buffers, loaded {} iteration{} ahead", ahead.buffers,
                                                           ahead.buffers - 1, ahead.buffers == 2 ? "" : "s")
                                             : fmt::format(", not loaded ahead: {}", ahead.why_not)));
      break;
    }
}

// The host's computations for the kernel come before it.
void add(Lowering &lowering, KernelLaunch launch) {
  lowering.host.flush();
  lowering.host.steps->push_back({std::move(launch)});
}

// For each loop of the launch, the fusions that it comes from, if its loops become dimensions, so that nothing is
// divided: its own, that of its inner loop, and so on. On a GPU a block divides once.
using Dimensions = std::vector<std::vector<const Nest::Fused *>>;
Dimensions dimensions_of(const Lowering &lowering, const Site &site, std::size_t i, std::size_t end) {
  Dimensions found(end - i);
  if (lowering.gpu || !site.followers.empty()) return found;
  auto rank = static_cast<int>(end - i);
  for (const Nest::Fused &fused : site.nest.fused)
    for (std::size_t d = i; d < end && rank < maximum_rank; ++d) {
      const bool whole = site.schedule.relations[fused.relation].whole == site.nest.loops[d].name;
      if (!whole || fused.inner.is_constant() || fused.index != Affine(site.nest.loops[d].symbol)) continue;
      found[d - i].push_back(&fused);
      ++rank;
      for (const Nest::Fused *within : fused_within(site, fused))
        if (rank < maximum_rank) {
          found[d - i].push_back(within);
          ++rank;
        }
    }
  return found;
}

// The index of a loop of the launch, which has a dimension for each fusion and one more. Its divisions become known.
Value index_of_loop(Lowering &lowering, const std::vector<const Nest::Fused *> &fusions,
                    const std::function<Value()> &index_of_launch, std::deque<Integers::KnownDivision> &divisions) {
  std::vector<Value> outer;
  for (std::size_t f = 0; f < fusions.size(); ++f) outer.push_back(index_of_launch());
  Value value = index_of_launch();
  for (std::size_t f = fusions.size(); f-- > 0;) {
    const Nest::Fused &fused = *fusions[f];
    divisions.emplace_back(lowering.integers, Integers::Division{fused.index, fused.inner, outer[f], value});
    value = lowering.write(Op::Add, lowering.write(Op::Mul, outer[f], lowering.integers.value_of(fused.inner)), value);
  }
  return value;
}

// `whole`: chunks that are known to be full, if any. `begins`: by dimension, the start of the launch, if not 0.
KernelLaunch kernel_over(Lowering &lowering, const Site &site, std::size_t i, std::size_t end,
                         const std::vector<Value> &extents, const Dimensions &dimensions, const WholePieces &whole,
                         const std::map<std::size_t, LocalId> &begins) {
  const std::vector<NestLoop> &all = site.nest.loops;
  KernelLaunch made;
  made.extents = extents;
  Kernel &kernel = made.kernel;
  kernel.name = fmt::format("{}_{}", lowering.algorithm.name, lowering.function(site.function).name);
  if (site.number > 0) kernel.name += fmt::format("_{}", site.number);
  kernel.name += lowering.host.name_end;
  if (!begins.empty()) kernel.name += "_rest";
  kernel.where = lowering.function(site.function).where;
  kernel.launch_rank = static_cast<int>(made.extents.size());
  Block *const before = std::exchange(lowering.write.out, &kernel.body);
  lowering.kernel.open = true;
  lowering.kernel.next_array = 0;
  lowering.kernel.first_local = lowering.write.next_local;
  lowering.kernel.block_threads = 1;
  lowering.kernel.thread_memory.clear();
  lowering.kernel.countable.clear();
  lowering.kernel.block_fills = any_inside(lowering, site, i, LoopType::gpu_thread);
  const auto outer = lowering.storages;
  std::optional<LoopNest::Silence> silence;
  if (!begins.empty()) silence.emplace(lowering.nest);
  const int line = lowering.nest.open({"kernel " + kernel.name, lowering.function(site.function).name});
  const std::vector<Kept> kept_before = std::exchange(lowering.kernel.kept, {});
  for (std::size_t d = i; d < end; ++d)
    lowering.nest.open(line_of(lowering, site, all[d], lowering.gpu ? "gpu_block" : "parallel"));
  std::int32_t dimension = 0;
  const auto index_of_launch = [&] {
    const LocalId index = lowering.write.new_local();
    lowering.write.out->emplace_back(Let{index, {Op::ThreadIndex, ScalarType::Int32, {}, 0, dimension++}},
                                     lowering.write.where);
    return Value::local(ScalarType::Int32, index);
  };
  std::deque<Integers::KnownDivision> divisions;
  for (std::size_t d = i; d < end; ++d) {
    Value value = index_of_loop(lowering, dimensions[d - i], index_of_launch, divisions);
    if (const auto begin = begins.find(d - i); begin != begins.end())
      value = lowering.write(Op::Add, value, Value::local(ScalarType::Int32, begin->second));
    lowering.integers.set(all[d].symbol, value);
    lowering.open.all.push_back({all[d].symbol, all[d].extent, false});
  }
  const auto inside = [&](const Site &here) {
    within_guards(lowering, here, 0, end, [&](const Site &within, bool) {
      produce_of(lowering, within, end, 0);
      loops(lowering, within, end);
    });
  };
  const bool rest = std::exchange(lowering.kernel.in_rest, lowering.kernel.in_rest || !begins.empty());
  if (whole)
    whole_or_not(lowering, same_with_whole_pieces(lowering, site, whole, end), i, end, inside);
  else
    whole_or_not(lowering, site, i, end, inside);
  lowering.kernel.in_rest = rest;
  for (std::size_t d = i; d < end; ++d) lowering.open.all.pop_back();
  lowering.storages = outer;
  lowering.kernel.open = false;
  lowering.write.out = before;
  kernel.block_threads = static_cast<int>(lowering.kernel.block_threads);
  kernel.scheduled = true;
  kernel.local_count = lowering.write.next_local;
  kernel.local_array_count = lowering.kernel.next_array;
  lowering.nest.close(line);
  check_thread_memory(kernel, lowering.kernel.thread_memory);
  describe(lowering, order_kernel(kernel, lowering.gpu, lowering.choice.partitioned));
  lowering.write.next_local = std::max(lowering.write.next_local, kernel.local_count);
  if (lowering.gpu) place_at_launch(lowering, kernel);
  lowering.nest.add_barriers(kernel.body);
  made.arguments = finish_kernel(kernel, lowering.algorithm.parameters, lowering.host.temporaries);
  if (lowering.gpu) lowering.nest.rename(line, described(lowering, kernel));
  for (Kept &kept : lowering.kernel.kept) made.kept.push_back(std::move(kept.memory));
  lowering.kernel.kept = kept_before;
  return made;
}

}  // namespace

void launch(Lowering &lowering, const Site &site, std::size_t i) {
  std::size_t end = i;
  const std::vector<NestLoop> &all = site.nest.loops;
  const auto launches = [](const NestLoop &loop) {
    return loop.type == LoopType::parallel || loop.type == LoopType::gpu_block;
  };
  while (end < all.size() && launches(all[end]) && end - i < static_cast<std::size_t>(maximum_rank) &&
         std::ranges::all_of(site.followers, [&](const Follower &follower) { return end < follower.loops; }))
    ++end;
  std::vector<Value> extents;
  const Dimensions dimensions = dimensions_of(lowering, site, i, end);
  for (std::size_t d = i; d < end; ++d) {
    for (const Nest::Fused *fused : dimensions[d - i]) extents.push_back(lowering.integers.value_of(fused->outer));
    const Affine &last = dimensions[d - i].empty() ? all[d].extent : dimensions[d - i].back()->inner;
    extents.push_back(lowering.integers.value_of(last));
  }
  if (extents.empty()) extents.push_back(number(1));
  std::vector<Nest::Piece> pieces;
  if (lowering.gpu && gains_by_whole_pieces(lowering, site, i))
    for (const Site *of : all_sites(site)) std::ranges::copy(pieces_of_launch(*of, i, end), std::back_inserter(pieces));
  if (pieces.empty()) {
    return add(lowering, kernel_over(lowering, site, i, end, extents, dimensions, {}, {}));
  }
  // Blocks with full chunks have their own kernel, which needs fewer registers without the code for the tail.
  std::map<std::size_t, Value> whole;  // number of blocks, by dimension
  for (const Nest::Piece &piece : pieces) {
    const std::size_t d = dimension_of(site, i, end, piece);
    const Value count = lowering.write(
        Op::Min, lowering.write(Op::Max, lowering.integers.value_of(piece.whole), number(0)), extents[d]);
    const auto known = whole.find(d);
    if (known == whole.end())
      whole.emplace(d, count);
    else
      known->second = lowering.write(Op::Min, known->second, count);
  }
  std::vector<std::vector<Value>> of_rest;  // extents: the partial chunks of one dimension
  for (const auto &[rest, count] : whole) {
    std::vector<Value> over = extents;
    for (const auto &[d, count_of_d] : whole)
      if (d < rest) over[d] = count_of_d;
    over[rest] = lowering.write(Op::Sub, extents[rest], count);
    of_rest.push_back(std::move(over));
  }
  const WholePieces whole_pieces = [&](const Site &of) {
    std::set<std::size_t> relations = of.whole;
    for (const Nest::Piece &piece : pieces_of_launch(of, i, end)) relations.insert(piece.relation);
    return relations;
  };
  std::vector<Value> of_whole = extents;
  for (const auto &[d, count] : whole) of_whole[d] = count;
  add(lowering, kernel_over(lowering, site, i, end, of_whole, dimensions, whole_pieces, {}));
  std::map<std::size_t, LocalId> begins;
  for (const auto &[d, count] : whole) begins.emplace(d, lowering.write.new_local());
  const KernelLaunch of_pieces = kernel_over(lowering, site, i, end, extents, dimensions, {}, begins);
  std::size_t next = 0;
  for (const auto &[rest, count] : whole) {
    KernelLaunch launch = of_pieces;
    launch.extents = of_rest[next++];
    for (KernelArgument &argument : launch.arguments) {
      auto *host = std::get_if<HostArgument>(&argument);
      if (!host || !host->value.is_local()) continue;
      for (const auto &[d, begin] : begins)
        if (host->value.id() == begin) host->value = d == rest ? count : number(0);
    }
    add(lowering, std::move(launch));
  }
}

}  // namespace samite::schedules
