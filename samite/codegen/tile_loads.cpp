// Copies of tiles from device memory to a block's shared memory.
#include "samite/codegen/tile_calls.h"

#include "samite/ir/tile_rules.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

// The window spans the last two dimensions of the array, or the last one; it has one element of the others.
std::string TileCalls::window(const Type &type, std::uint32_t from, const std::vector<Value> &indices) const {
  const TileShape shape = type.shape();
  const std::size_t rank = indices.size(), last = rank - 1;
  const bool rows = shape.rank() == 2;
  const std::string array = fmt::format("p{}", from);
  std::string data = array + ".data", inside;
  for (std::size_t d = 0; d < rank - static_cast<std::size_t>(shape.rank()); ++d) {
    const std::string index = scalar_text(indices[d]);
    data += fmt::format(" + i64({}) * {}.stride[{}]", index, array, d);
    inside +=
        fmt::format("{0}i64({1}) >= 0 && i64({1}) < {2}.extent[{3}]", inside.empty() ? "" : " && ", index, array, d);
  }
  const std::string extent = rows ? fmt::format("{}.extent[{}]", array, last - 1) : "1";
  return fmt::format("tile_window({}, {}, {}, {}, {}.extent[{}], {}, {})", data,
                     rows ? scalar_text(indices[last - 1]) : "0", scalar_text(indices[last]),
                     inside.empty() ? extent : fmt::format("{} ? {} : 0", inside, extent), array, last,
                     rows ? fmt::format("{}.stride[{}]", array, last - 1) : "0",
                     emission_.facts(from).unit_stride ? "1" : fmt::format("{}.stride[{}]", array, last));
}

// The template arguments of `tile_load` and of `TileLoads`.
std::string TileCalls::load_arguments(const TileMemory &to, bool in_units) const {
  const TileShape shape = to.type.shape();
  return fmt::format("{}, {}, {}, {}, {}", places_.rows_type(to), shape.rank() == 2 ? shape[0] : 1,
                     shape[shape.rank() - 1], emission_.kernel.block_threads, in_units);
}

void TileCalls::load(const TileLoad &load, SourceLocation where) {
  const std::string to = array_name(load.result.array);
  if (load.stream) return emission_.out.line("{}.next({});", array_name(*load.stream), to);
  const std::string how = places_.fragments_of(load.result.array)
                              ? fmt::format("tile_load_spread<Sums{}, {}, {}>", load.result.array,
                                            emission_.constant(load.array), load.in_units)
                              : fmt::format("tile_load<{}>", load_arguments(load.result, load.in_units));
  emission_.out.line("{}({}, {});", how, to, window(load.result.type, load.array, load.indices));
  note_load(load.result.type, load.array, where);
}

void TileCalls::prefetch(const Prefetch &fetch) {
  const std::int64_t columns = fetch.type.shape()[fetch.type.shape().rank() - 1];
  emission_.out.line("tile_prefetch<{}, {}>({});", fetch.type.count() / columns, columns,
                     window(fetch.type, fetch.array, fetch.indices));
}

void TileCalls::load_stream(const LoadStream &stream, SourceLocation where) {
  const std::string name = array_name(stream.stream);
  emission_.out.line("auto {} = tile_loads<{}>({}, {}, {});", name, load_arguments(stream.to, stream.in_units),
                     window(stream.to.type, stream.array, stream.indices), stream.rows, stream.columns);
  emission_.out.line("const i32 {} = {}.inside();", local_name(stream.inside), name);
  note_load(stream.to.type, stream.array, where);
}

void TileCalls::multiply_ahead(const MainLoop &loop, SourceLocation where) {
  std::string loads, arguments = array_name(loop.result.array);
  for (const Transfer &factor : loop.factors) arguments += ", " + array_name(factor.ring.array);
  for (const Transfer &factor : loop.factors) {
    const Type type = factor.ring.type;
    loads += fmt::format(", StepLoads<{}, {}, {}, {}>", load_arguments(factor.ring, factor.in_units), factor.rows,
                         factor.columns, places_.bytes_of_buffer(factor.ring.array));
    arguments += ", " + window(type, factor.array, factor.indices);
    note_load(type, factor.array, where);
  }
  const TileMemory &first = loop.factors[0].ring;
  const MatMulExtents e = matmul_extents(first.type, loop.result.type, loop.attribute);
  emission_.out.line("tile_multiply_ahead<{}, {}, {}, {}, {}{}>({}, {});", fragments_type(loop.sums), e.inner,
                     places_.stages_of(first.array), (loop.attribute & transposed_a) != 0,
                     (loop.attribute & transposed_b) != 0, loads, arguments, scalar_text(*loop.count));
}

// Notes a load once, even if it is emitted twice, as a stream's next window and at the array's edges.
void TileCalls::note_load(const Type &type, std::uint32_t array, SourceLocation where) {
  const TileShape shape = type.shape();
  const auto row_bytes = shape[shape.rank() - 1] * static_cast<std::int64_t>(size_of(type));
  const TileLoadSite site{array, emission_.facts(array).rows_in_units() && row_bytes % 16 == 0, where};
  std::vector<TileLoadSite> &known = emission_.source.tile_loads;
  if (std::ranges::find(known, site) == known.end()) known.push_back(site);
}

}  // namespace samite::codegen
