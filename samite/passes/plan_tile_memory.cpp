#include "samite/passes/plan_tile_memory.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t alignment = 128;

class LiveRanges {
 public:
  LiveRanges(const Kernel &kernel, const TilePlacement &placement) : placement_(placement) { walk(kernel.body); }

  std::vector<PlacedTile> tiles;
  std::vector<TileMemoryPlan::InRegisters> in_registers;

 private:
  void walk(const Block &block) {
    for (const Stmt &stmt : block) {
      const int here = ++time_;
      if (auto *allocate = stmt.as<Allocate>(); allocate && allocate->shared && !allocate->kept)
        place(*allocate, here, stmt.where());
      for (LocalArrayId array : touched(stmt)) touch(array, here);
      if (auto *branch = stmt.as<If>()) {
        walk(branch->then_block);
        walk(branch->else_block);
      } else if (auto *loop = stmt.as<For>()) {
        again(here, {&loop->body});
      } else if (auto *loop = stmt.as<While>()) {
        again(here, {&loop->condition_block, &loop->body});
      }
    }
  }

  void place(const Allocate &allocate, int here, SourceLocation where) {
    const std::int64_t elements = allocate.size.as_int();
    if (auto known = placement_.registers.find(allocate.array); known != placement_.registers.end()) {
      in_registers.push_back({allocate.type.element(), elements, known->second.registers(), where});
      return;
    }
    std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(allocate.type));
    if (auto rows = placement_.rows.find(allocate.array); rows != placement_.rows.end())
      bytes = elements / rows->second.columns * rows->second.units * 16;
    auto staged = placement_.stages.find(allocate.array);
    const int stages = staged == placement_.stages.end() ? 1 : staged->second;
    if (stages > 1) bytes = (bytes + alignment - 1) / alignment * alignment * stages;
    place_of_[allocate.array] = tiles.size();
    tiles.push_back({allocate.array, allocate.type.element(), elements, bytes, 0, stages, here, here, where});
  }

  // What was made before a loop is there until the last iteration has ended.
  void again(int begin, std::initializer_list<const Block *> blocks) {
    for (const Block *block : blocks) walk(*block);
    const int end = ++time_;
    for (PlacedTile &tile : tiles) {
      const bool loaded_ahead = tile.stages > 1 && tile.first > begin && !whole_loop_.contains(tile.array);
      if (loaded_ahead) tile.first = begin, whole_loop_.insert(tile.array);
      if (loaded_ahead || (tile.first < begin && tile.last > begin)) tile.last = end;
    }
  }

  static std::vector<LocalArrayId> touched(const Stmt &stmt) {
    if (auto *call = stmt.as<TileCall>()) {
      std::vector<LocalArrayId> arrays{call->result.array};
      for (const TileMemory &operand : call->operands) arrays.push_back(operand.array);
      return arrays;
    }
    if (auto *store = stmt.as<LocalStore>()) return {store->array};
    auto *let = stmt.as<Let>();
    return let && let->value.op == Op::LocalLoad ? std::vector{let->value.array} : std::vector<LocalArrayId>{};
  }

  void touch(LocalArrayId array, int time) {
    auto known = place_of_.find(array);
    if (known != place_of_.end()) tiles[known->second].last = time;
  }

  const TilePlacement &placement_;
  std::set<LocalArrayId> whole_loop_;
  std::unordered_map<LocalArrayId, std::size_t> place_of_;
  int time_ = 0;
};

bool together(const PlacedTile &a, const PlacedTile &b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

TileMemoryPlan plan_tile_memory(const Kernel &lowered, const TilePlacement &placement) {
  LiveRanges ranges(lowered, placement);
  TileMemoryPlan plan{std::move(ranges.tiles), 0, std::move(ranges.in_registers)};
  std::vector<PlacedTile *> order;
  for (PlacedTile &tile : plan.tiles) order.push_back(&tile);
  // The largest first, and in the order of their numbers.
  std::ranges::sort(order, [](const PlacedTile *a, const PlacedTile *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  std::vector<const PlacedTile *> placed;
  for (PlacedTile *tile : order) {
    std::ranges::sort(placed, {}, &PlacedTile::offset);
    for (const PlacedTile *other : placed)
      if (together(*tile, *other) && tile->offset < other->offset + other->bytes &&
          other->offset < tile->offset + tile->bytes)
        tile->offset = (other->offset + other->bytes + alignment - 1) / alignment * alignment;
    plan.bytes = std::max(plan.bytes, tile->offset + tile->bytes);
    placed.push_back(tile);
  }
  return plan;
}

const PlacedTile *TileMemoryPlan::tile(LocalArrayId array) const {
  for (const PlacedTile &tile : tiles)
    if (tile.array == array) return &tile;
  return nullptr;
}

std::string TileMemoryPlan::to_string() const {
  std::string text;
  for (const PlacedTile &tile : tiles)
    text += std::to_string(tile.bytes) + " B at " + std::to_string(tile.offset) + ": " + std::to_string(tile.elements) +
            " of " + std::string(name(tile.type)) +
            (tile.stages > 1 ? ", " + std::to_string(tile.stages) + " times" : "") + ", statements " +
            std::to_string(tile.first) + " to " + std::to_string(tile.last) + ", " + tile.where.to_string() + "\n";
  for (const InRegisters &tile : in_registers)
    text += std::to_string(tile.registers) + " elements in each thread's registers: " + std::to_string(tile.elements) +
            " of " + std::string(name(tile.type)) + ", " + tile.where.to_string() + "\n";
  return text + std::to_string(bytes) + " B in all\n";
}

std::string TileMemoryPlan::too_large(std::int64_t most) const {
  if (bytes <= most || tiles.empty()) return "";
  const PlacedTile &largest = *std::ranges::max_element(tiles, {}, &PlacedTile::bytes);
  const std::int64_t over = bytes - most, fits = largest.bytes - over;
  const std::string what =
      "the tile of " + std::to_string(largest.elements) + " elements at " + largest.where.to_string();
  if (fits <= 0) return std::to_string(over) + " bytes too many: make several of them smaller, first of all " + what;
  return std::to_string(over) + " bytes too many: " + what + " would fit with " +
         std::to_string(largest.elements * fits / largest.bytes) +
         (largest.stages > 1 ? ", or with fewer stages of its loop" : "");
}

}  // namespace samite::passes
