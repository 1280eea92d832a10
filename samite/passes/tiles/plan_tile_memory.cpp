#include "samite/passes/tiles/plan_tile_memory.h"

#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

// From the first access to a tile to the last one.
class LiveRanges {
 public:
  explicit LiveRanges(const Kernel &kernel) : uses_(kernel) {
    for (const auto &[array, use] : uses_.arrays) add(array, use, kernel.roles.producers != 0, kernel.roles.teams);
    // In program order.
    std::ranges::sort(tiles, {}, &PlacedTile::first);
    std::ranges::sort(in_registers_, {}, &std::pair<int, TileMemoryPlan::InRegisters>::first);
    for (const LoopSpan &span : uses_.loops) extend(span);
  }

  std::vector<TileMemoryPlan::InRegisters> in_registers() const {
    std::vector<TileMemoryPlan::InRegisters> found;
    for (const auto &[time, tile] : in_registers_) found.push_back(tile);
    return found;
  }

  std::vector<PlacedTile> tiles;

 private:
  void add(LocalArrayId array, const TileUse &use, bool with_roles, int teams) {
    const Allocate &allocate = *use.allocation;
    const bool at_launch = allocate.sized_at_launch();
    const std::int64_t elements = at_launch ? 0 : allocate.size.as_int();
    if (auto *fragments = std::get_if<FragmentLayout>(&allocate.layout)) {
      in_registers_.push_back({use.allocated, {use.type(), elements, fragments->registers(), use.where}});
      return;
    }
    std::int64_t bytes = buffer_bytes(allocate.layout, use.type(), elements, allocate.stages) * allocate.stages;
    int last = use.allocated;
    for (const TileTouch &touch : use.touches) last = std::max(last, touch.time);
    for (const TileOperand &operand : use.operands) last = std::max(last, operand.time);
    for (const int time : use.brought) last = std::max(last, time);
    last = std::max(last, use.parts_read);
    // Producers run ahead, while consumers are still before or after the loop.
    const bool of_copies = with_roles && use.is_brought();
    const int first = of_copies ? 0 : use.allocated;
    if (of_copies) last = uses_.end;
    if (of_copies && use.type() == ScalarType::UInt64) bytes += teams * turn;
    tiles.push_back({array, use.type(), elements, bytes, 0, allocate.stages, first, last, use.where,
                     memory_alignment(allocate.layout), at_launch, allocate.size, allocate.units, read_behind(use),
                     teams != 0 && !of_copies});
  }

  static constexpr std::int64_t turn = 16;  // after the barriers, for each team

  // Warp groups read 64 rows of a first factor that has fewer: the others are the memory after it, which must belong to
  // the block.
  static std::int64_t read_behind(const TileUse &use) {
    constexpr auto of_groups = FragmentLayout::Unit::group_matrices;
    constexpr std::int64_t row_bytes = 128;  // of a panel
    std::int64_t bytes = 0;
    for (const TileOperand &operand : use.operands)
      if (const FragmentLayout *sums = layout_of_sums(*operand.statement);
          sums && sums->unit == of_groups && operand.is_first())
        bytes = std::max(bytes, (piece_of(of_groups).rows - sums->rows) * row_bytes);
    return bytes;
  }

  // Tiles from before a loop are live until its last iteration has ended.
  void extend(const LoopSpan &span) {
    for (PlacedTile &tile : tiles)
      if (tile.first < span.begin && tile.last > span.begin) tile.last = std::max(tile.last, span.end);
  }

  TileUses uses_;
  std::vector<std::pair<int, TileMemoryPlan::InRegisters>> in_registers_;
};

bool together(const PlacedTile &a, const PlacedTile &b) { return a.first <= b.last && b.first <= a.last; }

std::int64_t rounded_up(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool is_parameter(const std::optional<Value> &value, std::uint32_t parameter) {
  return value && value->kind() == Value::Kind::Parameter && value->parameter_index() == parameter;
}

}  // namespace

std::int64_t bytes_too_many(const TileMemoryPlan &plan, const Architecture &architecture) {
  constexpr std::int64_t of_functions = 4096;  // for the sums of a block's warps (samite/device/tile/cuda_scan.h)
  return plan.bytes - (architecture.shared_bytes - of_functions);
}

bool fits(const TileMemoryPlan &plan, const Architecture &architecture) {
  return bytes_too_many(plan, architecture) <= 0;
}

TileMemoryPlan plan_tile_memory(const Kernel &placed_kernel) {
  LiveRanges ranges(placed_kernel);
  TileMemoryPlan plan{std::move(ranges.tiles), 0, ranges.in_registers(), 0};
  std::vector<PlacedTile *> order;
  for (PlacedTile &tile : plan.tiles)
    if (!tile.sized_at_launch) order.push_back(&tile);
  // The largest first, then in the order of their numbers; those of teams after all others.
  std::ranges::sort(order, [](const PlacedTile *a, const PlacedTile *b) {
    if (a->of_team != b->of_team) return b->of_team;
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  constexpr std::int64_t any_alignment = 1024;
  std::int64_t of_all = 0;
  std::vector<const PlacedTile *> placed;
  for (PlacedTile *tile : order) {
    if (tile->of_team && of_all == 0) of_all = rounded_up(plan.bytes, any_alignment);
    if (tile->of_team) tile->offset = of_all;
    std::ranges::sort(placed, {}, &PlacedTile::offset);
    for (const PlacedTile *other : placed)
      if (together(*tile, *other) && tile->offset < other->offset + other->bytes &&
          other->offset < tile->offset + tile->bytes)
        tile->offset = rounded_up(other->offset + other->bytes, tile->alignment);
    plan.bytes = std::max(plan.bytes, tile->offset + tile->bytes + tile->read_behind);
    placed.push_back(tile);
  }
  if (of_all != 0) {
    plan.team_bytes = rounded_up(plan.bytes - of_all, any_alignment);
    plan.bytes = of_all + placed_kernel.roles.teams * plan.team_bytes;
  }
  for (PlacedTile &tile : plan.tiles)
    if (tile.sized_at_launch) tile.offset = rounded_up(plan.bytes, tile.alignment);
  return plan;
}

Kernel with_offsets(Kernel placed, const TileMemoryPlan &plan) {
  const auto placed_at = [&](const Stmt &stmt) -> Stmt {
    auto *allocate = stmt.as<Allocate>();
    const PlacedTile *tile = allocate ? plan.tile(allocate->array) : nullptr;
    if (!tile) return stmt;
    Allocate own = *allocate;
    own.offset = tile->offset;
    own.team_bytes = tile->of_team ? plan.team_bytes : 0;
    return {own, stmt.where()};
  };
  placed.body = rewrite(placed.body, placed_at);
  placed.roles.producing = rewrite(placed.roles.producing, placed_at);
  return placed;
}

const PlacedTile *TileMemoryPlan::tile(LocalArrayId array) const {
  for (const PlacedTile &tile : tiles)
    if (tile.array == array) return &tile;
  return nullptr;
}

bool TileMemoryPlan::sized_at_launch() const { return std::ranges::any_of(tiles, &PlacedTile::sized_at_launch); }

bool TileMemoryPlan::depends_on(std::uint32_t parameter) const {
  return std::ranges::any_of(tiles, [&](const PlacedTile &tile) {
    return tile.sized_at_launch && (is_parameter(tile.size, parameter) || is_parameter(tile.units, parameter));
  });
}

TileMemoryPlan TileMemoryPlan::in_launch(const std::function<std::int64_t(std::uint32_t)> &number) const {
  const auto of = [&](const Value &value) {
    return value.is_constant() ? value.as_int() : number(value.parameter_index());
  };
  TileMemoryPlan plan = *this;
  for (PlacedTile &tile : plan.tiles) {
    if (!tile.sized_at_launch) continue;
    tile.elements = std::max<std::int64_t>(of(tile.size.value()), 0);
    tile.bytes = tile.elements * static_cast<std::int64_t>(size_of(tile.type));
    tile.offset += of(tile.units.value()) * Allocate::unit_bytes;
    plan.bytes = std::max(plan.bytes, tile.offset + tile.bytes);
  }
  return plan;
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

std::string TileMemoryPlan::too_large(std::int64_t most, std::string_view what) const {
  if (bytes <= most || tiles.empty()) return "";
  const PlacedTile &largest = *std::ranges::max_element(tiles, {}, &PlacedTile::bytes);
  const std::int64_t over = bytes - most, fits = largest.bytes - over;
  const std::string which = "the " + std::string(what) + " of " + std::to_string(largest.elements) + " elements at " +
                            largest.where.to_string();
  if (fits <= 0) return std::to_string(over) + " bytes too many: make several of them smaller, first of all " + which;
  return std::to_string(over) + " bytes too many: " + which + " would fit with " +
         std::to_string(largest.elements * fits / largest.bytes) +
         (largest.stages > 1 ? ", or with fewer stages of its loop" : "");
}

}  // namespace samite::passes
