// Writes one loop over the elements of tiles with equal extents. Internal to lower_tiles.
#pragma once

#include "samite/passes/simplify/builder.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace samite::passes {

// The memory of tiles.
class TileMemories {
 public:
  virtual ~TileMemories() = default;
  virtual std::optional<ir::TileMemory> memory(const ir::Value &tile) const = 0;
  // The operation of a tile that is not in memory, because it is recomputed at each read; else null.
  virtual const ir::Operation *made_again(const ir::Value &tile) const = 0;
};

// The indices of a statement that reads or writes an array.
std::span<const ir::Value> access_indices(const ir::Stmt &stmt);

class TileLoop {
 public:
  TileLoop(Builder &build, const TileMemories &memories, ir::TileShape shape, bool flat, bool with_coordinates);

  // Writes an operation or a statement of the loop, for one element.
  void operation(const ir::Let &let, SourceLocation where);
  void store(const ir::Store &store, SourceLocation where);
  void accumulate(const ir::Accumulate &accumulate, SourceLocation where);
  void local_store(const ir::LocalStore &store, SourceLocation where);

  // The loop's current element of a tile.
  ir::Value element(const ir::Value &tile);
  // Writes that element to memory, at the end of the loop's body.
  void keep(const ir::Value &tile, const ir::TileMemory &memory) { kept_.push_back({tile, memory}); }

  // Appends the loop to the builder's block; its innermost loop is of this kind.
  void close(SourceLocation where, ir::LoopKind kind = ir::LoopKind::Thread);

 private:
  struct Level {
    ir::Block block;
    std::optional<ir::Value> index;
  };

  ir::Value at(std::size_t level, ir::Operation operation);
  ir::Value at(std::size_t level, ir::Op op, std::initializer_list<ir::Value> operands);
  std::size_t innermost() const { return levels_.size() - 1; }
  std::size_t level_of(int dimension) const { return flat_ ? innermost() : static_cast<std::size_t>(dimension) + 1; }
  ir::Value coordinate(int dimension, const ir::Type &type);
  ir::Value place();
  ir::Value place_in(const ir::TileShape &shape, const std::function<ir::Value(int)> &index);
  ir::Value read(const ir::TileMemory &memory, ir::Value place);
  ir::Value operand_element(const ir::Operation &operation, std::size_t i);

  struct Element {
    std::vector<ir::Value> indices;
    ir::Value inside;
  };
  Element array_element(std::uint32_t array, const std::vector<ir::Value> &indices, const ir::Type &type);
  ir::Value guarded(const Element &element, const ir::Operation &access);
  ir::Value window(const ir::Operation &operation);
  ir::Value take(const ir::Operation &operation);
  ir::Value element_inside(const ir::Value &operand, const ir::Value &inside, const ir::Value &place);

  Builder &build_;
  const TileMemories &memories_;
  ir::TileShape shape_;
  bool flat_;
  std::vector<Level> levels_;  // outside of the loops, then inside each
  std::map<ir::LocalId, ir::Value> elements_;
  std::map<std::pair<int, ScalarType>, ir::Value> coordinates_;
  std::optional<ir::Value> place_;
  std::vector<std::pair<ir::Value, ir::TileMemory>> kept_;
};

}  // namespace samite::passes
