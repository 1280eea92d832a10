#include "tests/autodiff/pipeline_meaning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace samite::test {

namespace {

constexpr double no_element = std::numeric_limits<double>::quiet_NaN();

std::optional<std::size_t> place_in(const MeantArray &array, const std::vector<std::int64_t> &point) {
  std::size_t place = 0;
  for (std::size_t d = 0; d < point.size(); ++d) {
    if (point[d] < 0 || point[d] >= array.extents[d]) return std::nullopt;
    place = place * static_cast<std::size_t>(array.extents[d]) + static_cast<std::size_t>(point[d]);
  }
  return place;
}

}  // namespace

PipelineMeaning::PipelineMeaning(const ir::CapturedPipeline &captured, std::vector<MeantArray> &arguments)
    : algorithm_(schedules::algorithm_of(captured)), arguments_(arguments), tables_(algorithm_.functions.size()) {}

void PipelineMeaning::run() {
  filled_ = arguments_;
  for (const std::uint32_t f : algorithm_.order) {
    const schedules::Function &function = algorithm_.functions[f];
    for (std::size_t v = 0; function.output && v < function.types.size(); ++v) {
      MeantArray &array = filled_[*function.output + v];
      Point point(array.extents.size());
      for (std::size_t i = 0; i < array.values.size(); ++i) {
        std::size_t left = i;
        for (std::size_t d = point.size(); d-- > 0;) {
          point[d] = static_cast<std::int64_t>(left % static_cast<std::size_t>(array.extents[d]));
          left /= static_cast<std::size_t>(array.extents[d]);
        }
        array.values[i] = value(f, v, point);
      }
    }
  }
  arguments_ = std::move(filled_);
}

double PipelineMeaning::value(std::uint32_t f, std::size_t value, const Point &point) {
  if (algorithm_.functions[f].definitions.size() > 1) {
    const bool known = std::ranges::all_of(point, [](std::int64_t i) { return i >= first && i < end; });
    if (!known) return no_element;
    if (!tables_[f].updated) update(f);
  }
  return at_first(f, point)[value];
}

const std::vector<double> &PipelineMeaning::at_first(std::uint32_t f, const Point &point) {
  if (const auto found = tables_[f].elements.find(point); found != tables_[f].elements.end()) return found->second;
  const schedules::Function &function = algorithm_.functions[f];
  const schedules::Definition &definition = function.definitions[0];
  std::vector<double> values;
  if (definition.undefined) {
    for (std::size_t v = 0; v < function.types.size(); ++v) {
      const auto place = function.output ? place_in(filled_[*function.output + v], point) : std::nullopt;
      values.push_back(place ? filled_[*function.output + v].values[*place] : no_element);
    }
  } else {
    Locals locals(algorithm_.local_count, no_element);
    for (std::size_t d = 0; d < point.size(); ++d) locals[definition.indices[d].id()] = static_cast<double>(point[d]);
    compute(definition.body, locals);
    for (const ir::Value &value : definition.values) values.push_back(of(value, locals));
  }
  return tables_[f].elements.emplace(point, std::move(values)).first->second;
}

void PipelineMeaning::update(std::uint32_t f) {
  tables_[f].updated = true;
  const schedules::Function &function = algorithm_.functions[f];
  for (std::size_t n = 1; n < function.definitions.size(); ++n) {
    Locals locals(algorithm_.local_count, no_element);
    compute(function.definitions[n].bounds, locals);
    update(f, function.definitions[n], locals, 0);
  }
}

void PipelineMeaning::update(std::uint32_t f, const schedules::Definition &definition, Locals &locals,
                             std::size_t reduction) {
  if (reduction == definition.reductions.size()) return store(f, definition, locals, 0);
  const schedules::ReductionVariable &variable = definition.reductions[reduction];
  const double begin = of(variable.begin, locals), last = begin + of(variable.extent, locals);
  for (double i = begin; i < last; ++i) {
    locals[variable.variable.local] = i;
    update(f, definition, locals, reduction + 1);
  }
}

void PipelineMeaning::store(std::uint32_t f, const schedules::Definition &definition, Locals &locals,
                            std::size_t dimension) {
  if (dimension < definition.pure.size()) {
    if (!definition.pure[dimension]) return store(f, definition, locals, dimension + 1);
    for (std::int64_t i = first; i < end; ++i) {
      locals[definition.pure[dimension]->local] = static_cast<double>(i);
      store(f, definition, locals, dimension + 1);
    }
    return;
  }
  compute(definition.body, locals);
  if (definition.predicate && of(*definition.predicate, locals) == 0) return;
  Point point;
  for (const ir::Value &index : definition.indices) point.push_back(static_cast<std::int64_t>(of(index, locals)));
  std::vector<double> values;
  for (const ir::Value &value : definition.values) values.push_back(of(value, locals));
  at_first(f, point);
  tables_[f].elements[point] = std::move(values);
}

void PipelineMeaning::compute(const ir::Block &body, Locals &locals) {
  for (const ir::Stmt &stmt : body) {
    const ir::Let &let = *stmt.as<ir::Let>();
    locals[let.local] = of(let.value, locals);
  }
}

double PipelineMeaning::of(const ir::Value &value, const Locals &locals) const {
  if (value.is_local()) return locals[value.id()];
  if (value.kind() == ir::Value::Kind::Parameter) return arguments_[value.parameter_index()].values[0];
  return is_floating(value.type().element()) ? value.as_double() : static_cast<double>(value.as_int());
}

double PipelineMeaning::load(const ir::Operation &operation, const Locals &locals) {
  Point point;
  for (const ir::Value &index : operation.operands) {
    const double i = of(index, locals);
    if (std::isnan(i)) return no_element;
    point.push_back(static_cast<std::int64_t>(i));
  }
  if (operation.array == algorithm_.promises) return static_cast<double>(point[0]);
  if (const auto called = algorithm_.function_of(operation.array))
    return value(called->function, called->number, point);
  const auto place = place_in(arguments_[operation.array], point);
  return place ? arguments_[operation.array].values[*place] : no_element;
}

double PipelineMeaning::of(const ir::Operation &operation, const Locals &locals) {
  const auto x = [&](std::size_t i) { return of(operation.operands[i], locals); };
  const bool integers = !operation.operands.empty() && is_integer(operation.operands[0].type().element());
  switch (operation.op) {
    case ir::Op::Copy: return x(0);
    case ir::Op::Cast: return is_integer(operation.type.element()) ? std::trunc(x(0)) : x(0);
    // An operand that is not taken is not computed.
    case ir::Op::Select: return x(0) != 0 ? x(1) : x(2);
    case ir::Op::Neg: return -x(0);
    case ir::Op::Add: return x(0) + x(1);
    case ir::Op::Sub: return x(0) - x(1);
    case ir::Op::Mul: return x(0) * x(1);
    case ir::Op::Fma: return x(0) * x(1) + x(2);
    case ir::Op::Div: return !integers ? x(0) / x(1) : x(1) == 0 ? 0 : std::trunc(x(0) / x(1));
    case ir::Op::Rem: return x(1) == 0 ? x(0) : std::fmod(x(0), x(1));
    case ir::Op::Min: return std::fmin(x(0), x(1));
    case ir::Op::Max: return std::fmax(x(0), x(1));
    case ir::Op::Abs: return std::abs(x(0));
    case ir::Op::And: return x(0) != 0 && x(1) != 0;
    case ir::Op::Or: return x(0) != 0 || x(1) != 0;
    case ir::Op::Not: return x(0) == 0;
    case ir::Op::Equal: return x(0) == x(1);
    case ir::Op::NotEqual: return x(0) != x(1);
    case ir::Op::Less: return x(0) < x(1);
    case ir::Op::LessEqual: return x(0) <= x(1);
    case ir::Op::Greater: return x(0) > x(1);
    case ir::Op::GreaterEqual: return x(0) >= x(1);
    case ir::Op::Sqrt: return std::sqrt(x(0));
    case ir::Op::Sin: return std::sin(x(0));
    case ir::Op::Cos: return std::cos(x(0));
    case ir::Op::Exp: return std::exp(x(0));
    case ir::Op::ShiftRight: return std::floor(std::ldexp(x(0), -static_cast<int>(x(1))));
    case ir::Op::Extent:
      return static_cast<double>(arguments_[operation.array].extents[static_cast<std::size_t>(operation.attribute)]);
    case ir::Op::Load: return load(operation, locals);
    default: throw std::logic_error("no meaning of " + std::string(ir::info(operation.op).name));
  }
}

}  // namespace samite::test
