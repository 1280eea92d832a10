#include "samite/codegen/parameter_space.h"

#include "samite/base/error.h"
#include "samite/codegen/argument_layout.h"
#include "samite/codegen/cuda_launch.h"

#include <fmt/format.h>

namespace samite::codegen {
namespace {

constexpr std::size_t parameter_space = 4096, other_parameters = sizeof(CudaBox) + 8 + sizeof(CudaWorkspace);

}  // namespace

bool fits_parameter_space(const ir::Kernel &kernel) {
  return argument_layout(kernel.parameters).bytes + other_parameters <= parameter_space;
}

void check_parameter_space(const ir::Kernel &kernel) {
  if (fits_parameter_space(kernel)) return;
  const std::size_t bytes = argument_layout(kernel.parameters).bytes;
  throw UserError(kernel.where,
                  fmt::format("kernel '{}': its {} arguments take {} bytes; on CUDA the arguments of a kernel may take "
                              "{} (an array takes 8 bytes, and 16 for each dimension). Pass fewer arrays, or several "
                              "as one with a dimension more",
                              kernel.name, kernel.parameters.size(), bytes, parameter_space - other_parameters));
}

}  // namespace samite::codegen
