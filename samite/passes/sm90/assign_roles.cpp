#include "samite/passes/sm90/assign_roles.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/group_sums.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "samite/passes/tiles/spread_tiles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

constexpr int most_threads = 512;

using Fragments = std::map<LocalArrayId, FragmentLayout>;  // of the tiles in registers

// Whether a call's device function waits for the whole block. A reduction of rows does not if no row spans several
// warps, and no two warps work on one row.
bool waits_for_block(const TileCall &call, const Fragments &registers, int warps) {
  switch (info(call.op).typing) {
    case Typing::Cast:
    case Typing::MatMul: return false;
    case Typing::Reduce: break;
    default: return true;
  }
  const auto layout = registers.find(call.operands[0].array);
  if (layout != registers.end() && reduces_columns(call)) return false;  // it needs only the threads with the sums
  const bool of_warp = layout == registers.end() ? call.result.type.count() >= warps : layout->second.across == 1;
  return !reduces_rows(call) || !of_warp;
}

// Whether consumers can run without producers: other kinds of calls may wait for the whole block.
bool may_have_roles(const Kernel &kernel) {
  if (!is_tile_kernel(kernel) || kernel.block_threads % threads_of_group != 0 ||
      kernel.block_threads + threads_of_group > most_threads)
    return false;
  const Fragments registers = layouts_in_registers(kernel);
  int loops = 0, steps = 0;
  bool may = true;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<MainLoop>();
    if (multiplies_by_groups(stmt)) {
      ++loops;
      steps += !loop;
      may = may && registers.contains(result_of(stmt)->array);
    }
    may = may && !(loop && !loop->by_bulk_copies());
    if (const auto *call = stmt.as<TileCall>())
      may = may && !waits_for_block(*call, registers, kernel.block_threads / 32);
    if (const auto *allocate = stmt.as<Allocate>()) may = may && !allocate->in_workspace();
  });
  return may && loops > 0 && (loops == 1 || loops == steps);
}

// The destinations of copies.
std::set<LocalArrayId> rings_of(const Kernel &kernel) {
  std::set<LocalArrayId> rings;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    for_each_tile(stmt, [&](const TileMemory &tile, TileAccess access) {
      if (access == TileAccess::ring || access == TileAccess::barriers) rings.insert(tile.array);
    });
  });
  return rings;
}

// Whether a multiprocessor has room for only one block.
bool fills_multiprocessor(const Kernel &kernel, const std::set<LocalArrayId> &rings, const Architecture &architecture) {
  constexpr std::int64_t other_registers = 40;
  std::int64_t buffers = 0, registers = other_registers;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (multiplies_by_groups(stmt)) registers += layout_of_sums(stmt)->registers();
    const auto *allocate = stmt.as<Allocate>();
    if (allocate && rings.contains(allocate->array))
      buffers += allocate->stages *
                 buffer_bytes(allocate->layout, allocate->type.element(), allocate->size.as_int(), allocate->stages);
  });
  const std::int64_t of_two_blocks = 2 * registers * kernel.block_threads;
  return 2 * buffers > architecture.shared_bytes || of_two_blocks > architecture.registers;
}

// The backward slice of the copies.
class Slice {
 public:
  // `read_only`: arrays that are constant while the kernel runs.
  Slice(std::set<LocalArrayId> rings, std::set<std::uint32_t> read_only)
      : rings_(std::move(rings)), read_only_(std::move(read_only)) {}

  std::optional<Block> of(const Block &body) {
    Block slice = leading(body);
    needed_.clear();
    slice = needed(slice);
    std::set<LocalId> defined;
    return possible_ && all_defined(slice, defined) ? std::optional(std::move(slice)) : std::nullopt;
  }

 private:
  static bool has_loop(const Block &block) {
    bool found = false;
    for_each_statement(block, [&](const Stmt &stmt) { found = found || multiplies_by_groups(stmt); });
    return found;
  }

  Block leading(const Block &block) {
    Block made;
    for (const Stmt &stmt : block) {
      if (const auto *main = stmt.as<MainLoop>()) {
        MainLoop copies = *main;
        copies.role = ThreadRole::producers;
        copies.terms.reset();
        made.emplace_back(std::move(copies), stmt.where());
      } else if (const auto *product = stmt.as<WindowProduct>()) {
        if (product->has_window) continue;  // another one loads it
        WindowProduct copies = *product;
        copies.role = ThreadRole::producers;
        copies.keeps_window = false;
        made.emplace_back(std::move(copies), stmt.where());
      } else if (const auto *bring = stmt.as<BringWindows>()) {
        BringWindows copies = *bring;
        copies.role = ThreadRole::producers;
        made.emplace_back(std::move(copies), stmt.where());
      } else if (const auto *allocate = stmt.as<Allocate>()) {
        if (rings_.contains(allocate->array)) made.push_back(stmt);
      } else if (stmt.as<Let>()) {
        made.push_back(stmt);
      } else if (const auto *branch = stmt.as<If>()) {
        if (!has_loop(branch->then_block) && !has_loop(branch->else_block)) continue;
        made.emplace_back(If{branch->condition, leading(branch->then_block), leading(branch->else_block), {}},
                          stmt.where());
      } else if (const auto *loop = stmt.as<For>()) {
        if (!has_loop(loop->body)) continue;
        For copy = *loop;
        copy.carried.clear();
        copy.products = {};
        copy.body = leading(loop->body);
        made.emplace_back(std::move(copy), stmt.where());
      } else if (const auto *loop = stmt.as<While>()) {
        possible_ = possible_ && !has_loop(loop->body) && !has_loop(loop->condition_block);
      }
    }
    return made;
  }

  // Without unused values. The number of copies must not depend on the consumers' results.
  Block needed(const Block &block) {
    Block backwards;
    for (const Stmt &stmt : std::views::reverse(block)) {
      if (const auto *let = stmt.as<Let>()) {
        if (!needed_.contains(let->local)) continue;
        possible_ =
            possible_ && (let->value.op == Op::Load ? read_only_.contains(let->value.array) : info(let->value.op).pure);
      }
      Stmt made = stmt;
      if (const auto *branch = stmt.as<If>())
        made = {If{branch->condition, needed(branch->then_block), needed(branch->else_block), {}}, stmt.where()};
      if (const auto *loop = stmt.as<For>()) {
        For copy = *loop;
        copy.body = needed(loop->body);
        made = {std::move(copy), stmt.where()};
      }
      for_each_operand(made, [&](const Value &value) {
        if (value.is_local()) needed_.insert(value.id());
      });
      backwards.push_back(std::move(made));
    }
    return {backwards.rbegin(), backwards.rend()};
  }

  static bool all_defined(const Block &block, std::set<LocalId> &defined) {
    bool all = true;
    for (const Stmt &stmt : block) {
      for_each_operand(stmt,
                       [&](const Value &value) { all = all && (!value.is_local() || defined.contains(value.id())); });
      for_each_definition(stmt, [&](LocalId local, const Type &) { defined.insert(local); });
      if (const auto *branch = stmt.as<If>())
        all = all && all_defined(branch->then_block, defined) && all_defined(branch->else_block, defined);
      if (const auto *loop = stmt.as<For>()) all = all && all_defined(loop->body, defined);
    }
    return all;
  }

  std::set<LocalArrayId> rings_;
  std::set<std::uint32_t> read_only_;
  std::set<LocalId> needed_;
  bool possible_ = true;
};

std::set<std::uint32_t> read_only_arrays(const Kernel &kernel, const FactsOfArrays &arrays) {
  std::set<std::uint32_t> read_only;
  for (std::uint32_t array = 0; array < kernel.parameters.size(); ++array)
    if (facts_of(arrays, array).unaliased) read_only.insert(array);
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const auto array = array_written(stmt)) read_only.erase(*array);
  });
  return read_only;
}

// The statement for consumers.
Stmt consuming(const Stmt &stmt, int threads) {
  const auto by_consumers = [&](auto statement) -> Stmt {
    statement.role = ThreadRole::consumers;
    return {std::move(statement), stmt.where()};
  };
  return visit(
      stmt, [&](const Barrier &) -> Stmt { return {Barrier{threads}, stmt.where()}; },
      [&](const MainLoop &loop) { return by_consumers(loop); },
      [&](const WindowProduct &product) { return by_consumers(product); },
      [&](const BringWindows &bring) { return by_consumers(bring); }, [&](const auto &) { return stmt; });
}

}  // namespace

Kernel assign_roles(Kernel planned, const Architecture &architecture, const FactsOfArrays &arrays) {
  if (!may_have_roles(planned)) return planned;
  const std::set<LocalArrayId> rings = rings_of(planned);
  if (!fills_multiprocessor(planned, rings, architecture)) return planned;
  auto producing = Slice(rings, read_only_arrays(planned, arrays)).of(planned.body);
  if (!producing) return planned;
  Kernel apart = planned;
  apart.roles.producers = threads_of_group;
  apart.roles.producing = *std::move(producing);
  apart.body = rewrite(planned.body, [&](const Stmt &stmt) { return consuming(stmt, planned.block_threads); });
  return fits(plan_tile_memory(apart), architecture) ? apart : planned;
}

std::optional<Roles::Registers> registers_of_roles(const Kernel &with_roles) {
  // By the number of consumer groups. A multiprocessor has 64 Ki registers.
  switch (with_roles.roles.producers == 0
              ? 0
              : with_roles.block_threads * std::max(with_roles.roles.teams, 1) / threads_of_group) {
    case 2: return Roles::Registers{.producing = 24, .multiplying = 240};
    case 3: return Roles::Registers{.producing = 32, .multiplying = 160};
    default: return std::nullopt;
  }
}

}  // namespace samite::passes
