#include "samite/passes/analysis/tile_uses.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <utility>

namespace samite::passes {

using namespace ir;

bool TileUse::by_own_elements() const {
  return allocation->size.is_constant() && std::ranges::all_of(touches, &TileTouch::own_element);
}

std::set<LocalId> TileUse::loops() const {
  std::set<LocalId> found;
  for (const TileTouch &touch : touches)
    if (touch.own_element) found.insert(touch.threads->index);
  return found;
}

std::size_t Scopes::inside(std::size_t scope) {
  scopes_.push_back({scope, 0});
  return scopes_.size() - 1;
}

std::int64_t Scopes::registers_around(std::size_t scope) const {
  std::int64_t most = 0;
  for (std::size_t inner = scope; inner < scopes_.size(); ++inner) {
    bool within = false;
    std::int64_t sum = 0;
    for (std::size_t at = inner;; at = scopes_[at].around) {
      within = within || at == scope;
      sum += scopes_[at].registers;
      if (at == 0) break;
    }
    if (within) most = std::max(most, sum);
  }
  return most;
}

TileUses::TileUses(const Kernel &lowered) { walk(lowered.body, nullptr, 0); }

LocalArrayId TileUses::memory_of(LocalArrayId array) const {
  const auto buffer = buffers_.find(array);
  return buffer == buffers_.end() ? array : buffer->second;
}

void TileUses::walk(const Block &block, const For *threads, std::size_t scope) {
  std::vector<LocalArrayId> parts;  // that threads are reading
  const auto meet = [&] {
    for (const LocalArrayId array : std::exchange(parts, {})) arrays.at(array).parts_read = end;
  };
  for (const Stmt &stmt : block) {
    const int here = ++end;
    if (stmt.as<Barrier>()) meet();
    if (auto *allocate = stmt.as<Allocate>(); allocate && allocate->buffer) {
      buffers_.emplace(allocate->array, allocate->buffer->of);
    } else if (allocate && allocate->of_block() && allocate->space != MemorySpace::device) {
      TileUse &own = arrays[allocate->array];
      own.allocation = allocate, own.where = stmt.where(), own.allocated = here, own.scope = scope;
    } else if (stmt.as<BringWindows>()) {
      for_each_tile(stmt, [&](const TileMemory &tile, TileAccess) { arrays[tile.array].brought.push_back(end); });
    } else if (is_on_tiles(stmt)) {
      use_tiles(stmt);
      if (auto *call = stmt.as<TileCall>(); call && makes_value_of_every_thread(*call)) {
        meet();
        parts.push_back(call->operands[1].array);
      }
    } else if (auto *store = stmt.as<LocalStore>()) {
      touch(store->array, store->index, threads, false);
    } else if (auto *let = stmt.as<Let>(); let && let->value.op == Op::LocalLoad) {
      touch(let->value.array, let->value.operands[0], threads, true);
    } else if (auto *branch = stmt.as<If>()) {
      walk(branch->then_block, threads, scopes.inside(scope));
      walk(branch->else_block, threads, scopes.inside(scope));
    } else if (auto *loop = stmt.as<For>()) {
      const bool over_elements = loop->kind == LoopKind::Thread;
      walk(loop->body, over_elements ? loop : threads, scopes.inside(scope));
      loops.push_back({&stmt, here, ++end, over_elements});
    } else if (auto *loop = stmt.as<While>()) {
      walk(loop->condition_block, threads, scopes.inside(scope));
      walk(loop->body, threads, scopes.inside(scope));
      loops.push_back({&stmt, here, ++end, false});
    }
  }
  meet();
}

bool TileUses::makes_value_of_every_thread(const TileCall &call) const {
  const auto made = arrays.find(call.result.array);
  const auto *layout = made == arrays.end() ? nullptr : std::get_if<FragmentLayout>(&made->second.allocation->layout);
  return layout && layout->in_every_thread();
}

void TileUses::use_tiles(const Stmt &stmt) {
  std::size_t operands = 0;
  for_each_tile(stmt, [&](const TileMemory &tile, TileAccess access) {
    const std::size_t number = access == TileAccess::result ? 0 : operands++;
    const auto known = arrays.find(memory_of(tile.array));
    if (known != arrays.end()) known->second.operands.push_back({end, &stmt, &tile, access, number});
  });
}

void TileUses::touch(LocalArrayId array, const Value &index, const For *threads, bool loads) {
  const auto known = arrays.find(memory_of(array));
  if (known == arrays.end()) return;
  TileUse &own = known->second;
  const bool own_element = threads && index.is_local() && index.id() == threads->index && threads->end.is_constant() &&
                           threads->end.as_int() == own.count();
  own.touches.push_back({end, threads, own_element, loads, index});
}

std::set<LocalArrayId> arrays_in(const Kernel &kernel, std::initializer_list<MemorySpace> spaces) {
  std::set<LocalArrayId> found;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    auto *allocate = stmt.as<Allocate>();
    if (allocate && std::ranges::find(spaces, allocate->space) != spaces.end()) found.insert(allocate->array);
  });
  return found;
}

std::map<LocalArrayId, FragmentLayout> layouts_in_registers(const Kernel &kernel) {
  std::map<LocalArrayId, FragmentLayout> found;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const auto *allocate = stmt.as<Allocate>();
    if (const auto *layout = allocate ? std::get_if<FragmentLayout>(&allocate->layout) : nullptr)
      found.emplace(allocate->array, *layout);
  });
  return found;
}

bool touches_tile(const Stmt &statement, LocalArrayId array) {
  bool found = false;
  for_each_statement({statement}, [&](const Stmt &stmt) {
    found = found || local_array_touched(stmt) == array;
    if (stmt.as<BringWindows>()) return;
    for_each_tile(stmt, [&](const TileMemory &tile, TileAccess) { found = found || tile.array == array; });
    const auto *product = stmt.as<WindowProduct>();
    found = found || (product && product->runs_into == array);
  });
  return found;
}

std::set<LocalArrayId> arrays_without_barriers(const Kernel &kernel) {
  std::set<LocalArrayId> found = arrays_in(kernel, {MemorySpace::registers});
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const auto *bring = stmt.as<BringWindows>())
      for (const BringWindows::Window &window : bring->windows) found.insert(window.ring.array);
  });
  return found;
}

std::map<LocalArrayId, TileLife> lives(const TileUses &uses) {
  std::map<LocalId, int> begins;
  for (const LoopSpan &span : uses.loops)
    if (span.over_elements) begins.emplace(span.loop->as<For>()->index, span.begin);
  std::map<LocalArrayId, TileLife> lives;
  for (const auto &[array, use] : uses.arrays) {
    std::vector<int> times;
    for (const TileTouch &touch : use.touches)
      times.push_back(touch.own_element ? begins.at(touch.threads->index) : touch.time);
    for (const TileOperand &operand : use.operands) times.push_back(operand.time);
    times.insert(times.end(), use.brought.begin(), use.brought.end());
    TileLife &own = lives[array];
    if (!times.empty()) own = {*std::ranges::min_element(times), *std::ranges::max_element(times)};
  }
  for (const LoopSpan &span : uses.loops) {
    if (span.over_elements) continue;
    for (auto &[array, own] : lives)
      if (own.first != 0 && own.first < span.begin && own.last > span.begin) own.last = std::max(own.last, span.end);
  }
  return lives;
}

}  // namespace samite::passes
