#include "samite/codegen/threads_emitter.h"

#include "samite/codegen/spelling.h"
#include "samite/passes/product_loops.h"

#include <algorithm>
#include <iterator>

namespace samite::codegen {

using namespace ir;

namespace {

// Of a multiprocessor.
constexpr int threads_with_128_registers = 512, threads_with_80_registers = 768;

// Asks the compiler for code of which a multiprocessor can run so many blocks at a time; 0 asks for nothing.
//
// By itself the compiler spills registers to fit more threads on a multiprocessor. With instances side by side fewer
// threads are enough: allow 128 registers for each. Where a thread marches on to further instances, 80 are better
// forward and worse in an adjoint (a 7-point stencil of 512³ on an H200: 0.945 of a copy's speed, else 0.930; its
// adjoint 0.913, else 0.953).
int blocks_at_once(const Kernel &kernel, const CudaForm &form) {
  if (form.instances_per_thread == 1) return kernel.resident_blocks;
  const bool adjoint = std::ranges::any_of(kernel.parameters,
                                           [](const Parameter &parameter) { return parameter.role == Role::Gradient; });
  const int threads = form.march > 1 && !adjoint ? threads_with_80_registers : threads_with_128_registers;
  return std::max(threads / form.threads_per_block, 1);
}

}  // namespace

ThreadsEmitter::ThreadsEmitter(const Kernel &kernel, const EmitOptions &options, const Values &values)
    : Walk(kernel, options, values),
      access_(emission_, failures_),
      sums_(emission_, access_),
      element_loops_(emission_, places_, *this),
      arrays_(emission_, failures_, places_, element_loops_),
      rows_(emission_),
      warp_loops_(emission_, access_, rows_, loop_text_, *this) {}

void ThreadsEmitter::open_kernel(const std::string &entry) {
  const CudaForm &form = options_.cuda;
  // In the prelude's namespace, whose `sin` hides CUDA's own.
  out_.line("namespace samite {{");
  out_.line("");
  define_arguments();
  const std::size_t maps = passes::tensor_maps(kernel_).size();
  if (maps != 0) {
    out_.open("struct TensorMaps {{");
    out_.line("TensorMap at[{}];", maps);
    out_.close("};");
  }
  out_.line("");
  const int blocks = blocks_at_once(kernel_, form);
  out_.line("extern \"C\" __global__ void __launch_bounds__({}{})", form.threads_per_block,
            blocks > 0 ? fmt::format(", {}", blocks) : "");
  out_.line("{}(const __grid_constant__ Arguments arguments, const __grid_constant__ Box box, Channel *channel,",
            entry);
  out_.open("    const __grid_constant__ Workspace memory{}) {{",
            maps == 0 ? "" : ", const __grid_constant__ TensorMaps maps");
  if (form.waits_for_earlier_launch) out_.line("wait_for_earlier_launch();");
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
    const Parameter &parameter = kernel_.parameters[i];
    out_.line("[[maybe_unused]] const {1} p{0} = arguments.p{0}{2};", i,
              parameter.is_array() ? "auto &" : scalar_name(parameter.type), parameter.is_array() ? "" : ".value");
  }
  out_.line("[[maybe_unused]] const auto &begin = box.begin, &end = box.end;");
  out_.line("[[maybe_unused]] Failure *const failure = &channel->failure;");
  out_.line("[[maybe_unused]] ThreadStack workspace = {}(memory);",
            is_tile_kernel(kernel_) ? "stack_in_block" : "stack_in_grid");
  if (is_tile_kernel(kernel_)) out_.line("[[maybe_unused]] u8 *const shared = shared_memory();");
}

void ThreadsEmitter::close_kernel() {
  out_.close();
  out_.line("");
  out_.line("}}  // namespace samite");
}

void ThreadsEmitter::describe(EmittedSource &source) const {
  if (is_tile_kernel(kernel_)) source.tile_memory = passes::plan_tile_memory(kernel_);
}

// Where threads have roles, those behind the block's own run the producing part.
void ThreadsEmitter::body() {
  if (kernel_.producers == 0) return Walk::body();
  tile_calls_.make_rings();
  // Of a thread that starts copies, and of one that multiplies, by the groups that do so. A multiprocessor has 64 Ki.
  struct Registers {
    int groups, producing, multiplying;
  };
  constexpr Registers known[] = {{2, 40, 232}, {3, 32, 160}};
  const auto own = std::ranges::find(known, kernel_.block_threads / 128, &Registers::groups);
  const bool moves = own != std::end(known);
  out_.open("if (flat_thread() >= {}) {{", kernel_.block_threads);
  if (moves) out_.line("give_registers<{}>();", own->producing);
  block(kernel_.producing);
  out_.close();
  out_.open("else {{");
  if (moves) out_.line("take_registers<{}>();", own->multiplying);
  block(kernel_.body);
  out_.close();
}

}  // namespace samite::codegen
