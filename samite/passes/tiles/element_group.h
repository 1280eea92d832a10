// Element-wise statements over equal extents, which lower_tiles writes as one loop. Internal to lower_tiles.
#pragma once

#include "samite/passes/tiles/tile_loop.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace samite::passes {

// Whether an operation's result at one element depends on its operand at another one.
bool moves_elements(ir::Op op);

// The tile that a statement defines or stores element by element.
std::optional<ir::Type> tile_of(const ir::Stmt &stmt);
// Whether it defines a tile, or a scalar computed from one.
bool defines_tile(const ir::Stmt &stmt);
// Whether it defines a tile by an operation without effects, which may be moved.
bool is_pure_tile(const ir::Stmt &stmt);

class ElementGroup {
 public:
  explicit ElementGroup(ir::TileShape shape) : shape_(shape) {}

  bool takes(const ir::Stmt &stmt) const;
  void add(const ir::Stmt &stmt);

  const std::vector<const ir::Stmt *> &statements() const { return statements_; }
  bool defines(const ir::Value &value) const { return value.is_local() && defined_.contains(value.id()); }
  bool has(const ir::Stmt &stmt) const { return has_.contains(&stmt); }
  bool writes() const { return writes_; }
  // How often the statements use each local.
  std::map<ir::LocalId, int> uses() const;

  // Whether several elements may be added to one place. Integer additions give the same result in any order, but not
  // the same previous values.
  bool adds_by_index() const;
  // Whether an element's coordinates are used.
  bool with_coordinates(const TileMemories &memories) const;

 private:
  ir::TileShape shape_;
  std::vector<const ir::Stmt *> statements_;
  std::set<const ir::Stmt *> has_;
  std::set<ir::LocalId> defined_;
  std::set<ir::LocalArrayId> local_arrays_read_, local_arrays_written_;
  std::vector<const ir::Stmt *> accesses_;
  bool writes_ = false;
};

}  // namespace samite::passes
