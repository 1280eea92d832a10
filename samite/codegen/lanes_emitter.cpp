#include "samite/codegen/lanes_emitter.h"

#include "samite/base/error.h"
#include "samite/codegen/spelling.h"

namespace samite::codegen {

using namespace ir;

LanesEmitter::LanesEmitter(const Kernel &kernel, const EmitOptions &options, LaneValues &values, int lanes)
    : Walk(kernel, options, values, TileFunctions::of_cpu),
      values_(values),
      lanes_(lanes),
      access_(emission_, values_, failures_),
      arrays_(emission_, values_, failures_, access_.index_sums()),
      sums_(emission_, values_, access_, failures_),
      rows_(emission_),
      functions_{passes::LoopFunctions(kernel)},
      race_steps_(kernel) {}

void LanesEmitter::open_kernel(const std::string &entry) {
  out_.line("using namespace samite;");
  out_.line("using namespace samite::lanes{};", lanes_);
  out_.line("");
  // In an unnamed namespace, so that two kernels in one image can define it differently.
  out_.open("namespace {{");
  define_arguments(/*named=*/!kernel_.scheduled);  // see emit.cpp
  out_.close("}  // namespace");
  out_.line("");
  out_.line("extern \"C\" void {}(const void *arguments, const i64 *begin, const i64 *end, Failure *failure,", entry);
  out_.open("    Workspace *workspace) {{");
  // Copies: otherwise the compiler must assume that stores through an array change the arguments in memory.
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
    const Parameter &parameter = kernel_.parameters[i];
    out_.line("const {1} p{0} = static_cast<const Arguments *>(arguments)->p{0}{2};", i,
              parameter.is_array() ? "auto" : scalar_name(parameter.type), parameter.is_array() ? "" : ".value");
    // For checks, which are calls: they get the extents in memory, so that the copy stays in registers.
    if (options_.debug && parameter.is_array())
      out_.line("[[maybe_unused]] const auto &argument{0} = static_cast<const Arguments *>(arguments)->p{0};", i);
  }
  functions_.place = out_.place();
}

void LanesEmitter::close_kernel() {
  out_.close();
  out_.insert(functions_.place, functions_.texts.text(), functions_.texts.lines());
}

void LanesEmitter::of_threads(const Stmt &stmt) {
  internal_check(stmt.as<Barrier>() != nullptr, "a CPU's kernel that copies as CUDA's threads do");
}

void LanesEmitter::store(const Store &store, SourceLocation where) {
  const LaneElements to = access_.elements(store.array, store.indices, where);
  if (to.shape != Shape::Uniform)
    out_.line("{}({}, {});", to.shape == Shape::Linear ? "store" : "scatter", to.arguments(),
              values_.vector(store.value));
  else if (values_.shape(store.value) == Shape::Uniform)
    out_.line("{}{} = {};", to.guard(), to.element, scalar(store.value));
  else
    out_.line("{}store_last({}, &{}, {});", to.guard(), values_.mask(), to.element, values_.vector(store.value));
}

void LanesEmitter::accumulate(const Accumulate &accumulate, SourceLocation where) {
  const Value &value = accumulate.value;
  const auto element = scalar_name(value.type()), memory = memory_name(value.type());
  const auto or_zero = [&] {
    return fmt::format("{} ? {} : {}(0)", values_.mask(), values_.vector(value), vector_name(value.type()));
  };
  if (const Sum *sum = sums_.of(accumulate)) {
    if (values_.in_lanes())
      out_.line("{} += {};", sum->name, or_zero());
    else
      out_.line("{0} = sum_of({0}, {1});", sum->name, scalar(value));
    out_.line("{}_used = true;", sum->name);
    return;
  }
  const bool shared = !emission_.facts(accumulate.array).worker_private;
  const LaneElements to = access_.elements(accumulate.array, accumulate.indices, where);
  if (to.shape != Shape::Uniform) {
    const auto how = !accumulate.atomic ? "plain_add" : shared ? "atomic_add" : "serial_add";
    out_.line("{}({}, {});", how, to.arguments(), values_.vector(value));
    return;
  }
  if (const Row *row = rows_.find(accumulate)) {
    out_.line("{}.values[{}] = {};", row->name, row->count, or_zero());
    out_.line("{}_last = &{};", row->name, to.element);
    return;
  }
  std::string sum = scalar(value);
  if (values_.in_lanes())
    sum = values_.shape(value) == Shape::Uniform
              ? fmt::format("{}(count({})) * {}", element, values_.mask(), scalar(value))
              : fmt::format("sum_lanes<{}>({}, {})", element, values_.mask(), values_.vector(value));
  if (accumulate.atomic && shared)
    out_.line("{}atomic_add<{}>(&{}, {});", to.guard(), memory, to.element, sum);
  else
    out_.line("{}{} += {};", to.guard(), to.element, sum);
}

}  // namespace samite::codegen
