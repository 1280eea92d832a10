// Applies a schedule's directives to an algorithm, one after another, and checks the result.
#pragma once

#include "samite/schedule/directives.h"
#include "samite/schedule/forms.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace samite::schedules {

using DirectiveKind = ir::Directive::Kind;

// UserError from all of these, with the directive's line. Sources: scheduler.cpp places Funcs, scheduler_loops.cpp
// makes loops, scheduler_checks.cpp checks places and memory, scheduler_order.cpp whether iterations may run in that
// order.
class Scheduler {
 public:
  explicit Scheduler(const Algorithm &algorithm);

  // The directive of this number.
  void apply(const ir::Directive &directive, std::size_t number);

  const DefinitionSchedule &loops(std::uint32_t f, std::uint32_t definition) const;

  Place::Level level(std::uint32_t f) const { return made_[f].compute.level; }

  std::vector<FunctionSchedule> finish();

 private:
  static FunctionSchedule unscheduled(const Function &function);

  FunctionSchedule &of(const ir::Directive &directive) { return made_[directive.func]; }
  DefinitionSchedule &of_definition(const ir::Directive &directive);
  std::string described(const ir::Directive &directive) const;

  void specialize(const ir::Directive &directive, std::size_t number);
  void compute_with(const ir::Directive &directive);

  static std::string names_of(const std::vector<Loop> &loops);
  static std::string which_loops(const std::vector<Loop> &loops);

  std::size_t find(const ir::Directive &directive, const std::string &name);
  void must_be_new(const ir::Directive &directive, const std::string &name);

  void split(const ir::Directive &directive);

  static void replace_name(DefinitionSchedule &schedule, const std::string &from, const std::string &to);

  void fuse(const ir::Directive &directive);

  void rename(const ir::Directive &directive);

  // The innermost one first; unnamed loops keep their positions.
  void reorder(const ir::Directive &directive);

  void set_type(const ir::Directive &directive, LoopType type);

  void compute_inline(const ir::Directive &directive);

  Place at(const ir::Directive &directive) const;

  void place(const ir::Directive &directive, bool compute, const Place &place);

  int dimension(const ir::Directive &directive) const;
  int dimension_named(const ir::Directive &directive, const std::string &name) const;

  void reorder_storage(const ir::Directive &directive);

  void check(std::uint32_t f);

  // Each iteration of a serial loop has its own buffer of shared memory.
  void check_pipelined(std::uint32_t f) const;

  // Inlined functions have no loops and no memory; functions at the root are in device memory.
  void check_level(std::uint32_t f) const;

  // Directives about memory without an effect.
  void check_storage(std::uint32_t f) const;

  bool is_called(std::uint32_t f) const;

  // A function's storage is at its compute loop, or outside of it.
  void check_store(std::uint32_t f) const;

  void check_definition(std::uint32_t f, std::size_t d, DefinitionSchedule &of) const;

  // A tail may load or store beyond the extent only along a dimension in which no other function has elements there.
  void check_goes_beyond(std::uint32_t f, std::size_t d, const DefinitionSchedule &of, const Relation &split) const;
  static bool rounds_up(const DefinitionSchedule &of, const std::string &root);

  // An element gets the same value again if each of its values is computed from values that the update does not change,
  // or that an earlier iteration has stored.
  bool may_be_done_twice(std::uint32_t f, std::size_t d, const DefinitionSchedule &of, const Relation &split) const;

  // Whether the pieces run in order: otherwise one may read an element that another one is storing.
  static bool in_order(const DefinitionSchedule &of, const Relation &split);
  // Whether different threads, tasks or lanes may compute an element that two pieces have.
  static bool at_the_same_time(const DefinitionSchedule &of, const Relation &split);

  // The dimension indexed by the variable.
  static std::optional<std::size_t> place_of(const Definition &definition, const ReductionVariable &reduction);

  // Whether a load reads an element that the update never stores: in one dimension it has another number.
  static bool stays(const Definition &definition, const Forms &forms, const ir::Operation &load);

  // Whether a load reads an element that an earlier iteration of the reduction has stored, or that none has: each of
  // the reduction's variables is an index, so that one iteration stores an element, and the outermost one that differs
  // is less.
  static bool is_earlier(const Definition &definition, const Forms &forms, const ir::Operation &load);

  // An update other than a sum, minimum or maximum runs its reductions in order: only reductions with several
  // iterations at an element matter.
  void check_order(std::uint32_t f, std::size_t d, const DefinitionSchedule &of) const;

  // Whether each value is the sum, minimum or maximum of the element and an operand that does not depend on the Func.
  bool in_any_order(std::uint32_t f, std::size_t d) const;

  // If a reduction variable is itself an index, its different values select different elements.
  bool races(const Definition &definition, std::size_t reduction, std::uint32_t f) const;

  void check_nesting(const Function &function, const DefinitionSchedule &schedule) const;

  void check_place(std::uint32_t f, const Place &place, const char *what) const;

  const Algorithm &algorithm_;
  std::vector<FunctionSchedule> made_;
  std::set<std::uint32_t> stored_;  // with a given place in memory
  // By function: the first directive about its loops, or about its memory.
  std::map<std::uint32_t, ir::Directive> said_;
  // By function and kind: the last directive about its memory.
  std::map<std::pair<std::uint32_t, DirectiveKind>, SourceLocation> storage_said_;
  // By the number of its directive: the path of specializations.
  std::map<std::size_t, std::vector<std::size_t>> specializations_;
};

}  // namespace samite::schedules
