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
#include "samite/passes/array_facts.h"
#include "samite/passes/index_forms.h"

#include <optional>
#include <set>
#include <vector>

namespace samite::passes {

template <class Access>
struct Grouped {
  const Access *access;
  // The dimensions along which its place goes with the tile's rows, where it goes with the columns along the last one.
  // Nothing: it goes another way.
  std::optional<std::vector<std::size_t>> rows;
  // Of a store or an addition: four pieces of a fragment that lie side by side go together
  // (device/tile/cuda_store_quads.h).
  bool in_quads = false;
  // Of a store of a number in 16 bits that the loop rounds to them from f32: what it was before, which the store rounds
  // just so. Elements are stored in pairs, and so rounded in one instruction.
  std::optional<ir::Value> unrounded = {};
  // Those of a thread that go together begin at a multiple of their bytes, or of 16, in every launch.
  bool in_units = false;
  std::optional<ir::LocalId> bound = {};  // the condition that it stands under
};

struct GroupedElements {
  std::vector<Grouped<ir::Operation>> loads;
  std::vector<Grouped<ir::Store>> stores;
  // Additions that no other thread makes to the same element: each element of the tile has its own place, so that all
  // may be loaded before any is stored. And atomic ones, of f32 and of 16 bits.
  std::vector<Grouped<ir::Accumulate>> additions;
  // The conditions of the loop's branches and selections that compare places, such as with the bounds of an array:
  // where they hold of the tile's first and last element, they hold of every one; or, with `all_corners`, where they
  // hold of the elements at its four corners.
  std::set<ir::LocalId> bounds;
  bool all_corners = false;
  std::vector<const ir::Stmt *> places;  // what computes these, and the indices, in order

  // Each bound holds of all elements that go together, or of none of them: asked once for them, and they still go
  // together where it holds. Most are of arrays whose rows end with a unit. With few of them for a thread such a loop
  // is there once; else it is the loop that asks for bounds that is done so.
  bool in_packs = false, once = false;

  // Where bounds are asked for, the loop is not written out: a thread's elements go around in their registers, and the
  // next one is at their front.
  bool rotates = false;

  bool empty() const { return loads.empty() && stores.empty() && additions.empty() && bounds.empty(); }
};

GroupedElements grouped_elements(const IndexForms &forms, const ir::For &loop, const ir::FragmentLayout &layout,
                                 const FactsOfArrays &arrays);

}  // namespace samite::passes
