// Main loops as a kernel declares them: the operands of the products in each iteration, read off the structured
// kernel's values. lower_tiles notes them on the loop (`ir::LoopProducts`), so that no later pass searches the lowered
// statements for windows, masks and sums.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/tiles/tile_loop.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace samite::passes {

// The products of tiles that each iteration of a structured loop computes, in order. The loop and `matmul` in it are
// what the user declares.
std::vector<const ir::Let *> products_of(const ir::For &structured);

// The load of a factor that each iteration loads unchanged, as a window of an array; null otherwise.
const ir::Operation *window_of(const ir::For &structured, const ir::Value &factor);

class DeclaredProducts {
 public:
  explicit DeclaredProducts(const ir::Kernel &structured);

  // The products of a structured loop, for its lowered loop. `memories`: of its tiles. `loaded`: the tiles that loads
  // (`TileLoad`) fill.
  ir::LoopProducts of(const ir::For &structured, const ir::For &lowered, const TileMemories &memories,
                      const std::set<ir::LocalId> &loaded) const;

 private:
  // A factor that an iteration loads: its load, and the number of valid terms, if it is masked.
  struct Window {
    ir::Value load;
    std::optional<ir::Value> terms = {};
    bool shared = false;
    std::set<ir::LocalId> values = {};  // that it is made of
  };

  const ir::Operation *made(const ir::Value &value) const;
  std::optional<Window> window(const ir::Value &factor, int terms_along, const std::set<ir::LocalId> &inside) const;
  std::optional<ir::Value> limit(const ir::Value &below, const ir::Type &tile, int dimension) const;
  bool is_zero(const ir::Value &value) const;

  std::map<ir::LocalId, ir::Stmt> lets_;
  std::map<ir::LocalId, int> uses_;
};

}  // namespace samite::passes
