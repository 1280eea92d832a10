// The launch of a tile kernel on CUDA's threads.
#include "samite/codegen/spelling.h"
#include "samite/codegen/threads_emitter.h"

#include <ranges>
#include <utility>

namespace samite::codegen {

using namespace ir;

// The extent of a dimension, counted in clusters along the clustered one.
std::string ThreadsEmitter::extent_of(const For &loop, const Numbering &numbering) {
  const std::string extent = fmt::format("({0}({1}) - {0}({2}))", numbering.type, scalar(loop.end), scalar(loop.begin));
  return &loop == numbering.clustered ? fmt::format("({} / {})", extent, kernel_.grid.cluster_blocks) : extent;
}

void ThreadsEmitter::define_index(const For &loop, const Numbering &numbering, const std::string &value) {
  const std::string_view type = scalar_name(loop.type);
  out_.line("const {0} {1} = {2} + {0}({3});", type, name(loop.index), scalar(loop.begin),
            &loop == numbering.clustered ? fmt::format("({0}) * {1} + block % {1}", value, kernel_.grid.cluster_blocks)
                                         : value);
}

// A block for each instance; in the grid-stride form it iterates over further ones.
void ThreadsEmitter::launch_blocks(const For &outermost) {
  std::vector<const For *> nest{&outermost};
  while (static_cast<int>(nest.size()) < kernel_.launch_rank) nest.push_back(nest.back()->body.at(0).as<For>());
  const bool wide = options_.cuda.wide_launch;
  const std::string_view number = wide ? "i64" : "u32";
  if (options_.cuda.grid_axes) return launch_axes(nest);
  std::string blocks;
  for (const For *loop : nest) blocks += (blocks.empty() ? "" : " * ") + extent_of(*loop, {number});
  out_.line("const {} blocks = {};", number, blocks);
  if (of_team()) {
    out_.line("turns.open();");
    out_.open("for ({0} block = blockIdx.x + team * gridDim.x; block < blocks; block += {1} * gridDim.x) {{", number,
              kernel_.roles.teams);
  } else if (options_.cuda.grid_stride) {
    out_.open("for ({} block = blockIdx.x; block < blocks; block += gridDim.x) {{", number);
  } else if (kernel_.grid.step_parts != 0) {
    out_.open("if (const {} block = blockIdx.x / {}; block < blocks) {{", number, kernel_.grid.step_parts);
  } else {
    out_.open("if (const {} block = blockIdx.x; block < blocks) {{", number);
  }
  Numbering numbering{number};
  std::string rest = "block";
  if (kernel_.grid.cluster_blocks != 0) {
    numbering.clustered = nest[static_cast<std::size_t>(kernel_.grid.cluster_dimension)];
    rest = fresh("cluster");
    out_.line("const {} {} = block / {};", number, rest, kernel_.grid.cluster_blocks);
  }
  if (kernel_.grid.strip_columns != 0) {
    const std::size_t rows = nest.size() - 2;
    std::string place = rest;
    if (rows != 0) {
      const std::string whole = fresh("whole"), outer = fresh("rest");
      out_.line("const {} {} = {} * {};", number, whole, extent_of(*nest[rows], numbering),
                extent_of(*nest[rows + 1], numbering));
      define_quotient(outer, rest, whole);
      place = fresh("place");
      out_.line("const {} {} = {} - {} * {};", number, place, rest, outer, whole);
      indices_in_rows(std::span(nest).first(rows), numbering, outer);
    }
    indices_in_strips(*nest[rows], *nest[rows + 1], numbering, place);
  } else {
    indices_in_rows(nest, numbering, rest);
  }
  nest_body(nest);
}

void ThreadsEmitter::define_quotient(const std::string &name, const std::string &number, const std::string &by) {
  if (options_.cuda.wide_launch)
    out_.line("const i64 {} = quotient({}, {});", name, number, by);
  else
    out_.line("const u32 {} = {} / {};", name, number, by);
}

// The last dimension varies fastest.
void ThreadsEmitter::indices_in_rows(std::span<const For *const> nest, const Numbering &numbering, std::string place) {
  for (const For *loop : std::views::reverse(nest)) {
    if (loop == nest.front()) {
      define_index(*loop, numbering, place);
      break;
    }
    const std::string outer = fresh("rest");
    const std::string count = extent_of(*loop, numbering);
    define_quotient(outer, place, count);
    define_index(*loop, numbering, fmt::format("{} - {} * {}", place, outer, count));
    place = outer;
  }
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

// Strips of columns are consecutive; within a strip, rows are.
void ThreadsEmitter::indices_in_strips(const For &rows, const For &columns, const Numbering &numbering,
                                       const std::string &place) {
  const std::string_view number = numbering.type;
  const auto extent = [&](const For &loop) { return extent_of(loop, numbering); };
  const std::string most = fresh("most"), all = fresh("rows"), strip = fresh("strip"), left = fresh("left"),
                    width = fresh("width"), rest = fresh("rest");
  out_.line("const {0} {1} = {2} < {3} ? {2} : {3};", number, most, extent(columns),
            &columns == numbering.clustered ? kernel_.grid.strip_columns / kernel_.grid.cluster_blocks
                                            : kernel_.grid.strip_columns);
  out_.line("const {} {} = {} * {};", number, all, extent(rows), most);
  out_.line("const {} {} = {} / {};", number, strip, place, all);
  out_.line("const {} {} = {} - {} * {};", number, left, extent(columns), strip, most);
  out_.line("const {0} {1} = {2} < {3} ? {2} : {3};", number, width, left, most);
  out_.line("const {} {} = {} - {} * {};", number, rest, place, strip, all);
  define_index(rows, numbering, fmt::format("{} / {}", rest, width));
  define_index(columns, numbering, fmt::format("{} * {} + {} % {}", strip, most, rest, width));
}

void ThreadsEmitter::nest_body(const std::vector<const For *> &nest) {
  // If a block gets no memory, only that block ends.
  if (emission_.uses_workspace) out_.open("const auto instance = [&]() __attribute__((always_inline)) {{");
  for (const For *loop : nest) failures_.enter(Value::local(loop->type, loop->index), 0);
  if (of_team()) tile_calls_.begin_index_of_team();
  block(nest.back()->body);
  if (of_team()) tile_calls_.end_index_of_team();
  for (std::size_t i = 0; i < nest.size(); ++i) failures_.leave();
  if (emission_.uses_workspace) {
    out_.close("};");
    out_.line("instance();");
  }
  // The next index uses the same shared memory. If threads have roles, the barriers of their rings protect it.
  if (options_.cuda.grid_stride && !options_.cuda.stays) out_.line("__syncthreads();");
  out_.close();
}

}  // namespace samite::codegen
