#include "samite/lang/func.h"

#include "samite/base/error.h"
#include "samite/lang/pipeline_trace.h"

namespace samite::lang {

Stage::Handle declare_func(const FuncName &name, std::initializer_list<ScalarType> types,
                           std::initializer_list<std::uint32_t> outputs, int rank) {
  PipelineTrace &pipeline = PipelineTrace::current("the Func '" + name.name + "'", name.where);
  PipelineTrace::Declaration declaration{name.name, types, name.where};
  if (outputs.size() != 0) {
    declaration.output = *outputs.begin();
    declaration.rank = rank;
    std::uint32_t next = *declaration.output;
    for (std::uint32_t output : outputs)
      if (output != next++)
        throw UserError(name.where, "the arrays that the Func '" + name.name +
                                        "' fills are not one after another in the pipeline's parameters: there the "
                                        "array of each value has to follow that of the value before");
  }
  return {pipeline.trace().serial(), pipeline.declare(std::move(declaration))};
}

Access func_access(const Stage::Handle &func, std::initializer_list<Index> indices, SourceLocation where) {
  return PipelineTrace::current("a Func", where)
      .access(func, index_values_now(indices), static_cast<int>(indices.size()), where);
}

void define_func(const Access &element, std::initializer_list<ir::Value> values) {
  PipelineTrace::current("a Func", element.where).define(element, values);
}

void set_origin(std::uint32_t array, std::initializer_list<ir::Value> indices, SourceLocation where) {
  PipelineTrace::current("begins_at", where).set_origin(array, indices, where);
}

}  // namespace samite::lang

namespace samite {

Int promise_clamped(const Operand<std::int32_t> &index, const Operand<std::int32_t> &low,
                    const Operand<std::int32_t> &high) {
  return Int::adopt(lang::PipelineTrace::current("promise_clamped", index.where())
                        .promised(index.value(), low.value(), high.value(), index.where()));
}

}  // namespace samite
