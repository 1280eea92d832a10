#include "samite/passes/threads/sum_over_lanes.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <algorithm>
#include <utility>

namespace samite::passes {

using namespace ir;

LaneSums::LaneSums(const Kernel &lowered, const Uniformity &lanes)
    : lanes_(lanes), forms_(lowered), only_added_to_(arrays_only_added_to(lowered)) {}

std::vector<std::size_t> LaneSums::of(const For &loop) const {
  std::vector<std::size_t> places;
  if (!loop.step.is_constant()) return places;
  for (std::size_t i = 0; i < loop.body.size(); ++i) {
    const Accumulate *candidate = loop.body[i].as<Accumulate>();
    if (!candidate || !only_added_to_[candidate->array] || !moves_with(loop, *candidate)) continue;
    const bool small = is_floating(candidate->value.type()) && size_of(candidate->value.type()) <= 2;
    if (lanes_.of(candidate->value) != Shape::Uniform && !small) places.push_back(i);
  }
  return places;
}

bool LaneSums::moves_with(const For &loop, const Accumulate &accumulate) const {
  bool moves = false;
  for (const Value &index : accumulate.indices) {
    const auto slope = forms_.slope(index, loop);
    if (!slope || lanes_.of(index) != Shape::Uniform) return false;
    moves = moves || *slope != 0;
  }
  return moves;
}

std::vector<std::uint64_t> element_of(const Accumulate &accumulate) {
  std::vector<std::uint64_t> element{accumulate.array};
  for (const Value &index : accumulate.indices) {
    element.push_back(static_cast<std::uint64_t>(index.kind()));
    element.push_back(static_cast<std::uint64_t>(index.type().element()));
    element.push_back(index.bits());
  }
  return element;
}

std::vector<KeptSum> sums_kept_by(const For &loop, const Uniformity &lanes, const std::vector<bool> &only_added_to) {
  std::set<LocalId> inside{loop.index};
  for (const Carried &carried : loop.carried) inside.insert(carried.inner);
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, ScalarType) { inside.insert(local); });
  });
  const auto fixed = [&](const Value &index) {
    return lanes.of(index) == Shape::Uniform && !(index.is_local() && inside.contains(index.id()));
  };
  std::vector<KeptSum> sums;
  std::set<std::vector<std::uint64_t>> elements;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    const Accumulate *candidate = stmt.as<Accumulate>();
    if (!candidate || !only_added_to[candidate->array] || !std::ranges::all_of(candidate->indices, fixed)) return;
    if (elements.insert(element_of(*candidate)).second) sums.push_back({candidate, stmt.where()});
  });
  return sums;
}

For with_sums_over_lanes(For loop, const std::vector<std::size_t> &places) {
  for (const std::size_t place : places) {
    Accumulate marked = *loop.body[place].as<Accumulate>();
    marked.over_lanes = true;
    loop.body[place] = Stmt(std::move(marked), loop.body[place].where());
  }
  return loop;
}

namespace {

bool adds(const For &loop) {
  return std::ranges::any_of(loop.body, [](const Stmt &stmt) { return stmt.as<Accumulate>() != nullptr; });
}

// The loops in thread loops that add to arrays and that lanes run in step.
std::set<LocalId> loops_in_step(const Kernel &lowered, const Uniformity &lanes) {
  std::set<LocalId> found;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const For *threads = stmt.as<For>();
    if (!threads || threads->kind != LoopKind::Thread) return;
    for_each_statement(threads->body, [&](const Stmt &inner) {
      const For *loop = inner.as<For>();
      if (loop && loop->kind == LoopKind::Serial && adds(*loop) && !lanes.starts_late(*loop) && !lanes.divergent(*loop))
        found.insert(loop->index);
    });
  });
  return found;
}

}  // namespace

Kernel sum_over_lanes(Kernel lowered) {
  const Uniformity lanes = uniformity(lowered);
  const std::set<LocalId> in_step = loops_in_step(lowered, lanes);
  if (in_step.empty()) return lowered;
  const LaneSums sums(lowered, lanes);
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) -> Stmt {
    const For *loop = stmt.as<For>();
    if (!loop || !in_step.contains(loop->index)) return stmt;
    const std::vector<std::size_t> places = sums.of(*loop);
    return places.empty() ? stmt : Stmt(with_sums_over_lanes(*loop, places), stmt.where());
  });
  return lowered;
}

}  // namespace samite::passes
