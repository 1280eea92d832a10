#include "samite/lang/array.h"

#include "samite/base/error.h"
#include "samite/lang/component_access.h"
#include "samite/lang/pipeline_trace.h"
#include "samite/lang/trace.h"

namespace samite {

ir::Value Index::widen(ir::Value value) const {
  switch (value.type()) {
    case ScalarType::Int32:
    case ScalarType::Int64: return value;
    case ScalarType::UInt32:
    case ScalarType::UInt64: return lang::record_cast(ScalarType::Int64, value, where_);
    default: return lang::record_cast(ScalarType::Int32, value, where_);
  }
}

namespace lang {
namespace {

std::vector<ir::Value> index_values(const Access &access) {
  return {access.indices.begin(), access.indices.begin() + access.rank};
}

Trace &trace_of(const Access &access) {
  Trace &trace = Trace::current(access.where);
  if (access.serial != trace.serial())
    throw UserError(access.where,
                    access.local
                        ? "a local array of one kernel is used in another kernel; declare one there"
                        : "an array of one kernel is used in another kernel; declare it as a parameter of this one");
  if (access.local) trace.check_local_array_scope(access.array, access.where);
  // An element may be kept, and with it the indices, beyond the block that computed them.
  for (const ir::Value &index : index_values(access))
    if (index.is_local()) trace.check_scope(index.id(), access.where);
  return trace;
}

}  // namespace

AccessIndices no_indices() {
  const ir::Value none = ir::Value::boolean(false);
  return {none, none, none, none, none, none, none, none};
}

AccessIndices index_values_now(std::initializer_list<Index> indices) {
  AccessIndices values = no_indices();
  std::size_t dimension = 0;
  for (const Index &index : indices) {
    ir::Value value = index.value();
    // A variable of a pipeline is never assigned.
    if (value.is_local() && !Trace::current(index.where()).is_variable(value.id()))
      value = record(ir::Op::Copy, value.type(), {value}, index.where());
    values[dimension++] = value;
  }
  return values;
}

ir::Value Access::load(ScalarType type) const {
  if (components.first) return load_component(*this, type);
  ir::Op op = local ? ir::Op::LocalLoad : ir::Op::Load;
  return trace_of(*this).let({op, type, index_values(*this), array}, where);
}

void Access::store(ir::Value value) const {
  if (components.first) return store_component(*this, value);
  Trace &trace = trace_of(*this);
  if (local)
    trace.append({ir::LocalStore{array, indices[0], value}, where});
  else if (PipelineTrace *pipeline = trace.pipeline())
    pipeline->define(*this, {value});
  else
    trace.append({ir::Store{array, index_values(*this), value}, where});
}

ir::Value Access::atomic(ir::Op op, std::initializer_list<ir::Value> values) const {
  if (components.first)
    throw UserError(where, std::string(ir::info(op).name) +
                               " to a component of a vector, which no other instance sees; compute and assign instead");
  Trace &trace = trace_of(*this);
  if (local)
    throw UserError(where, std::string(ir::info(op).name) +
                               " to an element of a local array, which no other instance sees; load, compute and "
                               "store instead");
  if (trace.pipeline())
    throw UserError(where, std::string(ir::info(op).name) +
                               " in a pipeline, where a Func is defined element by element: write an update such as "
                               "f(x) += value, and atomic() in the schedule that runs it in parallel");
  ir::Operation operation{op, trace.parameters()[array].type, index_values(*this), array};
  operation.operands.insert(operation.operands.end(), values);
  return trace.let(std::move(operation), where);
}

Bool interior(std::initializer_list<ir::Value> extents, std::initializer_list<Index> indices) {
  SourceLocation where = indices.begin()->where();
  auto extent = extents.begin();
  ir::Value all = ir::Value::boolean(true);
  for (const Index &index : indices) {
    ScalarType type = index.value().type();
    ir::Value size = type == extent->type() ? *extent : record_cast(type, *extent, where);
    ir::Value last = record(ir::Op::Sub, type, {size, ir::Value::constant(type, std::int64_t{1})}, where);
    ir::Value above = record(ir::Op::Greater, ScalarType::Bool, {index.value(), ir::Value::zero(type)}, where);
    ir::Value below = record(ir::Op::Less, ScalarType::Bool, {index.value(), last}, where);
    all = record(ir::Op::And, ScalarType::Bool, {all, above}, where);
    all = record(ir::Op::And, ScalarType::Bool, {all, below}, where);
    ++extent;
  }
  return Bool::adopt(all);
}

}  // namespace lang
}  // namespace samite
