// Tile kernels where the threads of a block are CUDA's: a block for each instance of the launch, loops over elements
// that the threads share, and effects that one of them has for all.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <ranges>
#include <utility>

namespace samite::codegen {

using namespace ir;

void KernelEmitter::loop_of_block(const For &loop) {
  if (loop.kind == LoopKind::Block) return launch_blocks(loop);
  if (const auto tiles = tiles_in_registers(loop); !tiles.empty()) return loop_of_pieces(loop, tiles);
  // The number of turns is a constant: it is unrolled without a rest. NVVM, which unrolls loops from thread to thread
  // in steps of the block's threads with a loop for the rest, reads the wrong one of three tiles then, where that is
  // read under a condition (CUDA 12.9 and 13.0, up to compute capability 9.0; tests/tiles/thread_loop_test.cpp).
  const std::string index = name(loop.index), type(scalar_name(loop.type));
  internal_check(loop.begin.is_constant() && loop.begin.as_int() == 0 && loop.end.is_constant(),
                 "a loop over a tile's elements has no constant extent");
  const std::int64_t count = loop.end.as_int(), threads = kernel_.block_threads;
  const std::string turn = fresh("turn");
  if (count == 1) {
    out_.open("if (flat_thread() == 0) {{");
    if (used(loop.index)) out_.line("const {} {} = 0;", type, index);
  } else if (count <= threads) {
    out_.open("{{");
    out_.line("const {0} {1} = {0}(flat_thread());", type, index);
  } else {
    out_.open("for (i32 {0} = 0; {0} < {1}; ++{0}) {{", turn, (count + threads - 1) / threads);
    out_.line("const {0} {1} = {0}(flat_thread()) + {2} * {3};", type, index, turn, threads);
  }
  const bool rest = count % threads != 0 && count != 1;
  if (rest) out_.open("if ({} < {}) {{", index, count);
  in_thread_loop_ = true;
  block(loop.body);
  in_thread_loop_ = false;
  if (rest) out_.close();
  out_.close();
}

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
  if (uses_workspace_) out_.open("const auto instance = [&]() __attribute__((always_inline)) {{");
  for (const For *loop : nest) launch_indices_.push_back(Value::local(loop->type, loop->index));
  name_instance();
  block(nest.back()->body);
  launch_indices_.clear();
  if (uses_workspace_) {
    out_.close("};");
    out_.line("instance();");
  }
  out_.close();
}

}  // namespace samite::codegen
