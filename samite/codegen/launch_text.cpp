#include "samite/codegen/launch_text.h"

namespace samite::codegen {
namespace {

// The number of dimensions of the launch that vary faster.
int dimensions_within(const LaunchLoop &loop) { return loop.launch_rank - 1 - loop.dimension; }

char axis(const LaunchLoop &loop) { return "xyzz"[dimensions_within(loop)]; }

std::string thread_on_axis(const LaunchLoop &loop, std::string_view type) {
  return fmt::format("{0}(blockIdx.{1}) * blockDim.{1} + threadIdx.{1}", type, axis(loop));
}

std::string in_steps(const std::string &thread, std::int64_t step) {
  return step == 1 ? thread : fmt::format("({}) * {}", thread, step);
}

// In four dimensions the outer two share an axis: the outermost loop covers both, and the next one only names its part.
bool over_two(const LaunchLoop &loop) { return dimensions_within(loop) == 3; }
bool part_of_two(const LaunchLoop &loop) { return loop.launch_rank == 4 && dimensions_within(loop) == 2; }

std::string next_extent(const LaunchLoop &loop) {
  return fmt::format("(box.end[{0}] - box.begin[{0}])", loop.dimension + 1);
}

void marched_loop(SourceWriter &out, const LaunchLoop &loop, const std::function<void()> &body) {
  const std::string at = fmt::format("at{}", loop.number), first = fmt::format("first{}", loop.number);
  out.line("const u32 {} = ({}) * {};", first, thread_on_axis(loop, "u32"), loop.march);
  out.line("#pragma unroll 1");
  out.open("for (u32 {0} = {1}; {0} < u32({2} - {3}) && {0} - {1} < {4}; ++{0}) {{", at, first, loop.end, loop.begin,
           loop.march);
  out.line("const {0} {1} = {2} + {0}({3});", loop.type, loop.index, loop.begin, at);
  body();
  out.close();
}

void exact_loop(SourceWriter &out, const LaunchLoop &loop, const std::function<void()> &body) {
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

// Counts in 64 bits: the last step may exceed the index's type.
void grid_stride_loop(SourceWriter &out, const LaunchLoop &loop, const std::function<void()> &body) {
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

}  // namespace

void launch_loop_text(SourceWriter &out, const LaunchLoop &loop, bool grid_stride, const std::function<void()> &body) {
  if (part_of_two(loop)) {
    out.open("{{");
    out.line("const {0} {1} = {2} + {0}(at{3} % {4});", loop.type, loop.index, loop.begin, loop.number - 1,
             fmt::format("({} - {})", loop.end, loop.begin));
    body();
    out.close();
  } else if (grid_stride) {
    grid_stride_loop(out, loop, body);
  } else {
    exact_loop(out, loop, body);
  }
}

}  // namespace samite::codegen
