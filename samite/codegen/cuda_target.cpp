#include "samite/codegen/cuda_target.h"

#include "samite/base/error.h"
#include "samite/codegen/argument_layout.h"
#include "samite/codegen/cuda_launch.h"
#include "samite/codegen/spelling.h"
#include "samite/passes/product_loops.h"

#include <algorithm>

namespace samite::codegen {
namespace {

// Of a multiprocessor.
constexpr int threads_with_128_registers = 512, threads_with_80_registers = 768;

constexpr std::size_t parameter_space = 4096, other_parameters = sizeof(CudaBox) + 8 + sizeof(CudaWorkspace);

// How many dimensions of the launch run faster.
int dimensions_within(const ThreadLoop &loop) { return loop.launch_rank - 1 - loop.dimension; }

char axis(const ThreadLoop &loop) { return "xyzz"[dimensions_within(loop)]; }

std::string thread_on_axis(const ThreadLoop &loop, std::string_view type) {
  return fmt::format("{0}(blockIdx.{1}) * blockDim.{1} + threadIdx.{1}", type, axis(loop));
}

std::string in_steps(const std::string &thread, std::int64_t step) {
  return step == 1 ? thread : fmt::format("({}) * {}", thread, step);
}

// Of four dimensions the outer two share an axis: the outermost loop goes over both, and the next one only names its
// part.
bool over_two(const ThreadLoop &loop) { return dimensions_within(loop) == 3; }
bool part_of_two(const ThreadLoop &loop) { return loop.launch_rank == 4 && dimensions_within(loop) == 2; }

std::string next_extent(const ThreadLoop &loop) {
  return fmt::format("(box.end[{0}] - box.begin[{0}])", loop.dimension + 1);
}

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

void CudaTarget::open_kernel(SourceWriter &out, const ir::Kernel &kernel, const std::string &entry) const {
  // In the prelude's namespace, whose `sin` hides CUDA's own.
  out.line("namespace samite {{");
  out.line("");
  define_arguments(out, kernel);
  const std::size_t maps = passes::tensor_maps(kernel).size();
  if (maps != 0) {
    out.open("struct TensorMaps {{");
    out.line("TensorMap at[{}];", maps);
    out.close("};");
  }
  out.line("");
  // By itself the compiler spills registers to fit more threads on a multiprocessor. With instances side by side fewer
  // threads are enough: allow 128 registers for each. Where a thread marches on to further instances, 80 are better
  // forward and worse in an adjoint (a 7-point stencil of 512³ on an H200: 0.945 of a copy's speed, else 0.930; its
  // adjoint 0.913, else 0.953).
  const bool adjoint = std::ranges::any_of(
      kernel.parameters, [](const ir::Parameter &parameter) { return parameter.role == ir::Role::Gradient; });
  const int threads = form_.march > 1 && !adjoint ? threads_with_80_registers : threads_with_128_registers;
  const std::string blocks = form_.instances_per_thread > 1
                                 ? fmt::format(", {}", std::max(threads / form_.threads_per_block, 1))
                             : blocks_at_once_ > 0 ? fmt::format(", {}", blocks_at_once_)
                                                   : "";
  out.line("extern \"C\" __global__ void __launch_bounds__({}{})", form_.threads_per_block, blocks);
  out.line("{}(const __grid_constant__ Arguments arguments, const __grid_constant__ Box box, Channel *channel,", entry);
  out.open("    const __grid_constant__ Workspace memory{}) {{",
           maps == 0 ? "" : ", const __grid_constant__ TensorMaps maps");
  if (form_.waits_for_earlier_launch) out.line("wait_for_earlier_launch();");
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter &parameter = kernel.parameters[i];
    out.line("[[maybe_unused]] const {1} p{0} = arguments.p{0}{2};", i,
             parameter.is_array() ? "auto &" : scalar_name(parameter.type), parameter.is_array() ? "" : ".value");
  }
  out.line("[[maybe_unused]] const auto &begin = box.begin, &end = box.end;");
  out.line("[[maybe_unused]] Failure *const failure = &channel->failure;");
  out.line("[[maybe_unused]] ThreadStack workspace = {}(memory);",
           is_tile_kernel(kernel) ? "stack_in_block" : "stack_in_grid");
}

void CudaTarget::close_kernel(SourceWriter &out) const {
  out.close();
  out.line("");
  out.line("}}  // namespace samite");
}

void CudaTarget::thread_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const {
  if (part_of_two(loop)) {
    out.open("{{");
    out.line("const {0} {1} = {2} + {0}(at{3} % {4});", loop.type, loop.index, loop.begin, loop.number - 1,
             fmt::format("({} - {})", loop.end, loop.begin));
    body();
    out.close();
  } else if (form_.grid_stride) {
    grid_stride_loop(out, loop, body);
  } else {
    exact_loop(out, loop, body);
  }
}

void CudaTarget::exact_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const {
  const std::string at = fmt::format("at{}", loop.number);
  const std::string instances = fmt::format("u32({} - {})", loop.end, loop.begin);
  if (loop.march > 1) return marched_loop(out, loop, body);
  out.line("const u32 {} = {};", at, in_steps(thread_on_axis(loop, "u32"), loop.step));
  if (over_two(loop)) {
    const std::string inner = fmt::format("u32({})", next_extent(loop));
    out.open("if ({} < {} * {}) {{", at, instances, inner);
    out.line("const {0} {1} = {2} + {0}({3} / {4});", loop.type, loop.index, loop.begin, at, inner);
  } else {
    out.open("if ({} < {}) {{", at, instances);
    out.line("const {0} {1} = {2} + {0}({3});", loop.type, loop.index, loop.begin, at);
  }
  body();
  out.close();
}

void CudaTarget::marched_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const {
  const std::string at = fmt::format("at{}", loop.number), first = fmt::format("first{}", loop.number);
  out.line("const u32 {} = ({}) * {};", first, thread_on_axis(loop, "u32"), loop.march);
  out.line("#pragma unroll 1");
  out.open("for (u32 {0} = {1}; {0} < u32({2} - {3}) && {0} - {1} < {4}; ++{0}) {{", at, first, loop.end, loop.begin,
           loop.march);
  out.line("const {0} {1} = {2} + {0}({3});", loop.type, loop.index, loop.begin, at);
  body();
  out.close();
}

// Counts in 64 bits: the last step may go beyond the type of the index.
void CudaTarget::grid_stride_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const {
  const std::string at = fmt::format("at{}", loop.number);
  const std::string inner = over_two(loop) ? next_extent(loop) : "";
  const std::string instances =
      fmt::format("(i64({}) - {}){}", loop.end, loop.begin, inner.empty() ? "" : " * " + inner);
  const std::string each = loop.step > 1 ? fmt::format(" * {}", loop.step) : "";
  out.open("for (i64 {0} = {1}; {0} < {2}; {0} += i64(gridDim.{3}) * blockDim.{3}{4}) {{", at,
           in_steps(thread_on_axis(loop, "i64"), loop.step), instances, axis(loop), each);
  out.line("const {0} {1} = {2} + {0}({3}{4});", loop.type, loop.index, loop.begin, at,
           inner.empty() ? "" : " / " + inner);
  body();
  out.close();
}

}  // namespace samite::codegen
