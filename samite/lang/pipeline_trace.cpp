#include "samite/lang/pipeline_trace.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/lang/capture.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace samite::lang {
namespace {

// `name`, or name_1, name_2, …, the first that is free.
template <class Taken>
std::string free_name(const std::string &name, const Taken &taken) {
  std::string candidate = name;
  for (int n = 1; taken(candidate); ++n) candidate = name + "_" + std::to_string(n);
  return candidate;
}

std::string indices_text(int count) { return std::to_string(count) + (count == 1 ? " index" : " indices"); }

// In a Func, as in its bounds, 32 bits suffice whenever they hold the number.
ir::Value narrow(ir::Value index) {
  if (!index.is_constant() || index.type() != ScalarType::Int64) return index;
  const std::int64_t number = index.as_int();
  const bool fits =
      number >= std::numeric_limits<std::int32_t>::min() && number <= std::numeric_limits<std::int32_t>::max();
  return fits ? ir::Value::constant(ScalarType::Int32, number) : index;
}

}  // namespace

PipelineTrace &PipelineTrace::current(const std::string &what, SourceLocation where) {
  Trace *trace = Trace::running();
  if (!trace || !trace->pipeline())
    throw UserError(where, what +
                               " is used outside of a pipeline's function, which is where Funcs are defined and "
                               "variables computed with; elsewhere a Var is a name alone, for schedules");
  return *trace->pipeline();
}

PipelineTrace::PipelineTrace(Trace &trace)
    : trace_(trace), own_parameters_(static_cast<std::uint32_t>(trace.parameters().size())), dependencies_(trace) {
  trace.set_pipeline(this);
}

void PipelineTrace::add_variable(const Var &variable) {
  if (std::ranges::find(variables_, variable.name(), &ir::Variable::name) != variables_.end()) return;
  variables_.push_back({variable.name(), trace_.new_variable(), variable.where()});
  variable_used_.push_back(false);
}

ir::Value PipelineTrace::variable(const Var &variable) {
  add_variable(variable);
  const auto same = std::ranges::find(variables_, variable.name(), &ir::Variable::name);
  variable_used_[static_cast<std::size_t>(same - variables_.begin())] = true;
  return ir::Value::local(ScalarType::Int32, same->local);
}

std::optional<std::uint32_t> PipelineTrace::domain_of(ir::LocalId variable) const {
  for (std::uint32_t domain = 0; domain < domains_.size(); ++domain)
    for (const auto &range : domains_[domain].ranges)
      if (range.variable.local == variable) return domain;
  return std::nullopt;
}

std::string PipelineTrace::variable_name(ir::LocalId variable) const {
  for (const ir::Variable &v : variables_)
    if (v.local == variable) return v.name;
  for (const ir::ReductionDomain &domain : domains_)
    for (const auto &range : domain.ranges)
      if (range.variable.local == variable) return range.variable.name;
  throw InternalError("a local is no variable");
}

std::string PipelineTrace::array_name(std::uint32_t array) const {
  for (std::uint32_t declaration : numbered_) {
    const Declaration &func = declarations_[declaration];
    if (array >= func.array && array < func.array + func.types.size()) return func.name;
  }
  return trace_.parameters()[array].name;
}

Dependencies::Set PipelineTrace::dependencies(const std::vector<ir::Value> &values) {
  dependencies_.follow();
  Dependencies::Set set;
  for (const ir::Value &value : values) set.add(dependencies_.of(value));
  // A variable of a domain also depends on everything that the domain's condition depends on.
  for (bool grown = true; grown;) {
    const Dependencies::Set before = set;
    for (ir::LocalId variable : before.variables) {
      auto domain = domain_of(variable);
      if (domain && domains_[*domain].predicate) set.add(dependencies_.of(*domains_[*domain].predicate));
    }
    grown = !(set == before);
  }
  return set;
}

void PipelineTrace::require_top(const std::string &what, SourceLocation where) const {
  if (!trace_.at_top())
    throw UserError(where, what +
                               " inside of an if_, a while_, a loop over range(…) or a function of returning(…): it "
                               "holds for all elements of a Func. Choose a value by select(condition, a, b), and "
                               "write a Reduction for a loop");
}

std::uint32_t PipelineTrace::add_domain(const std::vector<std::string> &names, const std::vector<ir::Value> &bounds,
                                        SourceLocation where) {
  require_top("a Reduction is made", where);
  ir::ReductionDomain domain{{}, {}, where};
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const ir::Value &bound : {bounds[2 * i], bounds[2 * i + 1]}) {
      const Dependencies::Set used = dependencies({bound});
      std::string of;
      if (!used.variables.empty()) of = "the variable '" + variable_name(*used.variables.begin()) + "'";
      if (auto func = used.arrays.lower_bound(own_parameters_); func != used.arrays.end())
        of = "the Func '" + array_name(*func) + "'";
      if (!of.empty())
        throw UserError(where, "the range of the reduction variable '" + names[i] + "' depends on " + of +
                                   ", but is the same for all elements: give the largest range, and a condition by "
                                   "where(…)");
    }
    domain.ranges.push_back(
        {{names[i], trace_.new_variable(), where}, as_it_is(bounds[2 * i], where), as_it_is(bounds[2 * i + 1], where)});
  }
  domains_.push_back(std::move(domain));
  domain_used_.push_back({});
  return static_cast<std::uint32_t>(domains_.size() - 1);
}

ir::Value PipelineTrace::as_it_is(ir::Value value, SourceLocation where) {
  if (!value.is_local() || trace_.is_variable(value.id())) return value;
  return record(ir::Op::Copy, value.type(), {value}, where);
}

void PipelineTrace::add_condition(std::uint32_t number, ir::Value condition, SourceLocation where) {
  require_top("a condition of a Reduction is given", where);
  ir::ReductionDomain &domain = domains_[number];
  if (domain_used_[number].known())
    throw UserError(where, "a condition is added to a Reduction that a definition has gone through already (" +
                               domain_used_[number].to_string() + "); give it before");
  domain.predicate = domain.predicate ? record(ir::Op::And, ScalarType::Bool, {*domain.predicate, condition}, where)
                                      : as_it_is(condition, where);
}

void PipelineTrace::set_origin(std::uint32_t array, const std::vector<ir::Value> &indices, SourceLocation where) {
  const std::string name = "'" + trace_.parameters()[array].name + "'";
  require_top("begins_at of the array " + name + " is called", where);
  if (schedule_is_open_)
    throw UserError(where, "begins_at of the array " + name +
                               " is called inside of a schedule, which says how Funcs are computed; call it before");
  const auto same = std::ranges::find(origins_, array, &ir::Origin::array);
  if (same != origins_.end())
    throw UserError(where, "begins_at of the array " + name + " is called twice, before at " + same->where.to_string() +
                               "; an array begins at one place");
  if (const auto used = origin_used_.find(array); used != origin_used_.end())
    throw UserError(where, "begins_at of the array " + name + " is called after a boundary condition of it (" +
                               used->second.to_string() + "), which took it to begin at zeros; call it before");
  ir::Origin origin{array, {}, where};
  for (const ir::Value &index : indices) {
    const Dependencies::Set used = dependencies({index});
    std::string of;
    if (!used.variables.empty()) of = "the variable '" + variable_name(*used.variables.begin()) + "'";
    if (!used.arrays.empty()) of = "elements of '" + array_name(*used.arrays.begin()) + "'";
    if (!of.empty())
      throw UserError(where, "the place where the array " + name + " begins depends on " + of +
                                 ", but has to be known before anything is computed; give numbers, or parameters of "
                                 "the pipeline");
    origin.indices.push_back(as_it_is(index, where));
  }
  origins_.push_back(std::move(origin));
}

std::vector<ir::Value> PipelineTrace::origin(std::uint32_t array, SourceLocation where) {
  const auto found = std::ranges::find(origins_, array, &ir::Origin::array);
  if (found != origins_.end()) return found->indices;
  origin_used_.emplace(array, where);
  return {};
}

// The arrays of a Func of several values begin at one place.
void PipelineTrace::check_origins() const {
  for (const Declaration &func : declarations_)
    for (std::uint32_t value = 1; func.output && value < func.types.size(); ++value) {
      const auto own = std::ranges::find(origins_, *func.output + value, &ir::Origin::array),
                 first = std::ranges::find(origins_, *func.output, &ir::Origin::array);
      if (own != origins_.end() && (first == origins_.end() || first->indices != own->indices))
        throw UserError(own->where, "the array '" + array_name(own->array) + "' of the Func '" + func.name +
                                        "' begins elsewhere than '" + array_name(*func.output) +
                                        "', the array of its first value; say begins_at of that one alone");
    }
}

ir::Value PipelineTrace::promised(ir::Value index, ir::Value low, ir::Value high, SourceLocation where) {
  if (!promises_) {
    ir::Parameter parameter;
    parameter.name = free_name("promise_clamped", [&](const std::string &candidate) {
      return std::ranges::find(trace_.parameters(), candidate, &ir::Parameter::name) != trace_.parameters().end();
    });
    parameter.type = ScalarType::Int32;
    parameter.rank = 3;
    promises_ = static_cast<std::uint32_t>(trace_.parameters().size());
    trace_.add_parameter(std::move(parameter));
  }
  return trace_.let({ir::Op::Load, ScalarType::Int32, {index, low, high}, *promises_}, where);
}

std::uint32_t PipelineTrace::declare(Declaration declaration) {
  if (!is_identifier(declaration.name))
    throw UserError(declaration.where,
                    "the Func's name '" + declaration.name + "' is not an identifier (letters, digits and _)");
  declaration.rank_where = declaration.where;
  if (declaration.output)
    for (const Declaration &other : declarations_) {
      if (!other.output) continue;
      const bool apart = *other.output + other.types.size() <= *declaration.output ||
                         *declaration.output + declaration.types.size() <= *other.output;
      if (!apart)
        throw UserError(declaration.where, "the array '" + trace_.parameters()[*declaration.output].name +
                                               "' is filled by two Funcs, the other one at " + other.where.to_string() +
                                               "; an array takes the values of one");
    }
  declarations_.push_back(std::move(declaration));
  return static_cast<std::uint32_t>(declarations_.size() - 1);
}

const PipelineTrace::Declaration &PipelineTrace::declaration(const Stage::Handle &func, SourceLocation where) const {
  if (func.serial != trace_.serial())
    throw UserError(where, "a Func of one pipeline is used in another one; define it there, too");
  return declarations_[func.func];
}

void PipelineTrace::fix_rank(Declaration &func, int rank, SourceLocation where) {
  if (func.rank != -1 && func.rank != rank)
    throw UserError(where, "the Func '" + func.name + "' is given " + indices_text(rank) + ", but has " +
                               std::to_string(func.rank) + " (" + func.rank_where.to_string() + ")");
  if (func.rank == -1) {
    func.rank = rank;
    func.rank_where = where;
  }
  if (!func.number) give_number(func);
}

void PipelineTrace::give_number(Declaration &func) {
  func.name = free_name(func.name, [&](const std::string &name) {
    return std::ranges::any_of(numbered_, [&](std::uint32_t other) { return declarations_[other].name == name; });
  });
  func.number = static_cast<std::uint32_t>(numbered_.size());
  func.array = static_cast<std::uint32_t>(trace_.parameters().size());
  for (std::size_t value = 0; value < func.types.size(); ++value) {
    const std::string name = func.types.size() == 1 ? func.name : func.name + "_" + std::to_string(value);
    ir::Parameter parameter;
    parameter.name = free_name(name, [&](const std::string &candidate) {
      return std::ranges::find(trace_.parameters(), candidate, &ir::Parameter::name) != trace_.parameters().end();
    });
    parameter.type = func.types[value];
    parameter.rank = func.rank;
    trace_.add_parameter(std::move(parameter));
  }
  numbered_.push_back(static_cast<std::uint32_t>(
      std::ranges::find(declarations_, &func, [](const Declaration &d) { return &d; }) - declarations_.begin()));
}

Access PipelineTrace::access(const Stage::Handle &handle, const AccessIndices &indices, int rank,
                             SourceLocation where) {
  declaration(handle, where);
  Declaration &func = declarations_[handle.func];
  if (func.schedule)
    throw UserError(where, "the Func '" + func.name + "' is one of a schedule's, and no part of what is computed");
  Access access{trace_.serial(), 0, indices, rank, where};
  for (ir::Value &index : access.indices) index = narrow(index);
  fix_rank(func, access.rank, where);
  access.array = func.array;
  return access;
}

void PipelineTrace::define(const Access &element, const std::vector<ir::Value> &values) {
  if (element.array < own_parameters_) {
    const std::string &name = trace_.parameters()[element.array].name;
    throw UserError(element.where, "the array '" + name +
                                       "' is stored to in a pipeline; define a Func that fills it: Func output{\"" +
                                       name + "\", " + name + "}; output(…) = …");
  }
  Declaration &func = *std::ranges::find_if(declarations_, [&](const Declaration &d) {
    return d.number && element.array >= d.array && element.array < d.array + d.types.size();
  });
  require_top("the Func '" + func.name + "' is defined", element.where);
  if (schedule_is_open_)
    throw UserError(element.where,
                    "the Func '" + func.name +
                        "' is defined inside of a schedule, which says how Funcs are computed; define it "
                        "before");
  Dependencies::Set used = dependencies(values);
  std::vector<ir::Value> indices(element.indices.begin(), element.indices.begin() + element.rank);
  for (const ir::Value &index : indices) used.add(dependencies({index}));
  if (func.definitions.empty() && !begin_as_sum(func, indices, values, element.where))
    check_first_definition(func, indices, used, element.where);
  else
    check_update(func, indices, used, element.where);

  for (ir::LocalId variable : used.variables)
    if (auto domain = domain_of(variable); domain && !domain_used_[*domain].known())
      domain_used_[*domain] = element.where;
  if (func.definitions.empty())
    for (const ir::Value &index : indices) func.variables.push_back(index.id());
  func.definitions.push_back(element.where);
  std::uint32_t array = element.array;
  for (const ir::Value &value : values) trace_.append({ir::Store{array++, indices, value}, element.where});
}

// f(i, j) += value begins with zeros if f has no definition yet, f(i, j) *= value with ones.
bool PipelineTrace::begin_as_sum(Declaration &func, const std::vector<ir::Value> &indices,
                                 const std::vector<ir::Value> &values, SourceLocation where) {
  std::vector<ir::Value> first;
  for (const ir::Value &value : values) {
    const ir::Operation *made = trace_.operation(value);
    if (!made || (made->op != ir::Op::Add && made->op != ir::Op::Sub && made->op != ir::Op::Mul)) return false;
    const ir::Operation *own = trace_.operation(made->operands[0]);
    const auto array = func.array + static_cast<std::uint32_t>(first.size());
    if (!own || own->op != ir::Op::Load || own->array != array || own->operands != indices) return false;
    first.push_back(ir::Value::constant(func.types[first.size()], made->op == ir::Op::Mul ? 1 : 0));
  }
  std::vector<ir::Value> everywhere;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const ir::Value &index = indices[d];
    const bool variable = index.is_local() && trace_.is_variable(index.id()) && !domain_of(index.id()) &&
                          std::ranges::find(everywhere, index) == everywhere.end();
    const auto taken = [&](const std::string &name) {
      return std::ranges::find(variables_, name, &ir::Variable::name) != variables_.end();
    };
    everywhere.push_back(variable ? index
                                  : this->variable(Var(free_name(func.name + "_" + std::to_string(d), taken), where)));
  }
  for (const ir::Value &index : everywhere) func.variables.push_back(index.id());
  func.definitions.push_back(where);
  for (std::size_t v = 0; v < first.size(); ++v)
    trace_.append({ir::Store{func.array + static_cast<std::uint32_t>(v), everywhere, first[v]}, where});
  return true;
}

void PipelineTrace::check_first_definition(const Declaration &func, const std::vector<ir::Value> &indices,
                                           const Dependencies::Set &used, SourceLocation where) const {
  const std::string first = "the first definition of the Func '" + func.name + "'";
  for (auto index = indices.begin(); index != indices.end(); ++index) {
    const bool variable = index->is_local() && trace_.is_variable(index->id()) && !domain_of(index->id());
    const auto given = std::find(indices.begin(), index, *index);
    if (variable && given == index) continue;
    const std::string number = std::to_string(index - indices.begin());
    const std::string problem = variable ? "index " + number + " is '" + variable_name(index->id()) + "', as index " +
                                               std::to_string(given - indices.begin()) + " is"
                                         : "index " + number + " is no Var";
    throw UserError(where, first + " gives its value for all indices, which are different Vars there, and " + problem +
                               ": give initial values first, such as " + func.name +
                               "(y, x) = 0, and update elements behind");
  }
  for (ir::LocalId variable : used.variables) {
    if (domain_of(variable))
      throw UserError(where, first + " goes through a Reduction, by its variable '" + variable_name(variable) +
                                 "': give initial values first, and reduce in an update such as " + func.name +
                                 "(…) += …");
    if (std::ranges::none_of(indices, [&](const ir::Value &index) { return index.id() == variable; }))
      throw UserError(
          where, first + " depends on the variable '" + variable_name(variable) + "', which is none of its indices");
  }
  for (std::size_t value = 0; value < func.types.size(); ++value)
    if (used.arrays.contains(func.array + static_cast<std::uint32_t>(value)))
      throw UserError(where, first + " reads the Func itself, which has no values yet: give initial values first");
}

void PipelineTrace::check_update(const Declaration &func, const std::vector<ir::Value> &indices,
                                 const Dependencies::Set &used, SourceLocation where) const {
  for (ir::LocalId variable : used.variables) {
    if (domain_of(variable)) continue;
    bool in_place = false;
    for (std::size_t i = 0; i < indices.size(); ++i)
      in_place |= indices[i].is_local() && indices[i].id() == variable && func.variables[i] == variable;
    if (in_place) continue;
    std::string first;
    for (ir::LocalId index : func.variables) first += (first.empty() ? "" : ", ") + variable_name(index);
    throw UserError(
        where, "an update of the Func '" + func.name + "' depends on the variable '" + variable_name(variable) +
                   "', but not as the index that it is in the first definition, " + func.name + "(" + first + ") (" +
                   func.definitions.front().to_string() + "): it would have no range; use it there, or a Reduction");
  }
}

void PipelineTrace::schedule(ir::CapturedSchedule schedule, FunctionRef<void()> directives) {
  const std::string what = "the schedule '" + schedule.name + "'";
  require_top(what + " is", schedule.where);
  if (schedule_is_open_)
    throw UserError(schedule.where, what + " is inside of the schedule '" + schedules_.back().name + "' (" +
                                        schedules_.back().where.to_string() + "); write one behind the other");
  for (const ir::CapturedSchedule &other : schedules_)
    if (other.name == schedule.name)
      throw UserError(schedule.where, what + " is given twice, before at " + other.where.to_string() +
                                          "; a pipeline has one of a name");
  schedules_.push_back(std::move(schedule));
  schedule_is_open_ = true;
  directives();
  schedule_is_open_ = false;
}

ir::CapturedSchedule &PipelineTrace::open_schedule(const std::string &what, SourceLocation where) {
  if (!schedule_is_open_)
    throw UserError(where, what +
                               " is called outside of a schedule; call it inside of schedule_cpu([&] { … }), "
                               "schedule_cuda([&] { … }) or schedule(\"name\", [&] { … })");
  require_top(what + " is called", where);
  return schedules_.back();
}

std::uint32_t PipelineTrace::scheduled(const Stage::Handle &handle, const std::string &what,
                                       SourceLocation where) const {
  const Declaration &func = declaration(handle, where);
  if (func.definitions.empty())
    throw UserError(where, what + " of the Func '" + func.name +
                               "', which has no definition so far; define Funcs before they are scheduled");
  if (func.schedule && *func.schedule != schedules_.size() - 1)
    throw UserError(where, what + " of the Func '" + func.name + "', which the schedule '" +
                               schedules_[*func.schedule].name + "' alone has; make one in this schedule, too");
  return *func.number;
}

Stage::Handle PipelineTrace::make_for_schedule(Declaration func, std::size_t definitions) {
  func.definitions.assign(definitions, func.where);
  func.schedule = schedules_.size() - 1;
  declarations_.push_back(std::move(func));
  give_number(declarations_.back());
  return {trace_.serial(), static_cast<std::uint32_t>(declarations_.size() - 1)};
}

ir::CapturedPipeline PipelineTrace::finish(std::string name) {
  for (const Declaration &func : declarations_)
    if (func.output && func.definitions.empty())
      throw UserError(func.where, "the Func '" + func.name + "' fills the array '" +
                                      trace_.parameters()[*func.output].name + "', but has no definition");
  check_origins();
  ir::CapturedPipeline pipeline{
      trace_.finish(std::move(name)), own_parameters_, {}, domains_, {}, schedules_, origins_, promises_};
  for (std::size_t v = 0; v < variables_.size(); ++v)
    if (variable_used_[v]) pipeline.variables.push_back(variables_[v]);
  std::set<std::uint32_t> read;
  ir::for_each_statement(pipeline.algorithm.body, [&](const ir::Stmt &stmt) {
    const auto array = ir::array_read(stmt);
    if (!array || *array >= own_parameters_) return;
    read.insert(*array);
    for (const Declaration &func : declarations_)
      if (func.output && *array >= *func.output && *array < *func.output + func.types.size())
        throw UserError(stmt.where(), "the array '" + array_name(*array) +
                                          "' is read in the pipeline that fills it; "
                                          "call the Func '" +
                                          func.name + "' instead (" + func.where.to_string() + ")");
  });
  for (std::uint32_t array = 0; array < own_parameters_; ++array) {
    const ir::Parameter &parameter = pipeline.algorithm.parameters[array];
    const bool filled = std::ranges::any_of(declarations_, [&](const Declaration &func) {
      return func.output && array >= *func.output && array < *func.output + func.types.size();
    });
    if (parameter.rank != 0 && !parameter.read_only && !filled && !read.contains(array))
      throw UserError(pipeline.algorithm.where,
                      "pipeline '" + pipeline.algorithm.name + "': no Func fills the array '" + parameter.name +
                          "', nor reads it; to fill it, write Func result{\"result\", " + parameter.name +
                          "}; an array that is only read is declared Array<const T, Rank>");
  }
  for (std::uint32_t number : numbered_) {
    const Declaration &func = declarations_[number];
    pipeline.funcs.push_back({func.name, func.types, func.array, func.rank, func.output, func.inline_reduction,
                              func.schedule.has_value(), func.where});
  }
  return pipeline;
}

ir::CapturedPipeline run_pipeline_capture(std::string name, std::vector<ir::Parameter> parameters,
                                          FunctionRef<void(std::uint32_t)> function, SourceLocation where) {
  Trace trace(0, std::move(parameters), where);
  PipelineTrace pipeline(trace);
  function(trace.serial());
  return pipeline.finish(std::move(name));
}

}  // namespace samite::lang
