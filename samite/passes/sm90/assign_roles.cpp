#include "samite/passes/sm90/assign_roles.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rewrite.h"
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

constexpr int group = 128, most_threads = 512;

bool is_loop(const Stmt &stmt) {
  const auto *call = stmt.as<TileCall>();
  return call && call->is_product_loop();
}

using Fragments = std::map<LocalArrayId, FragmentLayout>;  // of the tiles in registers

// Whether a call's device function waits for the whole block. A reduction of rows does not if no row spans several
// warps, and no two warps work on one row.
bool waits_for_block(const TileCall &call, const Fragments &registers, int warps) {
  switch (info(call.op).typing) {
    case Typing::Load:
    case Typing::Cast: return false;
    case Typing::MatMul: return call.multiplies_ahead();
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
  if (!is_tile_kernel(kernel) || kernel.block_threads % group != 0 || kernel.block_threads + group > most_threads)
    return false;
  const Fragments registers = layouts_in_registers(kernel);
  int loops = 0, steps = 0;
  bool may = true;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (is_loop(stmt)) {
      ++loops;
      steps += stmt.as<TileCall>()->is_step();
      may = may && registers.contains(stmt.as<TileCall>()->result.array);
    }
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
    if (const auto *bring = stmt.as<BringWindows>()) {
      rings.insert(bring->barriers.array);
      for (const BringWindows::Window &window : bring->windows) rings.insert(window.ring.array);
    }
    if (!is_loop(stmt)) return;
    const auto *loop = stmt.as<TileCall>();
    for (std::size_t i = loop->first_brought(); i < loop->operands.size(); ++i) rings.insert(loop->operands[i].array);
  });
  return rings;
}

// Whether a multiprocessor has room for only one block.
bool fills_multiprocessor(const Kernel &kernel, const std::set<LocalArrayId> &rings, const Architecture &architecture) {
  constexpr std::int64_t other_registers = 40;
  std::int64_t buffers = 0, registers = other_registers;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (is_loop(stmt)) registers += stmt.as<TileCall>()->sums->registers();
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
    for_each_statement(block, [&](const Stmt &stmt) { found = found || is_loop(stmt); });
    return found;
  }

  Block leading(const Block &block) {
    Block made;
    for (const Stmt &stmt : block) {
      if (is_loop(stmt)) {
        TileCall copies = *stmt.as<TileCall>();
        if (copies.has_window || copies.in_stage) continue;  // another statement loads its windows
        copies.part = TileCall::Part::copies;
        copies.keeps_window = false;
        copies.terms.reset();
        made.emplace_back(std::move(copies), stmt.where());
      } else if (const auto *bring = stmt.as<BringWindows>()) {
        BringWindows copies = *bring;
        copies.part = TileCall::Part::copies;
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

}  // namespace

Kernel assign_roles(Kernel planned, const Architecture &architecture, const FactsOfArrays &arrays) {
  if (!may_have_roles(planned)) return planned;
  const std::set<LocalArrayId> rings = rings_of(planned);
  if (!fills_multiprocessor(planned, rings, architecture)) return planned;
  auto producing = Slice(rings, read_only_arrays(planned, arrays)).of(planned.body);
  if (!producing) return planned;
  Kernel apart = planned;
  apart.producers = group;
  apart.producing = *std::move(producing);
  apart.body = rewrite(planned.body, [&](const Stmt &stmt) -> Stmt {
    if (stmt.as<Barrier>()) return {Barrier{planned.block_threads}, stmt.where()};
    if (const auto *bring = stmt.as<BringWindows>()) {
      BringWindows products = *bring;
      products.part = TileCall::Part::products;
      return {std::move(products), stmt.where()};
    }
    if (!is_loop(stmt)) return stmt;
    TileCall products = *stmt.as<TileCall>();
    products.part = TileCall::Part::products;
    return {std::move(products), stmt.where()};
  });
  return fits(plan_tile_memory(apart), architecture) ? apart : planned;
}

std::optional<RegistersOfRoles> registers_of_roles(const Kernel &with_roles) {
  // By the number of consumer groups. A multiprocessor has 64 Ki registers.
  switch (with_roles.producers == 0 ? 0 : with_roles.block_threads * std::max(with_roles.teams, 1) / group) {
    case 2: return RegistersOfRoles{.producing = 24, .multiplying = 240};
    case 3: return RegistersOfRoles{.producing = 32, .multiplying = 160};
    default: return std::nullopt;
  }
}

}  // namespace samite::passes
