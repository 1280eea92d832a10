#include "samite/codegen/emit.h"

#include "samite/base/code_names.h"
#include "samite/base/error.h"
#include "samite/codegen/cpu_lanes.h"
#include "samite/codegen/lanes_emitter.h"
#include "samite/codegen/parameter_space.h"
#include "samite/codegen/source_writer.h"
#include "samite/codegen/threads_emitter.h"
#include "samite/passes/threads/march.h"
#include "samite/passes/threads/side_by_side.h"

#include <algorithm>

namespace samite::codegen {
namespace {

// A name valid in C++ and for linkers.
std::string entry_name(std::string_view kernel) {
  std::string entry = "samite_";
  for (char c : kernel) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    entry += plain ? c : '_';
  }
  return entry;
}

// Kernels of a schedule often differ only in names, and then share their code (schedule/share_code.h): the function of
// each has this name. The kernel's name is a second name, which debuggers and profilers show.
constexpr const char *shared_entry = "samite_entry";

void add_names(EmittedSource &source, const ir::Kernel &kernel) {
  std::string names(code_names_line);
  names += fmt::format(
      "extern \"C\" __attribute__((alias(\"{}\"))) void {}(const void *, const i64 *, const i64 *, Failure *,\n"
      "    Workspace *);\n",
      source.entry, entry_name(kernel.name));
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p)
    names += fmt::format("{}\n", SourceWriter::remark(fmt::format("p{}: {}", p, kernel.parameters[p].name)));
  source.text += names;
  source.lines.resize(source.lines.size() + static_cast<std::size_t>(std::ranges::count(names, '\n')));
}

}  // namespace

EmittedSource emit_cpu(const ir::Kernel &lowered, const EmitOptions &options) {
  // Passes computed the shapes of values too, for the kernel at their time. The text should depend on the kernel only,
  // and shapes take a microsecond for a hundred statements.
  LaneValues values(lowered);
  const int lanes = options.debug ? cpu_lanes(lowered, options.vector_bytes)
                                  : cpu_lanes(lowered, values.uniformity(), options.vector_bytes);
  EmittedSource source =
      LanesEmitter(lowered, options, values, lanes).emit(lowered.scheduled ? shared_entry : entry_name(lowered.name));
  source.vector_lanes = lanes;
  if (lowered.scheduled) add_names(source, lowered);
  return source;
}

void set_blocks(CudaForm &form, const ir::Kernel &planned) {
  form.tile_threads = threads_of_block(planned);
  form.teams = planned.roles.teams;
  form.cluster_blocks = planned.grid.cluster_blocks;
  form.step_parts = planned.grid.step_parts;
  form.grid_stride = form.grid_stride || planned.grid.strides;
  form.stays = form.stays || planned.grid.persistent;
  form.grid_axes = form.grid_axes || planned.grid.axes;
}

EmittedSource emit_cuda(const ir::Kernel &planned, const EmitOptions &options) {
  check_parameter_space(planned);
  EmitOptions own = options;
  set_blocks(own.cuda, planned);
  if (own.cuda.tile_threads != 0) own.cuda.threads_per_block = own.cuda.tile_threads;
  internal_check(planned.grid.step_parts == 0 || !own.cuda.grid_stride,
                 "parts of steps where blocks take several indices");
  internal_check(passes::instances_of_thread(planned) == own.cuda.instances_per_thread,
                 "a form for another number of instances than the kernel was planned for");
  internal_check(passes::marched(planned) == own.cuda.march, "a form that marches otherwise than the kernel");
  return ThreadsEmitter(planned, own, Values()).emit(entry_name(planned.name));
}

}  // namespace samite::codegen
