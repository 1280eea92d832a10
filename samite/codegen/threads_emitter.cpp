#include "samite/codegen/threads_emitter.h"

#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"
#include "samite/passes/sm90/product_loops.h"
#include "samite/passes/sm90/take_turns.h"

namespace samite::codegen {

using namespace ir;

ThreadsEmitter::ThreadsEmitter(const Kernel &kernel, const EmitOptions &options, const Values &values)
    : Walk(kernel, options, values, TileFunctions::of_cuda),
      access_(emission_, failures_),
      sums_(emission_, access_),
      element_loops_(emission_, places_, *this),
      arrays_(emission_, failures_, places_, element_loops_),
      rows_(emission_),
      warp_loops_(emission_, access_, rows_, loop_text_, *this) {
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *product = stmt.as<WindowProduct>();
    if (product && places_.panels_of(product->first.array)) shows_to_products_ = true;
  });
}

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
  const int blocks = kernel_.grid.blocks_at_once;
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
  out_.line("[[maybe_unused]] ThreadStack workspace = {}(memory);", of_blocks() ? "stack_in_block" : "stack_in_grid");
  if (of_blocks()) out_.line("[[maybe_unused]] u8 *const shared = shared_memory();");
}

void ThreadsEmitter::close_kernel() {
  out_.close();
  out_.line("");
  out_.line("}}  // namespace samite");
  emission_.source.tile_memory = passes::plan_tile_memory(kernel_);
}

// If threads have roles, those after the block's own run the producing part.
void ThreadsEmitter::body() {
  if (kernel_.roles.producers == 0) return Walk::body();
  const bool in_teams = kernel_.roles.teams != 0;
  // The threads of a block have two dimensions: a row for each team, and the producers.
  if (in_teams) {
    out_.line("__builtin_assume(flat_thread() < {});", kernel_.block_threads);
    out_.line("const u32 team = team_of_thread();");
  }
  tile_calls_.make_rings();
  const auto [producing, multiplying] = kernel_.roles.registers;
  if (in_teams)
    out_.open("if (team == {}) {{", kernel_.roles.teams);
  else
    out_.open("if (flat_thread() >= {}) {{", kernel_.block_threads);
  if (producing != 0) out_.line("give_registers<{}>();", producing);
  emitting_producers_ = true;
  block(kernel_.roles.producing);
  emitting_producers_ = false;
  if (kernel_.grid.step_parts != 0) out_.line("pass_sums_of_parts();");
  out_.close();
  out_.open("else {{");
  if (multiplying != 0) out_.line("take_registers<{}>();", multiplying);
  const int groups = passes::groups_in_turns(kernel_);
  if (groups != 0) out_.line("const Turns<{}> turns;", groups);
  if (groups != 0) out_.line("turns.open();");
  block(kernel_.body);
  if (groups != 0) out_.line("turns.close();");
  out_.close();
  // Other blocks of the cluster may still write windows to this block, or signal its barriers.
  if (kernel_.grid.cluster_blocks != 0) out_.line("sync_cluster();");
}

}  // namespace samite::codegen
