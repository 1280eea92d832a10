// Finds the accesses of a loop over a register tile that a thread can make for several elements at once: those whose
// elements are neighbours both in the array and in the tile. Only for arrays that the loop accesses in no other way, so
// that the order of accesses cannot be observed.
//
// Most accesses run along the array's own rows and columns. Then the distances between a thread's elements are the same
// in the tile's layout and in the array, and one address serves all of them.
//
// A pure function of a loop of a planned tile kernel, for targets whose blocks have threads. The result refers to the
// loop's statements, which must outlive it.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"
#include "samite/passes/analysis/index_forms.h"

#include <optional>
#include <set>
#include <vector>

namespace samite::passes {

template <class Access>
struct Grouped {
  const Access *access;
  // The dimensions along which its place moves with the tile's rows, if it moves with the columns along the last one.
  // Empty: it moves differently.
  std::optional<std::vector<std::size_t>> rows;
  // For a store or an addition: four adjacent fragments go together (device/tile/cuda_store_quads.h).
  bool in_quads = false;
  // For a store of a number that the loop rounds from f32 to 16 bits: the number before, which the store rounds in the
  // same way. Elements are stored in pairs, and so rounded in one instruction.
  std::optional<ir::Value> unrounded = {};
  // A thread's grouped elements are aligned to their size, or to 16 bytes, in every launch.
  bool in_units = false;
  std::optional<ir::LocalId> bound = {};  // its guarding condition
  std::optional<ir::LocalId> local = {};  // of a load
};

struct GroupedElements {
  std::vector<Grouped<ir::Operation>> loads;
  std::vector<Grouped<ir::Store>> stores;
  // Additions with no other thread adding to the same element: each element of the tile has its own place, so that all
  // may be loaded before any is stored. And atomic ones, of f32 and of 16 bits.
  std::vector<Grouped<ir::Accumulate>> additions;
  // Conditions of the loop's branches and selections that compare places, e.g. with the bounds of an array: if they
  // hold for the tile's first and last element, they hold for every one; or, with `all_corners`, if they hold for the
  // elements at its four corners.
  std::set<ir::LocalId> bounds;
  bool all_corners = false;
  std::vector<const ir::Stmt *> places;  // computes these, and the indices, in order

  // Each bound holds for all elements of a group, or for none: it is tested once per group, which stays grouped if it
  // holds. Most are bounds of arrays whose rows end with a unit. With few groups in a thread such a loop is emitted
  // once; otherwise this applies to the loop with bounds checks.
  bool in_packs = false, once = false;

  // With bounds checks, the loop is not unrolled: a thread's elements rotate through its registers, and the next one is
  // at the front.
  bool rotates = false;

  bool empty() const { return loads.empty() && stores.empty() && additions.empty() && bounds.empty(); }
};

GroupedElements grouped_elements(const IndexForms &forms, const ir::For &loop, const ir::FragmentLayout &layout,
                                 const FactsOfArrays &arrays);

// The same of a loop that has a plan, as the plan says (passes/tiles/plan_element_loops.h).
GroupedElements planned_groups(const ir::For &loop);

}  // namespace samite::passes
