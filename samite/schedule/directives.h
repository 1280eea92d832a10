// A schedule in the form that lowering uses: the loops of each definition, and where each function is computed and
// stored. Built from the user's directives, which are checked here against the algorithm.
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
  SourceLocation where;  // of the directive that set its type
  bool copied = false;   // from the specialized definition: directives on the copy may change the type
};

// How one loop variable is composed of others.
struct Relation {
  enum class Kind : std::uint8_t {
    split,   // whole = outer * factor + inner
    fuse,    // whole runs through all pairs of outer and inner, the inner one faster
    rename,  // whole is outer
  } kind;
  std::string whole, outer, inner;
  std::int64_t factor = 1;
  ir::Tail tail = ir::Tail::automatic;
  SourceLocation where;
};

// The definition whose loops another one shares, from the outermost one to `loop`.
struct Leader {
  std::uint32_t function = 0;
  std::size_t definition = 0;
  std::string loop{};
  SourceLocation where{};
  std::size_t loops = 0;  // the number of shared loops
};

struct DefinitionSchedule {
  // The variable of each dimension that has a loop, then the variables of the reduction: the original names of the
  // loops.
  std::vector<std::string> roots;
  std::vector<Relation> relations;  // in order: each is about loops that exist after the previous ones
  std::vector<Loop> loops;          // outermost first
  bool atomic = false;
  bool unordered = false;  // the user promises that no two iterations change one element
  // A loop of an atomic update whose concurrent iterations, as threads or lanes, may update one element.
  std::optional<Loop> meeting;
  int stages = 1;  // of prefetched loads
  SourceLocation stages_where = {};
  std::optional<Leader> leader;
  // Copies for conditions in Algorithm::conditions; the first one whose condition holds is used.
  std::vector<DefinitionSchedule> specializations;
  std::size_t condition = 0;  // of a copy

  const Loop *loop(const std::string &name) const;
  // The loop, which may have been split or fused, and all loops it was made from.
  std::set<std::string> made_of(const std::string &loop) const;
};

struct Place {
  enum class Level : std::uint8_t {
    inlined,    // by substitution in its callers
    innermost,  // inside all loops of each definition that calls it
    at,         // inside the loop `loop` of `function`
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
  std::vector<int> storage_order;                               // dimensions, innermost first
  std::map<int, std::int64_t> pads, folds;                      // by dimension
  std::map<int, std::pair<std::int64_t, std::int64_t>> bounds;  // begin, extent
  std::map<int, std::int64_t> alignments;
  std::vector<DefinitionSchedule> definitions;
};

// Whether a directive splits, orders or marks loops.
bool is_about_loops(ir::Directive::Kind kind);

// The loops that the directives make of one definition, even if the directives are not valid.
DefinitionSchedule loops_of(const Algorithm &algorithm, const std::vector<ir::Directive> &directives,
                            std::uint32_t function, std::uint32_t definition);

// The schedules by function. A function that no directive places is inlined if possible, or else computed at the root.
// A definition at the root without directives about its loops runs in parallel: as vectors, or with a thread for each
// element. A loop of it in which something is computed or stored is serial, and so are all loops around it. The
// algorithm must have the functions of the schedule (schedule/functions_of_schedule.h).
std::vector<FunctionSchedule> scheduled(const Algorithm &algorithm, const std::vector<ir::Directive> &directives,
                                        bool gpu);

// The schedule if the user gives none: functions that are cheap with everything inlined into them, or are called once
// for each element, are inlined; all others are computed at the root.
std::vector<FunctionSchedule> default_schedule(const Algorithm &algorithm, bool gpu);

}  // namespace samite::schedules
