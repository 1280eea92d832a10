// The launch of a tile kernel where the threads of a block are CUDA's.
#include "samite/codegen/spelling.h"
#include "samite/codegen/threads_emitter.h"

#include <ranges>
#include <utility>

namespace samite::codegen {

using namespace ir;

// A block for each instance; in the grid-stride form it goes on to further ones.
void ThreadsEmitter::launch_blocks(const For &outermost) {
  std::vector<const For *> nest{&outermost};
  while (static_cast<int>(nest.size()) < kernel_.launch_rank) nest.push_back(nest.back()->body.at(0).as<For>());
  const bool wide = options_.cuda.wide_launch;
  const std::string_view number = wide ? "i64" : "u32";
  auto extent = [&](const For &loop) {
    return fmt::format("({0}({1}) - {0}({2}))", number, scalar(loop.end), scalar(loop.begin));
  };
  if (options_.cuda.grid_axes) return launch_axes(nest);
  std::string blocks;
  for (const For *loop : nest) blocks += (blocks.empty() ? "" : " * ") + extent(*loop);
  out_.line("const {} blocks = {};", number, blocks);
  if (options_.cuda.grid_stride)
    out_.open("for ({} block = blockIdx.x; block < blocks; block += gridDim.x) {{", number);
  else
    out_.open("if (const {} block = blockIdx.x; block < blocks) {{", number);
  if (kernel_.strip_columns != 0) {
    indices_in_strips(*nest[0], *nest[1], number);
    nest_body(nest);
    return;
  }
  std::string rest = "block";
  for (const For *loop : std::views::reverse(nest)) {
    const std::string index = name(loop->index), type(scalar_name(loop->type));
    if (loop == nest.front()) {
      out_.line("const {0} {1} = {2} + {0}({3});", type, index, scalar(loop->begin), rest);
      break;
    }
    const std::string outer = fresh("rest");
    const std::string count = extent(*loop);
    out_.line("const {} {} = {};", number, outer,
              wide ? fmt::format("quotient({}, {})", rest, count) : fmt::format("{} / {}", rest, count));
    out_.line("const {0} {1} = {2} + {0}({3} - {4} * {5});", type, index, scalar(loop->begin), rest, outer, count);
    rest = outer;
  }
  nest_body(nest);
}

// An axis of the grid for each dimension. A cluster may round up the first.
void ThreadsEmitter::launch_axes(const std::vector<const For *> &nest) {
  out_.open("if (blockIdx.x < u32({}) - u32({})) {{", scalar(nest.back()->end), scalar(nest.back()->begin));
  for (std::size_t d = 0; d < nest.size(); ++d) {
    const For &loop = *nest[d];
    out_.line("const {0} {1} = {0}(block_on_axis(u32({2}) + blockIdx.{3}));", scalar_name(loop.type), name(loop.index),
              scalar(loop.begin), "xyz"[nest.size() - 1 - d]);
  }
  nest_body(nest);
}

// Strips of columns follow one another; within one, rows do.
void ThreadsEmitter::indices_in_strips(const For &rows, const For &columns, std::string_view number) {
  const auto extent = [&](const For &loop) {
    return fmt::format("({0}({1}) - {0}({2}))", number, scalar(loop.end), scalar(loop.begin));
  };
  const std::string most = fresh("most"), all = fresh("rows"), strip = fresh("strip"), left = fresh("left"),
                    width = fresh("width"), rest = fresh("rest");
  out_.line("const {0} {1} = {2} < {3} ? {2} : {3};", number, most, extent(columns), kernel_.strip_columns);
  out_.line("const {} {} = {} * {};", number, all, extent(rows), most);
  out_.line("const {} {} = block / {};", number, strip, all);
  out_.line("const {} {} = {} - {} * {};", number, left, extent(columns), strip, most);
  out_.line("const {0} {1} = {2} < {3} ? {2} : {3};", number, width, left, most);
  out_.line("const {} {} = block - {} * {};", number, rest, strip, all);
  const auto define = [&](const For &loop, const std::string &value) {
    const std::string_view type = scalar_name(loop.type);
    out_.line("const {0} {1} = {2} + {0}({3});", type, name(loop.index), scalar(loop.begin), value);
  };
  define(rows, fmt::format("{} / {}", rest, width));
  define(columns, fmt::format("{} * {} + {} % {}", strip, most, rest, width));
}

void ThreadsEmitter::nest_body(const std::vector<const For *> &nest) {
  // A block that gets no memory ends alone.
  if (emission_.uses_workspace) out_.open("const auto instance = [&]() __attribute__((always_inline)) {{");
  for (const For *loop : nest) failures_.enter(Value::local(loop->type, loop->index), 0);
  block(nest.back()->body);
  for (std::size_t i = 0; i < nest.size(); ++i) failures_.leave();
  if (emission_.uses_workspace) {
    out_.close("};");
    out_.line("instance();");
  }
  // The next block uses the same shared memory. Where threads have roles, their rings of buffers see to that.
  if (options_.cuda.grid_stride && !options_.cuda.stays) out_.line("__syncthreads();");
  out_.close();
}

}  // namespace samite::codegen
