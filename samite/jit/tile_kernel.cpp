#include "samite/jit/tile_kernel.h"

#include "samite/base/error.h"

namespace samite::jit {

int block_threads(const TileOptions &options, const std::string &kernel, SourceLocation where) {
  constexpr int warp = 32, most = 1024;
  if (options.threads < warp || options.threads > most || options.threads % warp != 0)
    throw UserError(where, "kernel '" + kernel + "': a block of " + std::to_string(options.threads) +
                               " threads; it has a multiple of 32, at most 1024");
  return options.threads;
}

ir::Kernel with_options(ir::Kernel captured, const TileOptions &options) {
  captured.sums_in_shared = options.sums == tile::Memory::shared;
  return captured;
}

}  // namespace samite::jit
