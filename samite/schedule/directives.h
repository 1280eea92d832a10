// A schedule in the form that lowering uses: the loops of each definition, and for each function where it is computed
// and stored. Built from the user's directives, which are checked here against the algorithm.
#pragma once

#include "samite/schedule/algorithm.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace samite::schedules {

enum class LoopType : std::uint8_t { serial, unrolled, vectorized, parallel, gpu_block, gpu_thread };
// For messages: "vectorized".
const char *adjective_of(LoopType type);

struct Loop {
  std::string name;
  LoopType type = LoopType::serial;
  SourceLocation where;  // of the directive that made it what it is
  bool copied = false;   // from the definition that is specialized: a copy's directives may say another type
};

// How a loop's variable is made of others, or others of it.
struct Relation {
  enum class Kind : std::uint8_t {
    split,   // whole = outer * factor + inner
    fuse,    // whole goes through all pairs of outer and inner, the inner one faster
    rename,  // whole is outer
  } kind;
  std::string whole, outer, inner;
  std::int64_t factor = 1;
  ir::Tail tail = ir::Tail::automatic;
  SourceLocation where;
};

// The definition with which another one shares its loops from the outermost one to `loop`.
struct Leader {
  std::uint32_t function = 0;
  std::size_t definition = 0;
  std::string loop{};
  SourceLocation where{};
  std::size_t loops = 0;  // how many that are
};

struct DefinitionSchedule {
  // By dimension its variable, where it has a loop, then the variables of the reduction: as the loops are named at
  // first.
  std::vector<std::string> roots;
  std::vector<Relation> relations;  // in order: each is about loops that those before it have left
  std::vector<Loop> loops;          // the outermost first
  bool atomic = false;
  bool unordered = false;  // no two iterations change one element, as the user says
  // A loop of an atomic update some of whose iterations, threads or lanes, update one element at the same time.
  std::optional<Loop> meeting;
  int stages = 1;  // of loads ahead
  SourceLocation stages_where = {};
  std::optional<Leader> leader;
  // Copies for where a condition holds, which Algorithm::conditions has; the first one whose condition holds is used.
  std::vector<DefinitionSchedule> specializations;
  std::size_t condition = 0;  // of a copy

  const Loop *loop(const std::string &name) const;
  // The loop, or one that there was, and all those that it is made of.
  std::set<std::string> made_of(const std::string &loop) const;
};

struct Place {
  enum class Level : std::uint8_t {
    inlined,    // where it is called, by substitution
    innermost,  // inside of all loops of each definition that calls it
    at,         // in the loop `loop` of `function`
    root,
  } level = Level::root;
  std::uint32_t function = 0;
  std::string loop{};
  SourceLocation where{};

  friend bool operator==(const Place &a, const Place &b) {
    return a.level == b.level && (a.level != Level::at || (a.function == b.function && a.loop == b.loop));
  }
};

struct FunctionSchedule {
  Place compute, store;
  std::optional<ir::MemorySpace> space;  // registers, instance (a thread's local memory), shared, device; else chosen
  SourceLocation space_where;
  std::vector<int> storage_order;                               // dimensions, the innermost first
  std::map<int, std::int64_t> pads, folds;                      // by dimension
  std::map<int, std::pair<std::int64_t, std::int64_t>> bounds;  // begin, extent
  std::map<int, std::int64_t> alignments;
  std::vector<DefinitionSchedule> definitions;
};

// Whether a directive splits, orders or marks loops.
bool is_about_loops(ir::Directive::Kind kind);

// What the directives make of the loops of one definition, whatever is to be said against that.
DefinitionSchedule loops_of(const Algorithm &algorithm, const std::vector<ir::Directive> &directives,
                            std::uint32_t function, std::uint32_t definition);

// By function. A function that no directive places is inlined where that is possible, or else computed at the root. A
// definition at the root about whose loops nothing is said runs in parallel: as vectors, or as a thread an element. A
// loop of it where something is computed or kept is serial, with all that are around it.
// The algorithm has the functions of the schedule (schedule/functions_of_schedule.h).
std::vector<FunctionSchedule> scheduled(const Algorithm &algorithm, const std::vector<ir::Directive> &directives,
                                        bool gpu);

// What runs where the user has given no schedule: functions that are cheap with all that is inlined into them, or
// called once for an element, are inlined, and all others computed at the root.
std::vector<FunctionSchedule> default_schedule(const Algorithm &algorithm, bool gpu);

}  // namespace samite::schedules
