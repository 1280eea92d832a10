#include "samite/jit/array_copies.h"

#include "samite/base/error.h"
#include "samite/jit/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace samite::jit {
namespace {

ArrayCopyArguments arguments_of(const ArrayCopy &copy, const ir::Parameter &array,
                                const codegen::ArgumentLayout &layout, const std::byte *arguments) {
  using Layout = codegen::ArgumentLayout;
  const int rank = array.rank;
  const auto bytes = static_cast<std::int64_t>(size_of(array.type));
  const auto word = [&](std::uint32_t parameter, std::size_t offset) {
    std::int64_t value;
    std::memcpy(&value, arguments + layout.offsets[parameter] + offset, sizeof value);
    return value;
  };
  ArrayCopyArguments own{};
  own.from = static_cast<std::uint64_t>(word(copy.array, Layout::data_offset()));
  own.to = static_cast<std::uint64_t>(word(copy.parameter, Layout::data_offset()));
  std::fill_n(own.extent, 4, 1);
  for (int d = 0; d < rank; ++d) {
    const int to = 4 - rank + d, from = !copy.swapped || d < rank - 2 ? d : 2 * rank - 3 - d;
    own.extent[to] = word(copy.array, Layout::extent_offset(from));
    own.stride[to] = word(copy.array, Layout::stride_offset(rank, from)) * bytes;
  }
  own.row_bytes = word(copy.parameter, Layout::stride_offset(rank, rank - 2)) * bytes;
  return own;
}

driver::LaunchShape shape_of(const ArrayCopy &copy, const ArrayCopyArguments &own, std::optional<int> priority) {
  driver::LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(array_copy_blocks(own, copy.by_rows));
  shape.block[0] = array_copy_threads;
  shape.priority = priority;
  return shape;
}

}  // namespace

std::int64_t array_copy_blocks(const ArrayCopyArguments &own, bool by_rows) {
  // As in samite/device/cuda/copy_array.h.
  constexpr std::int64_t unit_bytes = 16, units_of_block = std::int64_t{4} * array_copy_threads, tile = 64;
  const auto over = [](std::int64_t count, std::int64_t each) { return (count + each - 1) / each; };
  const std::int64_t outer = own.extent[0] * own.extent[1];
  return by_rows ? over(outer * own.extent[2] * (own.row_bytes / unit_bytes), units_of_block)
                 : outer * over(own.extent[2], tile) * over(own.extent[3], tile);
}

ArrayCopy array_copy(const passes::FactorCopy &copy, ScalarType type, bool by_rows, int compute_capability) {
  const char *function = by_rows ? "copy_rows" : "copy_transposed";
  const std::string entry = fmt::format("samite_{}_{}", function, size_of(type));
  const std::string text = fmt::format(
      "namespace samite {{\nextern \"C\" __global__ void __launch_bounds__({}) {}(const __grid_constant__ ArrayCopy "
      "copy) {{\n  {}<{}>(copy);\n}}\n}}  // namespace samite\n",
      array_copy_threads, entry, function, size_of(type));
  CompiledCuda compiled = Target::of(compute_capability).compile({.name = entry, .text = text});
  return {copy, by_rows, std::make_shared<CudaCode>(std::move(compiled.image), entry)};
}

ArrayCopyLaunch::ArrayCopyLaunch(const ArrayCopy &copy, const ir::Parameter &array,
                                 const codegen::ArgumentLayout &layout, const std::byte *arguments,
                                 std::optional<int> priority, const driver::Stream &stream, SourceLocation where)
    : arguments_(arguments_of(copy, array, layout, arguments)),
      prepared_(stream, copy.code->on(stream.context()), shape_of(copy, arguments_, priority), where) {}

}  // namespace samite::jit
