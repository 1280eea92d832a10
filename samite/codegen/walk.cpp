#include "samite/codegen/walk.h"

#include "samite/base/error.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"
#include "samite/passes/pipelines/loop_functions.h"
#include "samite/passes/sm90/product_loops.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace samite::codegen {

using namespace ir;

Walk::Walk(const Kernel &kernel, const EmitOptions &options, const Values &values, TileFunctions functions)
    : emission_(kernel, options),
      kernel_(kernel),
      options_(options),
      out_(emission_.out),
      failures_(emission_),
      loop_text_(emission_, values, functions == TileFunctions::of_cpu && passes::has_many_loops(kernel)),
      places_(kernel),
      tile_calls_(emission_, places_, functions),
      values_(values) {}

EmittedSource Walk::emit(const std::string &entry) {
  open_kernel(entry);
  body();
  close_kernel();
  EmittedSource source = std::move(emission_.source);
  source.text = tile_calls_.declarations();
  source.lines.resize(static_cast<std::size_t>(std::ranges::count(source.text, '\n')));
  source.text += out_.take();
  std::ranges::copy(out_.take_lines(), std::back_inserter(source.lines));
  source.entry = entry;
  source.uses_workspace = emission_.uses_workspace;
  source.uses_channel = options_.debug || source.uses_workspace || !source.messages.empty();
  source.sums_over_launch = passes::sums_over_launch(kernel_);
  source.tensor_maps = passes::tensor_maps(kernel_);
  return source;
}

void Walk::define_arguments(bool named) {
  out_.open("struct Arguments {{");
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
    const Parameter &parameter = kernel_.parameters[i];
    const std::string name = named ? "  " + SourceWriter::remark(parameter.name) : "";
    if (parameter.is_array())
      out_.line("Array<{}{}, {}> p{};{}", parameter.read_only ? "const " : "", memory_name(parameter.type),
                parameter.rank, i, name);
    else
      out_.line("Slot<{}> p{};{}", memory_name(parameter.type), i, name);
  }
  out_.close("};");
}

void Walk::block(const Block &block) {
  open_scope(block);
  for (const Stmt &stmt : block) statement(stmt);
}

void Walk::open_scope(const Block &block) {
  for (const Stmt &stmt : block) {
    const Allocate *allocate = stmt.as<Allocate>();
    if (!allocate || !allocate->in_workspace()) continue;
    out_.line("const WorkspaceScope {}(workspace);", fresh("scope"));
    return;
  }
}

void Walk::statement(const Stmt &stmt) {
  out_.location(stmt.where());
  visit(
      stmt, [&](const Let &statement) { let(statement, stmt.where()); },
      [](const CapturedOnly auto &) { throw InternalError("the emitter was given a kernel that is not structured"); },
      [](const CustomAdjoint &) { throw InternalError("the emitter was given a kernel with adjoints of its own"); },
      [&](const Store &statement) { store(statement, stmt.where()); },
      [&](const Accumulate &statement) { accumulate(statement, stmt.where()); },
      [&](const Allocate &statement) { allocate(statement, stmt.where()); },
      [&](const LocalStore &statement) { local_store(statement, stmt.where()); },
      [&](const TileCall &statement) { tile_calls_.call(statement); },
      [&](const TileLoad &statement) { tile_calls_.load(statement, stmt.where()); },
      [&](const MainLoop &statement) { tile_calls_.main_loop(statement, stmt.where()); },
      [&](const WindowProduct &statement) { tile_calls_.window_product(statement); },
      [&](const StageProduct &statement) { tile_calls_.stage_product(statement); },
      [&](const LoweredOnly auto &) { of_threads(stmt); },
      [&](const Print &statement) { print(statement, stmt.where()); },
      [&](const Check &statement) { check(statement, stmt.where()); }, [&](const If &statement) { branch(statement); },
      [&](const For &statement) { loop(statement); }, [&](const While &statement) { loop(statement); });
}

}  // namespace samite::codegen
