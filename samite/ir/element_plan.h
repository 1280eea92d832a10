// How each thread of a GPU's block runs a loop over the elements of tiles (passes/tiles/plan_element_loops.h).
#pragma once

#include "samite/ir/value.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace samite::ir {

struct ElementPlan {
  // An access that a thread makes for neighbouring elements at once: a load, by its result, or the loop's only access
  // to an array that it stores or adds to.
  struct Group {
    enum class Kind : std::uint8_t { load, store, add };

    Kind kind = Kind::load;
    std::uint32_t array = 0;
    std::optional<LocalId> load = {};
    // The dimensions of the array along which the place moves with the tile's rows; its last one moves with the
    // columns. Empty: it moves otherwise.
    std::optional<std::vector<std::size_t>> along_rows = {};
    bool in_quads = false;                // four adjacent fragments go together
    bool in_units = false;                // the elements are aligned to their size, or to 16 bytes, in every launch
    std::optional<Value> unrounded = {};  // the f32 value that the store rounds, in the place of its own value
    std::optional<LocalId> bound = {};    // the condition around the access

    friend bool operator==(const Group &, const Group &) = default;
  };

  int interleaved = 0;   // the compiler interleaves this many iterations of a thread; 0: as many as it likes
  bool by_rows = false;  // loads that depend only on the row run once for each row of the thread, before the loop
  std::vector<Group> groups = {};
  // Conditions on the bounds of arrays. If they hold at this many corners of the tile, 2 or 4, they hold for every
  // element, and a version of the loop without them runs. 0: the loop has one version.
  std::vector<LocalId> bounds = {};
  int corners = 0;
  bool in_packs = false;  // the bounds hold for all elements of a group or for none, and are checked once for it
  // The version with bounds checks is not unrolled: it runs this many elements, then moves all of the thread's
  // registers on by as many. 0: it is unrolled.
  int rotates = 0;

  bool is_default() const { return *this == ElementPlan(); }
  friend bool operator==(const ElementPlan &, const ElementPlan &) = default;
};

// "", or with a space in front of each clause: " by_rows together (load %5 rows (0) in_units) bounds (%3) corners 2".
std::string to_string(const ElementPlan &plan, const std::function<std::string(const Value &)> &value,
                      const std::function<std::string(std::uint32_t)> &array);

}  // namespace samite::ir
