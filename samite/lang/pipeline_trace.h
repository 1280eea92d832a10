// The recorder behind Funcs: it holds the state of a pipeline's capture beyond the statements of its trace.
//
// A Func is declared first. It gets its number, and its arrays after the pipeline's own parameters, when it is first
// called or defined; an unused declaration leaves no trace.
#pragma once

#include "samite/ir/func.h"
#include "samite/lang/array.h"
#include "samite/lang/schedule.h"
#include "samite/lang/trace.h"
#include "samite/lang/variables_of.h"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace samite::lang {

class PipelineTrace {
 public:
  struct Declaration {
    std::string name;
    std::vector<ScalarType> types;
    SourceLocation where;
    std::optional<std::uint32_t> output{};
    int rank = -1;
    bool inline_reduction = false;

    // Line of the first call, or of the naming of the array that it fills.
    SourceLocation rank_where{};
    std::optional<std::uint32_t> number{};  // among the Funcs of the captured pipeline
    std::uint32_t array = 0;
    std::vector<ir::LocalId> variables{};       // of the first definition
    std::vector<SourceLocation> definitions{};  // in order
    std::optional<std::size_t> schedule{};      // the only one that has it, if a directive has made it
  };

  // The pipeline of the running capture. UserError if there is none; `what` names an object or operation that only
  // pipelines have.
  static PipelineTrace &current(const std::string &what, SourceLocation where);

  // `trace` has the pipeline's own parameters.
  explicit PipelineTrace(Trace &trace);
  ~PipelineTrace() { trace_.set_pipeline(nullptr); }
  PipelineTrace(const PipelineTrace &) = delete;
  PipelineTrace &operator=(const PipelineTrace &) = delete;

  Trace &trace() { return trace_; }

  // Variables are numbered in the order in which they are made, and belong to the pipeline in which they are used.
  void add_variable(const Var &variable);
  ir::Value variable(const Var &variable);

  // Alternating begins and extents.
  std::uint32_t add_domain(const std::vector<std::string> &names, const std::vector<ir::Value> &bounds,
                           SourceLocation where);
  void add_condition(std::uint32_t domain, ir::Value condition, SourceLocation where);
  const ir::ReductionDomain &domain(std::uint32_t number) const { return domains_[number]; }
  // The dependencies of values, and of the conditions of all domains whose variables are among them.
  Dependencies::Set dependencies(const std::vector<ir::Value> &values);
  std::optional<std::uint32_t> domain_of(ir::LocalId variable) const;
  std::string variable_name(ir::LocalId variable) const;
  // A local with the value's current contents, which no later assignment changes.
  ir::Value as_it_is(ir::Value value, SourceLocation where);
  // UserError if a loop or a branch is open.
  void require_top(const std::string &what, SourceLocation where) const;

  // Sets the indices of an array's first element. UserError if they depend on variables or elements, if the array has
  // such indices already, or if a boundary condition has assumed that it begins at zeros.
  void set_origin(std::uint32_t array, const std::vector<ir::Value> &indices, SourceLocation where);
  // Those indices, or none if they are zeros. They are fixed from here on, because a boundary condition uses them.
  std::vector<ir::Value> origin(std::uint32_t array, SourceLocation where);
  // `index`, which the user promises to be between `low` and `high`.
  ir::Value promised(ir::Value index, ir::Value low, ir::Value high, SourceLocation where);

  std::uint32_t declare(Declaration declaration);
  // UserError if the Func belongs to another pipeline.
  const Declaration &declaration(const Stage::Handle &func, SourceLocation where) const;

  // An element of the Func's first value.
  Access access(const Stage::Handle &func, const AccessIndices &indices, int rank, SourceLocation where);
  // Defines all values, the first at `element`. UserError if it is an element of an array, or cannot be defined in this
  // way.
  void define(const Access &element, const std::vector<ir::Value> &values);

  // Runs `directives` with this schedule open.
  void schedule(ir::CapturedSchedule schedule, FunctionRef<void()> directives);
  // The open schedule; UserError if there is none. `what` is a scheduling function.
  ir::CapturedSchedule &open_schedule(const std::string &what, SourceLocation where);
  // The number of a Func that a schedule may name; UserError if the Func has no definition.
  std::uint32_t scheduled(const Stage::Handle &func, const std::string &what, SourceLocation where) const;
  // A Func that the open schedule adds to those of the algorithm.
  Stage::Handle make_for_schedule(Declaration declaration, std::size_t definitions);
  // The Func of this number.
  Stage::Handle handle_of(std::uint32_t number) const { return {trace_.serial(), numbered_[number]}; }

  // Ends the capture; throws as Trace::finish does.
  ir::CapturedPipeline finish(std::string name);

 private:
  void give_number(Declaration &func);
  void fix_rank(Declaration &func, int rank, SourceLocation where);
  bool begin_as_sum(Declaration &func, const std::vector<ir::Value> &indices, const std::vector<ir::Value> &values,
                    SourceLocation where);
  void check_first_definition(const Declaration &func, const std::vector<ir::Value> &indices,
                              const Dependencies::Set &used, SourceLocation where) const;
  void check_update(const Declaration &func, const std::vector<ir::Value> &indices, const Dependencies::Set &used,
                    SourceLocation where) const;
  std::string array_name(std::uint32_t array) const;
  void check_origins() const;

  Trace &trace_;
  std::uint32_t own_parameters_;
  Dependencies dependencies_;
  std::vector<ir::Variable> variables_;
  std::vector<bool> variable_used_;
  std::vector<ir::ReductionDomain> domains_;
  std::vector<SourceLocation> domain_used_;  // by which definition first
  std::deque<Declaration> declarations_;
  std::vector<std::uint32_t> numbered_;  // declarations, by number
  std::vector<ir::CapturedSchedule> schedules_;
  bool schedule_is_open_ = false;
  std::vector<ir::Origin> origins_;
  std::map<std::uint32_t, SourceLocation> origin_used_;  // by array: the boundary condition that used its origin
  std::optional<std::uint32_t> promises_;                // the parameter that represents promises
};

}  // namespace samite::lang
