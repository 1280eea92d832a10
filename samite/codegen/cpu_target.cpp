#include "samite/codegen/cpu_target.h"

#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

namespace samite::codegen {
namespace {

// Up to this many statements in the body of a thread loop, a second, unmasked copy is worth its compile time.
constexpr std::size_t largest_copied_body = 400;

}  // namespace

int cpu_lanes(const ir::Kernel &kernel, int vector_bytes) {
  std::size_t single = 0, twice = 0;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    const ir::Let *let = stmt.as<ir::Let>();
    if (!let) return;
    const bool floating = is_floating(let->value.type), is_double = let->value.type == ScalarType::Float64;
    single += floating && !is_double;
    twice += is_double;
  });
  return twice > single ? vector_bytes / 8 : vector_bytes / 4;
}

void CpuTarget::open_kernel(SourceWriter &out, const ir::Kernel &kernel, const std::string &entry) const {
  out.line("using namespace samite;");
  out.line("using namespace samite::lanes{};", lanes_);
  out.line("");
  // In an unnamed namespace, so that two kernels in one image can define it differently.
  out.open("namespace {{");
  define_arguments(out, kernel);
  out.close("}  // namespace");
  out.line("");
  out.line("extern \"C\" void {}(const void *arguments, const i64 *begin, const i64 *end, Failure *failure,", entry);
  out.open("    Workspace *workspace) {{");
  // Copies: for all that the compiler knows, a store through an array may change the arguments in memory.
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter &parameter = kernel.parameters[i];
    out.line("const {1} p{0} = static_cast<const Arguments *>(arguments)->p{0}{2};", i,
             parameter.is_array() ? "auto" : scalar_name(parameter.type), parameter.is_array() ? "" : ".value");
  }
}

void CpuTarget::close_kernel(SourceWriter &out) const { out.close(); }

void CpuTarget::thread_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const {
  const std::string end = fmt::format("end{}", loop.number), index = fmt::format("at{}", loop.number);
  if (loop.statements > largest_copied_body) {
    out.line("const {} {} = {};", loop.type, end, loop.end);
    // The end may be the largest number of the type.
    out.open("for ({0} {1} = {2}; {1} < {3}; {1} = {3} - {1} > {4} ? {1} + {4} : {3}) {{", loop.type, loop.index,
             loop.begin, end, lanes_);
    out.line("const Mask {} = first_lanes({} - {});", loop.mask, end, loop.index);
    body();
    out.close();
    return;
  }
  const std::string function = fmt::format("body{}", loop.number);
  out.open("const auto {} = [&](const {} {}, const Mask {}) __attribute__((always_inline)) {{", function, loop.type,
           loop.index, loop.mask);
  body();
  out.close("};");
  out.line("const {} {} = {};", loop.type, end, loop.end);
  out.line("{} {} = {};", loop.type, index, loop.begin);
  out.line("for (; {0} - {1} >= {2}; {1} += {2}) {3}({1}, all_lanes());", end, index, lanes_, function);
  out.line("if ({0} < {1}) {2}({0}, first_lanes({1} - {0}));", index, end, function);
}

}  // namespace samite::codegen
