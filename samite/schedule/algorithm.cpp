#include "samite/schedule/algorithm.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/simplify.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace samite::schedules {
namespace {

using namespace ir;

// One definition in the trace: the stores of all values of a Func.
struct Stores {
  std::uint32_t func;
  std::vector<const Store *> stores;
  std::size_t end;  // statements of the trace before the first of them
  SourceLocation where;
};

class Reader {
 public:
  explicit Reader(const CapturedPipeline &captured) : captured_(captured), trace_(captured.algorithm) {
    for (std::size_t i = 0; i < captured.variables.size(); ++i)
      variable_of_[captured.variables[i].local] = static_cast<std::uint32_t>(i);
    for (std::size_t d = 0; d < captured.domains.size(); ++d)
      for (const ReductionDomain::Range &range : captured.domains[d].ranges) {
        domain_of_[range.variable.local] = d;
        if (!variable_of_.contains(range.variable.local)) {
          variable_of_[range.variable.local] = static_cast<std::uint32_t>(captured.variables.size() + more_.size());
          more_.push_back(range.variable);
        }
      }
    made_.local_count = trace_.local_count;
  }

  Algorithm read() {
    made_.name = trace_.name;
    made_.where = trace_.where;
    made_.parameters.assign(trace_.parameters.begin(), trace_.parameters.begin() + captured_.parameters);
    for (const Func &func : captured_.funcs)
      made_.functions.push_back(
          {func.name, func.types, func.array, func.output, func.inline_reduction, {}, func.where});
    made_.promises = captured_.promises;
    for (const Origin &origin : captured_.origins) {
      Computed computed = fresh(origin.indices, trace_.body.size(), origin.where);
      made_.origins.insert_or_assign(origin.array, ArrayOrigin{std::move(computed.body), std::move(computed.values)});
    }
    for (const Stores &definition : definitions()) define(definition);
    for (std::size_t f = 0; f < captured_.funcs.size(); ++f)
      if (captured_.funcs[f].of_schedule) made_.functions[f].definitions.push_back(zeros(captured_.funcs[f]));
    for (const Function &function : made_.functions)
      if (function.definitions.empty())
        throw UserError(function.where, fmt::format("Func '{0}' is called and has no definition; define it first: "
                                                    "{0}(x) = …",
                                                    function.name));
    put_in_order(made_);
    return std::move(made_);
  }

  Condition condition(Algorithm &algorithm, const Value &value, SourceLocation where) {
    made_.local_count = algorithm.local_count;
    Computed computed = fresh({value}, trace_.body.size(), where);
    algorithm.local_count = made_.local_count;
    for (const Stmt &stmt : computed.body)
      if (stmt.as<Let>()->value.op == Op::Load)
        throw UserError(where,
                        "the condition of a specialization reads an array, and chooses between loops before they "
                        "run; ask for parameters and extents");
    return {std::move(computed.body), computed.values[0]};
  }

 private:
  std::size_t variable_count() const { return captured_.variables.size() + more_.size(); }
  const Variable &variable(std::uint32_t number) const {
    return number < captured_.variables.size() ? captured_.variables[number]
                                               : more_[number - captured_.variables.size()];
  }

  std::optional<std::uint32_t> func_of(std::uint32_t array) const {
    for (std::uint32_t f = 0; f < captured_.funcs.size(); ++f) {
      const Func &func = captured_.funcs[f];
      if (array >= func.array && array < func.array + func.types.size()) return f;
    }
    return std::nullopt;
  }

  std::vector<Stores> definitions() const {
    std::vector<Stores> found;
    for (std::size_t i = 0; i < trace_.body.size(); ++i) {
      const Stmt &stmt = trace_.body[i];
      if (stmt.as<Let>() || stmt.as<Assign>()) continue;
      const Store *store = stmt.as<Store>();
      if (!store)
        throw UserError(stmt.where(),
                        "a statement that is no definition of a Func stands in a pipeline; write select(condition, a, "
                        "b) for a branch and a Reduction for a loop");
      const auto func = func_of(store->array);
      if (!func) throw UserError(stmt.where(), "a pipeline stores to an array; define a Func that fills it");
      const std::uint32_t value = store->array - captured_.funcs[*func].array;
      if (value == 0)
        found.push_back({*func, {store}, i, stmt.where()});
      else
        found.back().stores.push_back(store);
    }
    return found;
  }

  // Statements of the trace before `end` on which the values may depend, in order: a local that is assigned depends on
  // all of its earlier values.
  std::vector<const Stmt *> leading_to(const std::vector<Value> &values, std::size_t end) const {
    std::unordered_set<LocalId> read;
    const auto add = [&](const Value &value) {
      if (value.is_local()) read.insert(value.id());
    };
    for (const Value &value : values) add(value);
    std::vector<const Stmt *> found;
    for (std::size_t i = end; i-- > 0;) {
      const Stmt &stmt = trace_.body[i];
      const Let *let = stmt.as<Let>();
      const Assign *assign = stmt.as<Assign>();
      if ((!let && !assign) || !read.contains(let ? let->local : assign->local)) continue;
      found.push_back(&stmt);
      for_each_operand(stmt, add);
    }
    std::ranges::reverse(found);
    return found;
  }

  // The kernel that computes what these values need, from the start of the trace to `end`, in structured form: its last
  // statements store them. Variables are temporarily parameters.
  Block computed(const std::vector<Value> &values, std::size_t end, SourceLocation where) const {
    Kernel kernel;
    kernel.name = trace_.name;
    kernel.parameters = trace_.parameters;
    const auto first_variable = static_cast<std::uint32_t>(kernel.parameters.size());
    for (std::uint32_t i = 0; i < variable_count(); ++i)
      kernel.parameters.push_back({"v" + std::to_string(i), ScalarType::Int32});
    kernel.local_count = trace_.local_count;
    const auto with_parameters = [&](const Value &value) {
      const auto found = value.is_local() ? variable_of_.find(value.id()) : variable_of_.end();
      return found == variable_of_.end() ? value : Value::parameter(ScalarType::Int32, first_variable + found->second);
    };
    for (const Stmt *stmt : leading_to(values, end)) kernel.body.push_back(map_operands(*stmt, with_parameters));
    for (const Value &value : values) {
      Parameter result{"r", value.type().element(), 1};
      const auto number = static_cast<std::uint32_t>(kernel.parameters.size());
      kernel.parameters.push_back(result);
      kernel.body.push_back(
          map_operands(Stmt(Store{number, {Value::constant(ScalarType::Int32, 0)}, value}, where), with_parameters));
    }
    return passes::simplify(passes::promote(kernel)).body;
  }

  // The same with locals that are unique in the algorithm.
  struct Computed {
    Block body;
    std::vector<Value> values;
  };
  Computed fresh(const std::vector<Value> &values, std::size_t end, SourceLocation where) {
    const auto first_variable = static_cast<std::uint32_t>(trace_.parameters.size());
    std::unordered_map<LocalId, LocalId> renamed;
    const auto rename = [&](const Value &value) {
      if (value.is_local()) return Value::local(value.type(), renamed.at(value.id()));
      if (value.kind() == Value::Kind::Parameter && value.parameter_index() >= first_variable)
        return Value::local(ScalarType::Int32, variable(value.parameter_index() - first_variable).local);
      return value;
    };
    Computed result;
    for (const Stmt &stmt : computed(values, end, where)) {
      if (const Let *let = stmt.as<Let>()) {
        Operation operation = let->value;
        for (Value &operand : operation.operands) operand = rename(operand);
        renamed[let->local] = made_.local_count;
        result.body.emplace_back(Let{made_.local_count++, std::move(operation)}, stmt.where());
      } else if (const Store *store = stmt.as<Store>()) {
        result.values.push_back(rename(store->value));
      } else {
        throw UserError(stmt.where(), "the definition of a Func has control flow in it; write select(condition, a, b)");
      }
    }
    internal_check(result.values.size() == values.size(), "values of a definition are lost");
    return result;
  }

  // The variables that statements and values read.
  std::set<LocalId> variables_in(const Block &body, const std::vector<Value> &values) const {
    std::set<LocalId> found;
    const auto look = [&](const Value &value) {
      if (value.is_local() && variable_of_.contains(value.id())) found.insert(value.id());
    };
    for (const Stmt &stmt : body) for_each_operand(stmt, look);
    for (const Value &value : values) look(value);
    return found;
  }

  void define(const Stores &stores) {
    Function &function = made_.functions[stores.func];
    const std::size_t rank = stores.stores[0]->indices.size();
    std::vector<Value> wanted = stores.stores[0]->indices;
    for (const Store *store : stores.stores) wanted.push_back(store->value);
    Computed all = fresh(wanted, stores.end, stores.where);
    Definition definition;
    definition.where = stores.where;
    definition.body = std::move(all.body);
    definition.indices.assign(all.values.begin(), all.values.begin() + static_cast<std::ptrdiff_t>(rank));
    definition.values.assign(all.values.begin() + static_cast<std::ptrdiff_t>(rank), all.values.end());

    std::set<LocalId> used = variables_in(definition.body, all.values);
    std::set<std::size_t> domains;
    for (const LocalId local : used)
      if (const auto domain = domain_of_.find(local); domain != domain_of_.end()) domains.insert(domain->second);
    for (const std::size_t d : domains) add_domain(captured_.domains[d], stores.end, definition, used);

    std::set<LocalId> seen;
    for (const Value &index : definition.indices) {
      std::optional<Variable> pure;
      if (index.is_local() && variable_of_.contains(index.id()) && !domain_of_.contains(index.id()) &&
          seen.insert(index.id()).second)
        pure = variable(variable_of_.at(index.id()));
      definition.pure.push_back(pure);
    }
    for (const LocalId local : used)
      if (!seen.contains(local) && !domain_of_.contains(local))
        throw UserError(stores.where,
                        fmt::format("variable '{0}' is in the value of '{1}' and is no index of it; write {1}(…, {0}), "
                                    "or make '{0}' a Reduction, which has a range",
                                    variable(variable_of_.at(local)).name, function.name));

    const bool plain = std::ranges::all_of(definition.pure, [](const auto &pure) { return pure.has_value(); }) &&
                       definition.reductions.empty();
    if (function.definitions.empty() && (!plain || calls_itself(definition, stores.func)))
      function.definitions.push_back(implied(stores, definition));
    else if (!function.definitions.empty() && function.definitions[0].indices.size() != rank)
      throw UserError(stores.where,
                      fmt::format("'{}' has {} indices here and {} at {}", function.name, rank,
                                  function.definitions[0].indices.size(), function.definitions[0].where.to_string()));
    if (!function.definitions.empty()) check_own_calls(definition, stores.func);
    if (const Stmt *stmt = made_of_nothing(definition)) {
      const bool alone = plain && function.definitions.empty() && definition.body.size() == definition.values.size();
      if (!alone)
        throw UserError(stmt->where(), fmt::format("undefined is the value of a first definition and nothing else: "
                                                   "'{}' computes with it, or is an update",
                                                   function.name));
      definition.undefined = true;
      definition.body.clear();
      for (Value &value : definition.values) value = Value::zero(value.type());
    }
    function.definitions.push_back(std::move(definition));
  }

  void add_domain(const ReductionDomain &domain, std::size_t end, Definition &definition, std::set<LocalId> &used) {
    std::vector<Value> wanted;
    for (const ReductionDomain::Range &range : domain.ranges) {
      wanted.push_back(range.begin);
      wanted.push_back(range.extent);
    }
    Computed bounds = fresh(wanted, end, domain.where);
    definition.bounds.insert(definition.bounds.end(), bounds.body.begin(), bounds.body.end());
    for (std::size_t r = 0; r < domain.ranges.size(); ++r)
      definition.reductions.push_back({domain.ranges[r].variable, bounds.values[2 * r], bounds.values[2 * r + 1]});
    if (!domain.predicate) return;
    Computed predicate = fresh({*domain.predicate}, end, domain.where);
    for (const LocalId local : variables_in(predicate.body, predicate.values)) used.insert(local);
    definition.body.insert(definition.body.end(), predicate.body.begin(), predicate.body.end());
    Value condition = predicate.values[0];
    if (definition.predicate) {
      definition.body.emplace_back(
          Let{made_.local_count, {Op::And, ScalarType::Bool, {*definition.predicate, condition}}}, domain.where);
      condition = Value::local(ScalarType::Bool, made_.local_count++);
    }
    definition.predicate = condition;
  }

  bool is_own(std::uint32_t array, std::uint32_t func) const {
    const Func &own = captured_.funcs[func];
    return array >= own.array && array < own.array + own.types.size();
  }

  bool calls_itself(const Definition &definition, std::uint32_t func) const {
    return std::ranges::any_of(definition.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      return let && let->value.op == Op::Load && is_own(let->value.array, func);
    });
  }

  static const Stmt *made_of_nothing(const Definition &definition) {
    for (const Stmt &stmt : definition.body)
      if (const Let *let = stmt.as<Let>(); let && let->value.op == Op::Unavailable) return &stmt;
    return nullptr;
  }

  // f(i, j) += value, if f has no definition yet, begins with zeros; f(i, j) *= value with ones.
  Definition implied(const Stores &stores, const Definition &update) {
    const Function &function = made_.functions[stores.func];
    Definition pure;
    pure.where = stores.where;
    for (std::size_t v = 0; v < update.values.size(); ++v) {
      const Operation *made = nullptr;
      const auto made_by = [&](const Value &value) {
        const Operation *found = nullptr;
        for (const Stmt &stmt : update.body)
          if (const Let *let = stmt.as<Let>(); let && value.is_local() && let->local == value.id()) found = &let->value;
        return found;
      };
      made = made_by(update.values[v]);
      const auto own_element = [&](const Value &value) {
        const Operation *load = made_by(value);
        return load && load->op == Op::Load && load->array == function.array + v && load->operands == update.indices;
      };
      const bool sum = made && (made->op == Op::Add || made->op == Op::Sub || made->op == Op::Mul) &&
                       (own_element(made->operands[0]) || (made->op != Op::Sub && own_element(made->operands[1])));
      if (!sum)
        throw UserError(stores.where,
                        fmt::format("the first definition of '{0}' is no pure one: its indices are to be different "
                                    "variables, and its value must not call '{0}'; write {0}(x) = its first value, and "
                                    "then this update",
                                    function.name));
      pure.values.push_back(Value::constant(function.types[v], made->op == Op::Mul ? 1 : 0));
    }
    for (std::size_t d = 0; d < update.indices.size(); ++d) {
      Variable variable{fmt::format("i{}", d), made_.local_count++, stores.where};
      if (update.pure[d]) variable.name = update.pure[d]->name;
      pure.indices.push_back(Value::local(ScalarType::Int32, variable.local));
      pure.pure.emplace_back(variable);
    }
    return pure;
  }

  // An update runs over a dimension in any order: its reads of its own Func must have the same index there.
  void check_own_calls(const Definition &definition, std::uint32_t func) const {
    for (const Stmt &stmt : definition.body) {
      const Let *let = stmt.as<Let>();
      if (!let || let->value.op != Op::Load || !is_own(let->value.array, func)) continue;
      for (std::size_t d = 0; d < definition.pure.size(); ++d)
        if (definition.pure[d] && !(let->value.operands[d] == definition.indices[d]))
          throw UserError(stmt.where(),
                          fmt::format("an update of '{0}' reads other elements of '{0}' along '{1}', which has no "
                                      "order; make '{1}' a Reduction",
                                      captured_.funcs[func].name, definition.pure[d]->name));
    }
  }

  Definition zeros(const Func &func) {
    Definition pure;
    pure.where = func.where;
    for (int d = 0; d < func.rank; ++d) {
      const Variable variable{fmt::format("i{}", d), made_.local_count++, func.where};
      pure.indices.push_back(Value::local(ScalarType::Int32, variable.local));
      pure.pure.emplace_back(variable);
    }
    for (const ScalarType type : func.types) pure.values.push_back(Value::zero(type));
    return pure;
  }

  const CapturedPipeline &captured_;
  const Kernel &trace_;
  std::unordered_map<LocalId, std::uint32_t> variable_of_;
  std::unordered_map<LocalId, std::size_t> domain_of_;
  std::vector<Variable> more_;
  Algorithm made_;
};

class Order {
 public:
  explicit Order(const Algorithm &algorithm) : algorithm_(algorithm), state_(algorithm.functions.size()) {}

  std::vector<std::uint32_t> of_all() {
    for (std::uint32_t f = 0; f < algorithm_.functions.size(); ++f) visit_function(f);
    return std::move(order_);
  }

 private:
  void visit_function(std::uint32_t f) {
    if (state_[f] == State::done) return;
    if (state_[f] == State::open) {
      std::string circle = algorithm_.functions[f].name;
      for (auto caller = open_.rbegin(); *caller != f; ++caller)
        circle = algorithm_.functions[*caller].name + " calls " + circle;
      throw UserError(algorithm_.functions[f].where,
                      fmt::format("'{0}' is computed of Funcs that are computed of it: {0} calls {1}; a Func that "
                                  "depends on its own values has an update that goes through a Reduction",
                                  algorithm_.functions[f].name, circle));
    }
    state_[f] = State::open;
    open_.push_back(f);
    for (const Definition &definition : algorithm_.functions[f].definitions)
      for (const std::uint32_t called : called_by(algorithm_, definition))
        if (called != f) visit_function(called);
    open_.pop_back();
    state_[f] = State::done;
    order_.push_back(f);
  }

  enum class State : std::uint8_t { unseen, open, done };
  const Algorithm &algorithm_;
  std::vector<State> state_;
  std::vector<std::uint32_t> open_;  // on the path to the current one
  std::vector<std::uint32_t> order_;
};

}  // namespace

void put_in_order(Algorithm &algorithm) { algorithm.order = Order(algorithm).of_all(); }

std::optional<Algorithm::Value> Algorithm::function_of(std::uint32_t array) const {
  for (std::uint32_t f = 0; f < functions.size(); ++f)
    if (array >= functions[f].array && array < functions[f].array + functions[f].types.size())
      return Value{f, array - functions[f].array};
  return std::nullopt;
}

std::vector<std::uint32_t> called_by(const Algorithm &algorithm, const Definition &definition) {
  std::set<std::uint32_t> found;
  for (const Stmt &stmt : definition.body)
    if (const Let *let = stmt.as<Let>(); let && let->value.op == Op::Load)
      if (const auto value = algorithm.function_of(let->value.array)) found.insert(value->function);
  return {found.begin(), found.end()};
}

Algorithm algorithm_of(const CapturedPipeline &captured) { return Reader(captured).read(); }

Condition condition_of(const CapturedPipeline &captured, Algorithm &algorithm, const Value &condition,
                       SourceLocation where) {
  return Reader(captured).condition(algorithm, condition, where);
}

}  // namespace samite::schedules
