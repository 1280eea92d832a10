#include "samite/codegen/target.h"

#include "samite/codegen/spelling.h"

namespace samite::codegen {

void define_arguments(SourceWriter &out, const ir::Kernel &kernel) {
  out.open("struct Arguments {{");
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter &parameter = kernel.parameters[i];
    if (parameter.is_array())
      out.line("Array<{}{}, {}> p{};  {}", parameter.read_only ? "const " : "", memory_name(parameter.type),
               parameter.rank, i, SourceWriter::remark(parameter.name));
    else
      out.line("Slot<{}> p{};  {}", memory_name(parameter.type), i, SourceWriter::remark(parameter.name));
  }
  out.close("};");
}

}  // namespace samite::codegen
