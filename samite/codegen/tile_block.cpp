// The launch of a tile kernel where the threads of a block are CUDA's.
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"

#include <ranges>
#include <utility>

namespace samite::codegen {

using namespace ir;

// A block for each instance; in the grid-stride form it goes on to further ones.
void KernelEmitter::launch_blocks(const For &outermost) {
  std::vector<const For *> nest{&outermost};
  while (static_cast<int>(nest.size()) < kernel_.launch_rank) nest.push_back(nest.back()->body.at(0).as<For>());
  const bool wide = options_.cuda.wide_launch;
  const std::string_view number = wide ? "i64" : "u32";
  auto extent = [&](const For &loop) {
    return fmt::format("({0}({1}) - {0}({2}))", number, scalar(loop.end), scalar(loop.begin));
  };
  std::string blocks;
  for (const For *loop : nest) blocks += (blocks.empty() ? "" : " * ") + extent(*loop);
  out_.line("const {} blocks = {};", number, blocks);
  if (options_.cuda.grid_stride)
    out_.open("for ({} block = blockIdx.x; block < blocks; block += gridDim.x) {{", number);
  else
    out_.open("if (const {} block = blockIdx.x; block < blocks) {{", number);
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
  // A block that gets no memory ends alone.
  if (emission_.uses_workspace) out_.open("const auto instance = [&]() __attribute__((always_inline)) {{");
  for (const For *loop : nest) failures_.enter(Value::local(loop->type, loop->index));
  block(nest.back()->body);
  for (std::size_t i = 0; i < nest.size(); ++i) failures_.leave();
  if (emission_.uses_workspace) {
    out_.close("};");
    out_.line("instance();");
  }
  out_.close();
}

}  // namespace samite::codegen
