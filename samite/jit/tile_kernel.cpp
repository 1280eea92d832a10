#include "samite/jit/tile_kernel.h"

#include "samite/base/error.h"
#include "samite/jit/definition.h"
#include "samite/lang/capture.h"

#include <array>

namespace samite {

Extents blocks_over(const Extents &whole, const Extents &tile, SourceLocation where) {
  bool fits = whole.rank() == tile.rank() && whole.rank() > 0;
  for (const std::int64_t extent : tile) fits = fits && extent > 0;
  if (!fits)
    throw UserError(where, "blocks_over: expected an extent of at least 1 of the tile for each of " +
                               whole.to_string() + "; a tile of " + tile.to_string() + " given");
  std::array<std::int64_t, maximum_rank> blocks{};
  for (int d = 0; d < whole.rank(); ++d)
    blocks[static_cast<std::size_t>(d)] = whole[d] / tile[d] + (whole[d] % tile[d] != 0 ? 1 : 0);
  return Extents(std::span(blocks).first(static_cast<std::size_t>(whole.rank())), where);
}

namespace jit {

void check_options(const TileOptions &options, const std::string &kernel, SourceLocation where) {
  constexpr int warp = 32, most = 1024;
  if (options.threads < warp || options.threads > most || options.threads % warp != 0)
    throw UserError(where, "kernel '" + kernel + "': a block of " + std::to_string(options.threads) +
                               " threads; it has a multiple of 32, at most 1024");
  if (const std::string invalid = invalid_field(options.plan); !invalid.empty())
    throw UserError(where, "kernel '" + kernel + "': TileOptions::plan has " + invalid);
}

std::shared_ptr<KernelDefinition> define_kernel(std::string name, std::vector<ir::Parameter> parameters,
                                                FunctionRef<void(std::uint32_t serial)> function,
                                                const TileOptions &options, SourceLocation where) {
  ir::Kernel captured = lang::run_capture(std::move(name), std::move(parameters), function, where, options.threads);
  captured.sums_in_shared = options.sums_in_shared_memory;
  captured.plan = options.plan;
  return defined(std::move(captured), where);
}

}  // namespace jit
}  // namespace samite
