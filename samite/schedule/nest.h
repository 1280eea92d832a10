// The loops of one definition, as its schedule makes them from its variables.
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
  passes::Affine extent;  // may name loops outside of this one, where the last piece of a split is shorter
  SourceLocation where;
};

struct Nest {
  std::vector<NestLoop> loops;                      // the outermost first
  std::map<ir::LocalId, passes::Affine> variables;  // each variable of the definition, in symbols of the loops
  std::map<ir::LocalId, passes::Interval> ranges;   // where each lies as a whole
  std::vector<std::pair<passes::Affine, passes::Affine>> guards;  // the first is to be below the second
  std::vector<std::pair<passes::Affine, passes::Affine>> ends;    // the same, also where loops end early for that
  std::set<ir::LocalId> guarded;                                  // the variables that they are about
  std::vector<std::pair<passes::Affine, passes::Affine>> shared;  // of the guards, those of loops that are shared
  // The same, where the values are computed all the same, and only stored where the first is below the second.
  std::vector<std::pair<passes::Affine, passes::Affine>> store_guards;
  // The same, where elements are stored all the same, and only loaded for where the first is below the second.
  std::vector<std::pair<passes::Affine, passes::Affine>> load_guards;
  std::map<ir::LocalId, passes::Affine> asked;  // of variables in those: how many elements have been asked for
  std::map<ir::LocalId, passes::Affine>
      loaded;  // how many elements are loaded for, where these are not all in `ranges`
  // Splits whose last piece may be shorter, by the number of the piece: 'outer' is to be below `whole`.
  struct Piece {
    std::size_t relation;
    passes::Affine outer, whole;
  };
  std::vector<Piece> pieces;
  // Loops that are one: how many iterations each of the two has, and the index of the one.
  struct Fused {
    std::size_t relation;
    passes::Affine outer, inner, index;
  };
  std::vector<Fused> fused;
};

// A variable of a definition: its local, and where it begins and how far it goes.
struct Root {
  std::string name;
  ir::LocalId variable;
  passes::Affine begin, extent;
  std::int64_t multiple = 1;  // the extent is one of this, also where its form does not show it
};

// What the nest needs of its surroundings.
struct NestNeeds {
  std::function<passes::Symbol()> new_symbol;
  std::function<passes::Affine(Derived)> derived;  // a symbol for it
  passes::RangeOfSymbol range;                     // of symbols outside
  std::set<std::size_t> whole_pieces;              // splits, by their relation, all of whose pieces are whole
};

// What the extent of a loop is to be a multiple of, so that all pieces of splits that round up are whole: of the loop
// that has this name at first.
std::int64_t rounded_to(const DefinitionSchedule &schedule, const std::string &loop);
// Whether one of the splits of this loop, which leave its pieces to be split again, has this tail.
bool has_tail(const DefinitionSchedule &schedule, const std::string &loop, ir::Tail tail);
// The multiple of iterations that are computed, though not stored (Tail::predicate_stores).
std::int64_t computed_to(const DefinitionSchedule &schedule, const std::string &loop);

Nest nest_of(const DefinitionSchedule &schedule, const std::vector<Root> &roots, const NestNeeds &needs);

}  // namespace samite::schedules
