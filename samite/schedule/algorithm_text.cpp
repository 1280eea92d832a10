#include "samite/schedule/algorithm_text.h"

#include "samite/ir/print.h"
#include "samite/schedule/functions_of_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace samite::schedules {
namespace {

using namespace ir;

// C++ operator precedence; operands that bind tighter need no parentheses.
enum Binding : int { choice, either, both, comparison, shift, sum, product_of, prefix, leaf };

struct Infix {
  Op op;
  const char *text;
  Binding binding;
};
constexpr Infix infixes[] = {
    {Op::Add, "+", sum},
    {Op::Sub, "-", sum},
    {Op::Mul, "*", product_of},
    {Op::Div, "/", product_of},
    {Op::Rem, "%", product_of},
    {Op::And, "&", both},
    {Op::Or, "|", either},
    {Op::Xor, "^", either},
    {Op::ShiftLeft, "<<", shift},
    {Op::ShiftRight, ">>", shift},
    {Op::Equal, "==", comparison},
    {Op::NotEqual, "!=", comparison},
    {Op::Less, "<", comparison},
    {Op::LessEqual, "<=", comparison},
    {Op::Greater, ">", comparison},
    {Op::GreaterEqual, ">=", comparison},
};

struct Text {
  std::string text;
  Binding binding = leaf;
  // Parenthesised next to an operator that binds tighter.
  std::string inside(Binding of) const { return binding < of ? "(" + text + ")" : text; }
};

class Expressions {
 public:
  // `apart`: values with several uses have their own lines.
  Expressions(const Algorithm &algorithm, const Block &body, bool apart) : algorithm_(algorithm), apart_(apart) {
    for (const Stmt &stmt : body) {
      const Let *let = stmt.as<Let>();
      lets_.emplace(let->local, &let->value);
      for (const Value &operand : let->value.operands)
        if (operand.is_local()) ++uses_[operand.id()];
    }
  }

  void is_named(const Variable &variable) { names_[variable.local] = variable.name; }

  Text of(const Value &value) {
    if (!value.is_local()) return {number(value)};
    if (const auto name = names_.find(value.id()); name != names_.end()) return {name->second};
    const auto let = lets_.find(value.id());
    if (let == lets_.end()) return {fmt::format("v{}", value.id())};
    Text text = of(*let->second);
    constexpr std::size_t short_text = 24;
    if (!apart_ || uses_[value.id()] < 2 || text.text.size() <= short_text) return text;
    const std::string name = fmt::format("t{}", ++temporaries_);
    lines.push_back(name + " = " + text.text);
    names_[value.id()] = name;
    return {name};
  }

  std::string list(const std::vector<Value> &values) {
    std::vector<std::string> all;
    for (const Value &value : values) all.push_back(of(value).text);
    return fmt::format("{}", fmt::join(all, ", "));
  }

  // For f(i) + value in the definition of f(i): the value.
  std::optional<Value> added(const Value &value, std::uint32_t array, const std::vector<Value> &indices) const {
    const Operation *of = operation(value);
    if (!of || of->op != Op::Add) return std::nullopt;
    for (const std::size_t side : {0u, 1u}) {
      const Operation *load = operation(of->operands[side]);
      if (load && load->op == Op::Load && load->array == array && load->operands == indices)
        return of->operands[1 - side];
    }
    return std::nullopt;
  }

  std::vector<std::string> lines;

 private:
  const Operation *operation(const Value &value) const {
    const auto let = value.is_local() ? lets_.find(value.id()) : lets_.end();
    return let == lets_.end() ? nullptr : let->second;
  }

  std::string number(const Value &value) const {
    std::string text = to_string(value, algorithm_.parameters);
    if (text.starts_with('@')) return text.substr(1);
    return text.substr(0, text.find(':'));
  }

  std::string array(std::uint32_t number) const {
    const auto called = algorithm_.function_of(number);
    if (number == algorithm_.promises) return "promise_clamped";
    return called ? algorithm_.functions[called->function].name : algorithm_.parameters[number].name;
  }

  Text of(const Operation &operation) {
    const auto &operands = operation.operands;
    switch (operation.op) {
      case Op::Copy: return of(operands[0]);
      case Op::Cast: return {fmt::format("{}({})", ir::name(operation.type), of(operands[0]).text)};
      case Op::Select:
        return {fmt::format("{} ? {} : {}", of(operands[0]).inside(either), of(operands[1]).inside(either),
                            of(operands[2]).inside(choice)),
                choice};
      case Op::Neg: return {"-" + of(operands[0]).inside(prefix), prefix};
      case Op::Not:
        return {(operation.type.element() == ScalarType::Bool ? "!" : "~") + of(operands[0]).inside(prefix), prefix};
      case Op::Extent: return {fmt::format("{}.extent({})", array(operation.array), operation.attribute)};
      case Op::Load: {
        std::string text = fmt::format("{}({})", array(operation.array), list(operands));
        if (const auto called = algorithm_.function_of(operation.array);
            called && algorithm_.functions[called->function].types.size() > 1)
          text += fmt::format("[{}]", called->number);
        return {text};
      }
      default: break;
    }
    if (const auto *infix = std::ranges::find(infixes, operation.op, &Infix::op); infix != std::end(infixes)) {
      const Binding right = static_cast<Binding>(infix->binding + 1);
      return {
          fmt::format("{} {} {}", of(operands[0]).inside(infix->binding), infix->text, of(operands[1]).inside(right)),
          infix->binding};
    }
    return {fmt::format("{}({})", info(operation.op).name, list(operands))};
  }

  const Algorithm &algorithm_;
  const bool apart_;
  std::map<LocalId, const Operation *> lets_;
  std::map<LocalId, int> uses_;
  std::map<LocalId, std::string> names_;
  int temporaries_ = 0;
};

Expressions expressions_of(const Algorithm &algorithm, const Definition &definition, bool apart) {
  Block all = definition.bounds;
  all.insert(all.end(), definition.body.begin(), definition.body.end());
  Expressions expressions(algorithm, all, apart);
  for (const auto &pure : definition.pure)
    if (pure) expressions.is_named(*pure);
  for (const ReductionVariable &reduction : definition.reductions) expressions.is_named(reduction.variable);
  for (const JoinedVariable &joined : definition.joined) expressions.is_named(joined.variable);
  return expressions;
}

DefinitionText text_of(const Algorithm &algorithm, const Function &function, const Definition &definition) {
  if (definition.undefined) return {{fmt::format("{} is undefined at first", function.name)}, definition.where};
  Expressions expressions = expressions_of(algorithm, definition, true);
  // In an update, the indices may be values.
  const std::string element = fmt::format("{}({})", function.name, expressions.list(definition.indices));
  std::vector<std::string> values;
  bool sum = definition.values.size() == 1;
  if (const auto added = expressions.added(definition.values[0], function.array, definition.indices); sum && added)
    values.push_back(expressions.of(*added).text);
  else
    sum = false;
  if (!sum)
    for (const Value &value : definition.values) values.push_back(expressions.of(value).text);
  std::string text = fmt::format("{} {} ", element, sum ? "+=" : "=");
  text += values.size() == 1 ? values[0] : fmt::format("({})", fmt::join(values, ", "));
  for (const ReductionVariable &reduction : definition.reductions) {
    const std::string begin = expressions.of(reduction.begin).inside(Binding::sum),
                      extent = expressions.of(reduction.extent).inside(Binding::sum);
    text += fmt::format(" for {} in {} .. {}{}", reduction.variable.name, begin,
                        begin == "0" ? std::string() : begin + " + ", extent);
  }
  if (definition.predicate) text += ", where " + expressions.of(*definition.predicate).text;
  DefinitionText result{std::move(expressions.lines), definition.where};
  result.lines.push_back(std::move(text));
  return result;
}

const char *name_of(Tail tail) {
  switch (tail) {
    case Tail::automatic: return "Tail::automatic";
    case Tail::guard: return "Tail::guard";
    case Tail::shift_inwards: return "Tail::shift_inwards";
    case Tail::round_up: return "Tail::round_up";
    case Tail::predicate: return "Tail::predicate";
    case Tail::predicate_loads: return "Tail::predicate_loads";
    case Tail::predicate_stores: return "Tail::predicate_stores";
    case Tail::shift_inwards_and_blend: return "Tail::shift_inwards_and_blend";
  }
  return "";
}

std::string name_of(Directive::Kind kind) {
  using enum Directive::Kind;
  switch (kind) {
    case split: return "split";
    case fuse: return "fuse";
    case reorder: return "reorder";
    case rename: return "rename";
    case serial: return "serial";
    case unroll: return "unroll";
    case vectorize: return "vectorize";
    case parallel: return "parallel";
    case gpu_block: return "gpu_blocks";
    case gpu_thread: return "gpu_threads";
    case compute_inline: return "compute_inline";
    case compute_root: return "compute_root";
    case compute_at: return "compute_at";
    case store_root: return "store_root";
    case store_at: return "store_at";
    case store_in: return "store_in";
    case reorder_storage: return "reorder_storage";
    case pad: return "pad";
    case fold_storage: return "fold_storage";
    case bound: return "bound";
    case align_bounds: return "align_bounds";
    case atomic: return "atomic";
    case allow_race_conditions: return "allow_race_conditions";
    case rfactor: return "rfactor";
    case in: return "in";
    case compute_with: return "compute_with";
    case specialize: return "specialize";
    case pipelined: return "pipelined";
    case clone_in: return "clone_in";
  }
  return "";
}

std::string name_of(MemorySpace space) {
  switch (space) {
    case MemorySpace::registers: return "Memory::registers";
    case MemorySpace::shared: return "Memory::shared";
    case MemorySpace::device: return "Memory::device";
    default: return "Memory::local";
  }
}

bool is_called(const Algorithm &algorithm, std::uint32_t f) {
  return std::ranges::any_of(algorithm.functions, [&](const Function &other) {
    return std::ranges::any_of(other.definitions, [&](const Definition &definition) {
      return std::ranges::count(called_by(algorithm, definition), f) != 0;
    });
  });
}

}  // namespace

std::string to_string(const Directive &directive, const CapturedPipeline &captured) {
  const auto func = [&](std::uint32_t number) { return captured.funcs[number].name; };
  const auto stage = [&](std::uint32_t number, std::uint32_t definition) {
    return definition == 0 ? func(number) : fmt::format("{}.update({})", func(number), definition - 1);
  };
  std::vector<std::string> arguments;
  std::string made;  // the Func that the directive creates
  switch (directive.kind) {
    case Directive::Kind::in:
    case Directive::Kind::clone_in:
      for (const std::uint32_t consumer : directive.consumers) arguments.push_back(func(consumer));
      made = func(*directive.other) + " = ";
      break;
    case Directive::Kind::rfactor: made = func(*directive.other) + " = "; break;
    case Directive::Kind::compute_with: arguments.push_back(stage(*directive.other, directive.other_definition)); break;
    case Directive::Kind::store_in: arguments.push_back(name_of(directive.space)); break;
    case Directive::Kind::specialize: arguments.emplace_back("…"); break;
    default:
      if (directive.other) arguments.push_back(func(*directive.other));
  }
  for (const std::string &name : directive.names) arguments.push_back(name);
  for (const std::int64_t number : directive.numbers) arguments.push_back(std::to_string(number));
  if (directive.tail != Tail::automatic) arguments.emplace_back(name_of(directive.tail));
  return fmt::format("{}{}{}.{}({})", made, stage(directive.func, directive.definition),
                     directive.specialization ? ".specialize(…)" : "", name_of(directive.kind),
                     fmt::join(arguments, ", "));
}

std::string text_of(const Algorithm &algorithm, const Definition &definition, const Value &value) {
  return expressions_of(algorithm, definition, false).of(value).text;
}

std::vector<FunctionText> text_of(const CapturedPipeline &captured, const std::string &schedule) {
  Algorithm algorithm = algorithm_of(captured);
  const auto of_schedule = std::ranges::find(captured.schedules, schedule, &CapturedSchedule::name);
  if (of_schedule != captured.schedules.end()) define_functions_of_schedule(algorithm, captured, *of_schedule);
  std::vector<FunctionText> all;
  for (std::uint32_t f = 0; f < algorithm.functions.size(); ++f) {
    const Function &function = algorithm.functions[f];
    FunctionText text;
    text.name = function.name;
    text.output = function.output.has_value();
    std::vector<std::string> types;
    for (const ScalarType type : function.types) types.emplace_back(samite::name(type));
    text.type = fmt::format("{}", fmt::join(types, ", "));
    for (const Definition &definition : function.definitions)
      text.definitions.push_back(text_of(algorithm, function, definition));
    if (of_schedule != captured.schedules.end())
      for (const Directive &directive : of_schedule->directives)
        if (directive.func == f) text.directives.push_back(to_string(directive, captured));
    // A Func of another schedule consists of zeros that are never read.
    const bool unused = f < captured.funcs.size() && captured.funcs[f].of_schedule && !is_called(algorithm, f);
    if (!unused) all.push_back(std::move(text));
  }
  return all;
}

}  // namespace samite::schedules
