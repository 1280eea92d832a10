// Emitted kernels with persistent blocks and producer warps, on the host: capability 9.0.
#pragma once

#include "tests/codegen/cuda_on_host.h"
#include "tests/codegen/sm90_on_host.h"

#include <fmt/format.h>

#include <optional>

namespace samite::test {

// All favourable facts about arrays.
inline codegen::EmitOptions good_arrays() {
  codegen::EmitOptions options = cuda_options();
  for (passes::ArrayFacts &facts : options.arrays)
    facts.unit_stride = facts.unaliased = facts.aligned_rows = facts.has_tensor_map = true;
  return options;
}

// A map of a two-dimensional array without gaps between rows.
inline TensorMapOnHost map_on_host(const passes::TensorMapNeeded &map, const void *data,
                                   const std::vector<std::int64_t> &extents) {
  const auto whole = [](std::int64_t number) { return static_cast<std::uint64_t>(number); };
  const auto bytes = static_cast<unsigned>(size_of(map.type));
  return {data,
          bytes,
          {whole(extents[0]), whole(extents[1])},
          {whole(extents[1]) * bytes},
          {whole(map.rows), whole(map.columns)},
          false,
          map.values};
}

class StayingBlocksOnHost {
 public:
  StayingBlocksOnHost(const ir::Kernel &planned, codegen::EmitOptions options)
      : threads_(static_cast<unsigned>(threads_of_block(planned))),
        rows_(planned.roles.teams == 0 ? 1 : static_cast<unsigned>(planned.roles.teams) + 1),
        blocks_of_cluster_(static_cast<unsigned>(std::max({planned.grid.cluster_blocks, planned.grid.step_parts, 1}))) {
    options.cuda.tile_threads = static_cast<int>(threads_);
    options.cuda.grid_stride = options.cuda.stays = planned.grid.step_parts == 0;
    const codegen::EmittedSource source = codegen::emit_cuda(planned, options);
    maps_ = source.tensor_maps;
    text_.emplace(source.text + fmt::format(R"(
namespace samite {{
struct Given {{
  const Arguments *arguments;
  const Box *box;
  const TensorMaps *maps;
}};
void kernel(const void *given) {{
  const auto &own = *static_cast<const Given *>(given);
  {}(*own.arguments, *own.box, nullptr, Workspace{{}}, *own.maps);
}}
}}  // namespace samite
)",
                                            source.entry),
                  "kernel");
  }

  // Those that `run` wants, in order.
  const std::vector<passes::TensorMapNeeded> &maps() const { return maps_; }

  void run(const std::vector<Argument> &arguments, const std::vector<TensorMapOnHost> &maps,
           const std::vector<std::int64_t> &extents, unsigned blocks, ThreadOrder order) const {
    std::vector<unsigned char> bytes;
    for (const Argument &argument : arguments) bytes.insert(bytes.end(), argument.bytes.begin(), argument.bytes.end());
    codegen::CudaBox box;
    for (std::size_t d = 0; d < extents.size(); ++d) box.end[d] = extents[d];
    const void *const given[] = {bytes.data(), &box, maps.data()};
    text_->run(blocks, threads_, given, order, blocks_of_cluster_, rows_);
  }

 private:
  unsigned threads_, rows_, blocks_of_cluster_;
  std::vector<passes::TensorMapNeeded> maps_;
  std::optional<CudaTextOnHost> text_;
};

}  // namespace samite::test
