// The loops of one definition, as its schedule makes them from the variables.
#pragma once

#include "samite/schedule/directives.h"
#include "samite/schedule/forms.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace samite::schedules {

// Each loop counts from 0.
struct NestLoop {
  std::string name;
  LoopType type = LoopType::serial;
  passes::Symbol symbol{};
  passes::Affine extent;  // may contain outer loops, if the last piece of a split is shorter
  SourceLocation where;
};

struct Nest {
  std::vector<NestLoop> loops;                      // outermost first
  std::map<ir::LocalId, passes::Affine> variables;  // each variable of the definition, in symbols of the loops
  std::map<ir::LocalId, passes::Interval> ranges;   // the whole range of each
  std::vector<std::pair<passes::Affine, passes::Affine>> guards;  // the first must be below the second
  std::vector<std::pair<passes::Affine, passes::Affine>> ends;    // the same, including those for which loops end early
  std::set<ir::LocalId> guarded;                                  // the variables in them
  std::vector<std::pair<passes::Affine, passes::Affine>> shared;  // the guards of shared loops
  // The same for values that are always computed, but only stored if the first is below the second.
  std::vector<std::pair<passes::Affine, passes::Affine>> store_guards;
  // The same for elements that are always stored, but only loaded for if the first is below the second.
  std::vector<std::pair<passes::Affine, passes::Affine>> load_guards;
  std::map<ir::LocalId, passes::Affine> asked;   // the extent before rounding up, of variables in load_guards
  std::map<ir::LocalId, passes::Affine> loaded;  // the number of elements to load for, if not that of `ranges`
  // Splits whose last piece may be shorter, by the number of the piece: `outer` must be below `whole`.
  struct Piece {
    std::size_t relation;
    passes::Affine outer, whole;
  };
  std::vector<Piece> pieces;
  // Fused loops: the number of iterations of each of the two, and the index of the fused one.
  struct Fused {
    std::size_t relation;
    passes::Affine outer, inner, index;
  };
  std::vector<Fused> fused;
};

// A variable of a definition: its local, and its range.
struct Root {
  std::string name;
  ir::LocalId variable;
  passes::Affine begin, extent;
  std::int64_t multiple = 1;  // the extent is a multiple of this, even if its form does not show it
};

// The nest's requirements on its surroundings.
struct NestNeeds {
  std::function<passes::Symbol()> new_symbol;
  std::function<passes::Affine(Derived)> derived;  // a symbol for it
  passes::RangeOfSymbol range;                     // of outer symbols
  std::set<std::size_t> whole_pieces;              // splits, by their relation, whose pieces are all whole
};

// The number of which the extent of a loop must be a multiple, so that all pieces of splits that round up are whole.
// `loop` is its original name.
std::int64_t rounded_to(const DefinitionSchedule &schedule, const std::string &loop);
// Whether one of the splits of this loop, which leave its pieces to be split again, has this tail.
bool has_tail(const DefinitionSchedule &schedule, const std::string &loop, ir::Tail tail);
// The multiple of iterations that are computed, though not stored (Tail::predicate_stores).
std::int64_t computed_to(const DefinitionSchedule &schedule, const std::string &loop);

Nest nest_of(const DefinitionSchedule &schedule, const std::vector<Root> &roots, const NestNeeds &needs);

}  // namespace samite::schedules
