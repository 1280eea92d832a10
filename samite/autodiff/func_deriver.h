// Derives the adjoint of a pipeline: internal to autodiff/pipeline_adjoint.h.
#pragma once

#include "samite/autodiff/func_inverse.h"
#include "samite/autodiff/pipeline_adjoint.h"
#include "samite/autodiff/pipeline_writer.h"

#include <functional>
#include <set>

namespace samite::autodiff {

class FuncDeriver {
 public:
  FuncDeriver(const ir::CapturedPipeline &captured, const std::vector<bool> &active);

  PipelineAdjoint run();

 private:
  using Value = ir::Value;
  using Handle = PipelineWriter::Handle;
  using Variables = std::map<ir::LocalId, Value>;  // values of a definition's variables
  using Box = std::vector<passes::Interval>;

  // A definition that has been computed for some values of its variables.
  struct Computed {
    Variables variables;
    std::unordered_map<ir::LocalId, Value> values;
    std::vector<Value> indices, results;
    std::optional<Value> predicate;
    Value operator()(const Value &of) const;
  };
  // The value of a definition's own Func that it reads: the read, and its indices now.
  using OwnValue = std::function<Value(const Computed &, const ir::Operation &, const std::vector<Value> &)>;
  // The gradients of a definition's values, if they have one.
  using Cotangents = std::vector<std::optional<Value>>;

  // A definition through which gradients go.
  struct Step {
    std::uint32_t function;
    std::size_t number;
    const schedules::Definition &definition;
    std::function<Cotangents(const Computed &)> cotangents;
    OwnValue own;
    std::set<ir::LocalId> varied;
    std::map<ir::LocalId, passes::Interval> box;  // of its variables
  };

  // A term of a gradient. If it is no plain one, it is an update of the element at these indices, one of some elements.
  struct Term {
    enum class Kind : std::uint8_t { plain, some };
    std::vector<Value> indices;
    Value value;
    Kind kind;
    SourceLocation where;
  };
  // The gradient of an array, or of a Func's value, while its terms are collected.
  struct Target {
    std::string name;
    std::vector<Value> variables;
    ScalarType type;
    std::vector<Term> terms = {};
  };
  // The target of a read's contribution: empty if it is lost.
  using TargetOf = std::function<Target *(const ir::Operation &load)>;

  // Gradients of a Func's values, before or after one of its updates.
  using State = std::vector<std::optional<Handle>>;

  // func_forward.cpp
  Handle forward(std::uint32_t f, std::size_t definitions);
  Variables variables_in_place(const schedules::Definition &definition, const std::vector<Value> &pure);
  std::vector<PipelineWriter::Range> ranges_of(const schedules::Definition &definition);
  Computed compute(const schedules::Definition &definition, Variables variables, const OwnValue &own,
                   std::uint32_t function);
  void find_varied();
  std::set<ir::LocalId> varied_in(const schedules::Definition &definition) const;
  bool is_varied(std::uint32_t array) const;

  // func_shared.cpp
  // Gradients of values inside of a definition that several of its reads get: a Func has them, for each place of the
  // definition. `value`, by local of the definition: which of the Func's values.
  struct Shared {
    Handle func;
    std::map<ir::LocalId, std::size_t> value;
  };
  std::vector<Value> shared_values(const std::set<ir::LocalId> &reads, const std::map<ir::LocalId, Value> &gradients);
  std::optional<Shared> share(const Step &step, const std::set<ir::LocalId> &reads,
                              const std::map<ir::LocalId, Value> &gradients);
  std::size_t cost(const Value &value);
  Handle copy_of(std::uint32_t array);

  // func_terms.cpp
  // By local of the definition: its gradient.
  std::map<ir::LocalId, Value> pull_back(const Step &step, const Computed &computed);
  void distribute(const Step &step, const TargetOf &target_of);
  void add_terms(const Step &step, const ir::Let &load, Target &target, SourceLocation where);
  enum class Part : std::uint8_t { inside, below, above };
  // A way to add a read's contributions: for which part of each clamped index.
  struct Way {
    const Step &step;
    const ir::Let &load;
    const Target &target;
    const std::vector<Inverse> &inverses;
    const std::vector<Part> &parts;
    std::set<ir::LocalId> clamped;  // these variables stay where the definition is computed, which reads elements there
    SourceLocation where;
  };
  // The variables that no index gives: those of a Reduction.
  struct Left {
    std::vector<ir::LocalId> variables;
    std::vector<PipelineWriter::Range> ranges;
    std::vector<Value> now = {};  // their values: variables of the Reduction
    std::size_t reduction = 0;
  };
  void add_term(const Way &way, Target &target);
  Left left_variables(const Way &way, Variables &variables);
  std::vector<bool> constant_indices(const Way &way, const Left &left, std::vector<Value> &conditions);
  Value solved(const Way &way, const Inverse &inverse, const Variables &variables, std::vector<Value> &conditions);
  std::set<ir::LocalId> to_clamp(const Way &way, const Term &term, const Computed &computed,
                                 const std::vector<bool> &solved);
  // A term that is a sum over variables, or one such that is in the making.
  struct Sum {
    Value value;                    // of one point of the Reduction
    std::vector<Value> conditions;  // on it
    Left left;
  };
  bool can_clamp_outside(const Way &way, const std::set<ir::LocalId> &variables) const;
  Term plain_term(const Way &way, const Sum &sum, const std::set<ir::LocalId> &to_clamp, Target &target);
  Value all_of(const std::vector<Value> &conditions);
  passes::Interval range_of(const Step &step, ir::LocalId variable, SourceLocation where) const;
  std::string name_of(const schedules::Definition &definition, ir::LocalId variable) const;
  bool is_made_of(const Value &value, const std::function<bool(ir::LocalId, const ir::Operation *)> &what);
  bool reads(const Value &value);  // elements
  bool depends_on(const Value &value, ir::LocalId local);
  std::vector<Value> variables_of_array(std::uint32_t array);
  Handle make_gradient(const std::string &name, const Target &target, std::optional<std::uint32_t> output,
                       SourceLocation where);
  void add_to_array(std::uint32_t parameter, const Target &target);

  // func_regions.cpp
  void grow_region(const Step &step, const ir::Let &load);
  std::map<ir::LocalId, passes::Interval> box_of(std::uint32_t f, const schedules::Definition &definition);
  passes::Affine integer(const schedules::Definition &definition, const Value &value);
  passes::Affine derived(const schedules::Derived &what);

  // func_undo.cpp
  State undo(std::uint32_t f, std::size_t n, State after);
  Step step_of(std::uint32_t f, std::size_t n, const State &after, OwnValue own);
  // An update's effect on the gradient of its Func.
  struct Effect {
    bool accumulates = false;   // no effect: its value is the previous value plus something else
    bool reads_itself = false;  // gradients go to earlier values of the Func, or need them
  };
  Effect effect_of(const Step &step, const State &after);
  bool stores_once(const Step &step, std::vector<std::optional<Inverse>> &by_dimension) const;
  // Whether the element is one that the update stores; nothing if it stores all. Without `restricted`, the condition of
  // its Reduction is ignored.
  std::optional<Value> is_stored(const Step &step, const std::vector<Value> &point, bool restricted);
  // The gradients from after the update that remain when the update has taken those of the elements it stores.
  std::vector<Target> untouched(const Step &step, const State &after, bool restricted);
  State made(const Step &step, std::vector<Target> targets);
  State undo_each(std::uint32_t f, std::size_t n, const State &after);
  [[noreturn]] void refuse(const Step &step, const std::string &why) const;

  // func_undo_loops.cpp
  struct Backwards {
    Handle all;
    std::vector<std::optional<std::size_t>> place;  // by value of the Func: which of `all`
    State state;
  };
  Backwards declare_backwards(std::uint32_t f, const std::string &name, std::vector<Value> variables,
                              SourceLocation where);
  bool is_scan(const Step &step, const std::vector<std::optional<Inverse>> &stored) const;
  State undo_scan(std::uint32_t f, std::size_t n, const State &after,
                  const std::vector<std::optional<Inverse>> &stored);
  bool is_in_place(const Step &step) const;
  struct ScanRead {
    const ir::Let *let;
    std::vector<std::int64_t> distance;
    SourceLocation where;
  };
  // The element that an iteration of a scan's backwards loop updates.
  struct ScanElement {
    std::vector<Value> indices, iteration;  // `iteration`: that stores it, for each variable of the Reduction
  };
  ScanElement scan_element(const Step &step, const std::vector<std::optional<Inverse>> &stored,
                           const std::vector<ScanRead> &reads, const std::vector<Value> &place);
  void add_scan_read(const Step &step, const ScanRead &read, const ScanElement &element,
                     const std::vector<Value> &place, Value &sum);
  // The iterations of an update in place, by number.
  struct Iterations {
    const schedules::Definition &definition;
    std::vector<PipelineWriter::Range> ranges;
    Value count;
    std::vector<Value> own_variables, variables;  // of the Func, and of those that keep its values
    std::vector<std::size_t> dimensions;          // dimensions of the Func that have variables
  };
  Iterations iterations_of(std::uint32_t f, const schedules::Definition &definition);
  static std::vector<Value> kept_at(const Iterations &of, const Value &number, const std::vector<Value> &indices);
  Value next(const Value &number) { return write_.build()(ir::Op::Add, {number, write_.number(1)}); }
  Variables iteration(const Iterations &of, const Value &number);
  Value number_of(const Iterations &of, const Computed &computed);
  Handle keep_values(std::uint32_t f, std::size_t n, const Iterations &of, const Computed &places);
  Cotangents cotangents_at(const Iterations &of, const Backwards &backwards, const Value &number,
                           const Computed &computed);
  Backwards run_backwards(std::uint32_t f, std::size_t n, const State &after, const Iterations &of, const Handle &kept,
                          const Computed &places);
  State undo_in_place(std::uint32_t f, std::size_t n, const State &after);

  // func_deriver.cpp
  void add_parameters();
  void derive(std::uint32_t f);
  Box box_of_array(std::uint32_t f);
  void add_seed(std::uint32_t f, std::size_t value, Target &target);
  Target &target_of_array(std::uint32_t array);
  Target target_of_func(std::uint32_t f, std::size_t value);
  std::vector<Value> variables_of_func(std::uint32_t f);
  void finish_arrays();

  const schedules::Function &function(std::uint32_t f) const { return algorithm_.functions[f]; }
  std::size_t number_in(std::uint32_t f, const ir::Operation &load) const { return load.array - function(f).array; }
  bool is_own(std::uint32_t f, const ir::Operation &operation) const {
    return operation.op == ir::Op::Load && operation.array >= function(f).array &&
           operation.array < function(f).array + function(f).types.size();
  }

  const std::vector<bool> &active_;
  const std::uint32_t own_parameters_;
  schedules::Algorithm algorithm_;
  PipelineWriter write_;
  PipelineAdjoint made_;
  std::vector<std::uint32_t> gradient_;                              // by own parameter that is active
  std::set<std::uint32_t> adjoint_arrays_;                           // that represent gradients
  std::map<std::pair<std::uint32_t, std::size_t>, Handle> forward_;  // by function and number of definitions
  std::set<std::uint32_t> varied_;                                   // arrays of Funcs that depend on an active one
  std::map<std::uint32_t, Target> targets_;                          // by array of the forward pipeline
  std::vector<std::optional<Box>> regions_;                          // by function
  std::optional<Shared> shared_;                                     // of the definition that is being distributed
  // Arrays that are read in sums have Funcs, by array: a schedule can store them in another order.
  std::map<std::uint32_t, Handle> copies_;
  bool reads_copies_ = false;
};

}  // namespace samite::autodiff
