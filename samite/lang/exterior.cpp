#include "samite/lang/exterior.h"

#include "samite/base/error.h"
#include "samite/lang/attributed.h"
#include "samite/lang/math.h"
#include "samite/lang/pipeline_trace.h"

namespace samite::lang {
namespace {

const char *name_of(Exterior exterior) {
  switch (exterior) {
    case Exterior::repeat_edge: return "repeat_edge";
    case Exterior::constant: return "constant_exterior";
    case Exterior::repeat: return "repeat";
    case Exterior::mirror_image: return "mirror_image";
    case Exterior::mirror_interior: return "mirror_interior";
  }
  return "";
}

// i modulo n, from 0 on.
Int wrapped(const Int &i, const Int &n) {
  const Int remainder = i % n;
  return select(remainder < 0, remainder + n, remainder);
}

// The index within 0 … extent - 1 of the value for `i`.
Int inside(Exterior exterior, const Int &i, const Int &extent) {
  switch (exterior) {
    case Exterior::repeat_edge:
    case Exterior::constant: break;
    case Exterior::repeat: return wrapped(i, extent);
    case Exterior::mirror_image: {
      const Int period = extent * 2, m = wrapped(i, period);
      return min(m, period - 1 - m);
    }
    case Exterior::mirror_interior: {
      const Int period = max(extent * 2 - 2, 1), m = wrapped(i, period);
      return min(m, period - m);
    }
  }
  return i;
}

std::vector<Var> variables(std::size_t rank, SourceLocation where) {
  static const char *const names[] = {"x7", "x6", "x5", "x4", "w", "z", "y", "x"};
  std::vector<Var> variables;
  for (std::size_t i = maximum_indices - rank; i < maximum_indices; ++i) variables.emplace_back(names[i], where);
  return variables;
}

// `load` gives the element at indices that are inside.
template <class Load>
Stage::Handle define(Exterior exterior, const std::string &name, ScalarType type, std::span<const Interval> ranges,
                     const std::optional<ir::Value> &value, const Load &load, SourceLocation where) {
  const AttributedCapture at(where);
  const std::vector<Var> variables = lang::variables(ranges.size(), where);
  AccessIndices element = no_indices(), indices = no_indices();
  std::optional<Bool> is_inside;
  std::vector<Int> kept;
  kept.reserve(ranges.size());
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    const Int begin = Int::copy(ranges[d].begin.value(), where), extent = Int::copy(ranges[d].extent.value(), where);
    const bool from_zero = ranges[d].begin.value().is_constant(0);
    const Int i = from_zero ? Int(variables[d]) : variables[d] - begin;
    if (exterior == Exterior::constant) {
      const Bool here = i >= 0 && i < extent;
      is_inside.emplace(is_inside ? *is_inside && here : here);
    }
    // The bounds are stated once more, for the analysis of the required elements.
    const Int from_begin = clamp(inside(exterior, i, extent), 0, extent - 1);
    kept.push_back(from_zero ? from_begin : from_begin + begin);
    element[d] = kept.back().value(where);
    indices[d] = variables[d].value(where);
  }
  ir::Value result = load(element);
  if (value) result = record(ir::Op::Select, type, {is_inside->value(where), result, *value}, where);

  PipelineTrace &pipeline = PipelineTrace::current(name_of(exterior), where);
  const Stage::Handle func{pipeline.trace().serial(), pipeline.declare({name, {type}, where})};
  pipeline.define(pipeline.access(func, indices, static_cast<int>(ranges.size()), where), {result});
  return func;
}

}  // namespace

Stage::Handle with_exterior(Exterior exterior, std::uint32_t array, ScalarType type, int rank,
                            std::optional<ir::Value> value, SourceLocation where) {
  Trace &trace = PipelineTrace::current(name_of(exterior), where).trace();
  const ArrayView whole(trace.serial(), array, rank);
  std::vector<Interval> ranges;
  const std::vector<ir::Value> origin = PipelineTrace::current(name_of(exterior), where).origin(array, where);
  for (int d = 0; d < rank; ++d) {
    const Operand<std::int32_t> extent(Int::adopt(whole.extent(d, rank, where)), where);
    if (origin.empty())
      ranges.push_back({Operand<std::int32_t>(0, where), extent});
    else
      ranges.push_back({Operand<std::int32_t>(Int::adopt(origin[static_cast<std::size_t>(d)]), where), extent});
  }
  const std::string name = trace.parameters()[array].name + "_" + name_of(exterior);
  const auto load = [&](const AccessIndices &indices) {
    return Access{trace.serial(), array, indices, rank, where}.load(type);
  };
  return define(exterior, name, type, ranges, value, load, where);
}

Stage::Handle with_exterior(Exterior exterior, const Stage &func, ScalarType type, std::span<const Interval> ranges,
                            std::optional<ir::Value> value, SourceLocation where) {
  PipelineTrace &pipeline = PipelineTrace::current(name_of(exterior), where);
  const std::string name = pipeline.declaration(func.handle(), where).name + "_" + name_of(exterior);
  const auto load = [&](const AccessIndices &indices) {
    return pipeline.access(func.handle(), indices, static_cast<int>(ranges.size()), where).load(type);
  };
  return define(exterior, name, type, ranges, value, load, where);
}

}  // namespace samite::lang
