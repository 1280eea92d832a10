#include "samite/passes/analysis/role_order.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/sm90/group_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

// Whether a statement waits for windows or copies them: not a product that finds its window there.
bool has_phase(const Stmt &stmt) {
  const auto *product = stmt.as<WindowProduct>();
  const auto *loop = stmt.as<MainLoop>();
  return (loop && loop->by_bulk_copies()) || (product && !product->has_window) || stmt.as<BringWindows>();
}
bool has_phases(const Block &block) {
  bool found = false;
  for_each_statement(block, [&](const Stmt &stmt) { found = found || has_phase(stmt); });
  return found;
}

bool same_window(const Transfer &a, const Transfer &b) {
  return std::tuple(a.ring.array, a.array, a.rows, a.columns, a.parts) ==
             std::tuple(b.ring.array, b.array, b.rows, b.columns, b.parts) &&
         a.indices == b.indices;
}

// Whether a copy is the one that a consumer waits for.
bool same_phase(const Stmt &copy, const Stmt &wait) {
  if (const auto *a = copy.as<MainLoop>()) {
    const auto *b = wait.as<MainLoop>();
    return b && a->barriers->array == b->barriers->array && a->count == b->count &&
           std::ranges::equal(a->factors, b->factors, same_window);
  }
  if (const auto *a = copy.as<WindowProduct>()) {
    const auto *b = wait.as<WindowProduct>();
    return b && a->barriers.array == b->barriers.array && same_window(a->second, b->second);
  }
  const auto *a = copy.as<BringWindows>(), *b = wait.as<BringWindows>();
  return a && b && a->barriers.array == b->barriers.array &&
         std::ranges::equal(a->windows, b->windows, [](const auto &one, const auto &other) {
           return std::tuple(one.ring.array, one.array, one.values) ==
                      std::tuple(other.ring.array, other.array, other.values) &&
                  one.indices == other.indices;
         });
}

class RoleChecker {
 public:
  RoleChecker(const Kernel &kernel, const SharesMemory &shares_memory)
      : kernel_(kernel), shares_memory_(shares_memory) {
    for_each_statement(kernel, [&](const Stmt &stmt) {
      if (const auto *product = stmt.as<WindowProduct>()) of_ring(product->second.ring, product->barriers);
      if (const auto *loop = stmt.as<MainLoop>(); loop && loop->by_bulk_copies())
        for (const Transfer &factor : loop->factors) of_ring(factor.ring, *loop->barriers);
      if (const auto *bring = stmt.as<BringWindows>())
        for (const BringWindows::Window &window : bring->windows) of_ring(window.ring, bring->barriers);
    });
  }

  std::vector<std::string> check() {
    barriers_count_all_threads();
    if (kernel_.roles.producers == 0) return std::move(found_);
    same_phases(kernel_.roles.producing, kernel_.body);
    producers_run_alone();
    rings_are_apart();
    teams_are_apart();
    if (kernel_.roles.teams != 0) teams_take_turns(kernel_.body);
    if (kernel_.roles.teams != 0 && main_loops_ != 1) found("teams take turns at other than one main loop", {});
    State state;
    walk(kernel_.body, state);
    for (const auto &[barriers, wait] : state.held)
      found(fmt::format("the stage of ${} is never released", barriers), wait);
    return std::move(found_);
  }

 private:
  // A consumer's state on one path.
  struct State {
    std::map<LocalArrayId, SourceLocation> held;  // the place of its wait for a stage, by the ring's barriers
    bool has_turn = false;
    bool same_as(const State &other) const {
      return has_turn == other.has_turn &&
             std::ranges::equal(held, other.held, [](const auto &a, const auto &b) { return a.first == b.first; });
    }
  };

  void of_ring(const TileMemory &ring, const TileMemory &barriers) {
    barriers_of_.emplace(ring.array, barriers.array);
    rings_.insert(ring.array);
    rings_.insert(barriers.array);
  }

  void found(std::string text, SourceLocation where) {
    text += fmt::format(" ({})", where.to_string());
    if (std::ranges::find(found_, text) == found_.end()) found_.push_back(std::move(text));
  }

  // Without roles all threads of the block run the body; with roles each team's consumers do.
  void barriers_count_all_threads() {
    const int all = kernel_.roles.producers == 0 ? 0 : kernel_.block_threads;
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      const auto *barrier = stmt.as<Barrier>();
      if (barrier && barrier->threads != all && !(all == 0 && barrier->threads == kernel_.block_threads))
        found(fmt::format("a barrier counts {} threads, and {} run it",
                          barrier->threads == 0 ? threads_of_block(kernel_) : barrier->threads, kernel_.block_threads),
              stmt.where());
    });
  }

  // The two roles' phases, in order. A branch or a loop without phases has nothing to do with them.
  void same_phases(const Block &copies, const Block &waits) {
    const std::vector<const Stmt *> a = phases_in(copies), b = phases_in(waits);
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if (i >= a.size()) return found("consumers wait for a window that producers do not copy", b[i]->where());
      if (i >= b.size()) return found("producers copy a window that consumers do not wait for", a[i]->where());
      if (!same_phases(*a[i], *b[i]))
        return found("producers copy other windows than consumers wait for", b[i]->where());
    }
  }
  bool same_phases(const Stmt &copies, const Stmt &waits) {
    if (const auto *a = copies.as<For>()) {
      const auto *b = waits.as<For>();
      if (!b || std::tuple(a->index, a->kind) != std::tuple(b->index, b->kind) || a->begin != b->begin ||
          a->end != b->end || a->step != b->step)
        return false;
      return same_phases(a->body, b->body), true;
    }
    if (const auto *a = copies.as<If>()) {
      const auto *b = waits.as<If>();
      if (!b || a->condition != b->condition) return false;
      return same_phases(a->then_block, b->then_block), same_phases(a->else_block, b->else_block), true;
    }
    return same_phase(copies, waits);
  }
  static std::vector<const Stmt *> phases_in(const Block &block) {
    std::vector<const Stmt *> found;
    for (const Stmt &stmt : block)
      if (has_phases({stmt})) found.push_back(&stmt);
    return found;
  }

  // Their values are those of the consumers, since both compute them from the same memory.
  void producers_run_alone() {
    std::map<LocalId, const Operation *> of_consumers;
    std::map<LocalArrayId, const Allocate *> rings;
    std::set<std::uint32_t> written;
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      if (const auto *own = stmt.as<Allocate>()) rings.emplace(own->array, own);
      if (const auto *let = stmt.as<Let>()) of_consumers.emplace(let->local, &let->value);
      if (const auto array = array_written(stmt)) written.insert(*array);
    });
    for_each_statement(kernel_.roles.producing, [&](const Stmt &stmt) {
      if (const auto *let = stmt.as<Let>()) {
        const auto other = of_consumers.find(let->local);
        if (other == of_consumers.end() || *other->second != let->value)
          found(fmt::format("producers compute another %{} than consumers", let->local), stmt.where());
        const auto read = array_read(stmt);
        if (read && std::ranges::any_of(written, [&](std::uint32_t array) { return shares(*read, array); }))
          found(fmt::format("producers read @{}, which consumers write", kernel_.parameters[*read].name), stmt.where());
      } else if (const auto *ring = stmt.as<Allocate>()) {
        const auto other = rings.find(ring->array);
        if (other == rings.end() || !same_memory(*ring, *other->second))
          found(fmt::format("producers copy to another ${} than consumers read", ring->array), stmt.where());
      } else if (!has_phase(stmt) && !stmt.as<For>() && !stmt.as<If>()) {
        found("producers run a statement of consumers", stmt.where());
      }
    });
  }
  static bool same_memory(const Allocate &a, const Allocate &b) {
    return std::tuple(a.type, a.size, a.space, a.layout, a.stages, a.offset, a.team_bytes) ==
           std::tuple(b.type, b.size, b.space, b.layout, b.stages, b.offset, b.team_bytes);
  }
  bool shares(std::uint32_t read, std::uint32_t written) const {
    return read == written || shares_memory_(read, written);
  }

  struct Bytes {
    LocalArrayId array;
    std::int64_t first, end, of_team;  // `of_team`: from one team's memory to the next one's
    SourceLocation where;
    bool meets(const Bytes &other, std::int64_t between = 0) const {
      return first < other.end + between && other.first + between < end;
    }
  };
  std::vector<Bytes> memory() const {
    std::vector<Bytes> found;
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      const auto *own = stmt.as<Allocate>();
      if (!own || own->buffer || !own->offset || own->space != MemorySpace::shared || own->sized_at_launch()) return;
      const std::int64_t each = buffer_bytes(own->layout, own->type.element(), own->size.as_int(), own->stages);
      found.push_back({own->array, *own->offset, *own->offset + each * own->stages, own->team_bytes, stmt.where()});
    });
    return found;
  }

  void rings_are_apart() {
    const std::vector<Bytes> all = memory();
    for (const Bytes &ring : all)
      for (const Bytes &other : all) {
        if (!rings_.contains(ring.array) || ring.array == other.array) continue;
        for (int team = 0; team < std::max(kernel_.roles.teams, 1); ++team)
          if (ring.meets(other, team * other.of_team))
            return found(
                fmt::format("${} is in the memory of ${}, which copies may write at any time", other.array, ring.array),
                other.where);
      }
  }

  void teams_are_apart() {
    if (kernel_.roles.teams == 0) return;
    const std::vector<Bytes> all = memory();
    for (const Bytes &own : all)
      for (const Bytes &other : all) {
        if (rings_.contains(own.array) || rings_.contains(other.array)) continue;
        for (int team = 1; team < kernel_.roles.teams; ++team)
          if (own.meets(other, team * other.of_team))
            return found(fmt::format("${} of one team is in the memory of ${} of another", own.array, other.array),
                         own.where);
      }
  }

  // A team hands over once for each index: in the last iterations of all loops around its main loop. It knows that it
  // has done so; but if turns are equal, each index must run the main loop once.
  void teams_take_turns(const Block &block) {
    for (const Stmt &stmt : block) {
      if (const auto *loop = stmt.as<For>()) {
        const bool repeats = loop->kind == LoopKind::Serial;
        if (repeats) around_.push_back(loop->index);
        teams_take_turns(loop->body);
        if (repeats) around_.pop_back();
      } else if (const auto *branch = stmt.as<If>()) {
        ++branches_;
        teams_take_turns(branch->then_block);
        teams_take_turns(branch->else_block);
        --branches_;
      } else if (const auto *main = stmt.as<MainLoop>()) {
        ++main_loops_;
        if (main->hands_over_in != around_)
          found("a team hands over before the last main loop of its index, or twice", stmt.where());
        if (kernel_.roles.equal_turns && (!around_.empty() || branches_ != 0))
          found("a team that may have any number of main loops in its turn does not tell the next one", stmt.where());
      }
    }
  }

  void wait(LocalArrayId barriers, SourceLocation where, State &state) {
    if (!state.held.emplace(barriers, where).second)
      found(fmt::format("a stage of ${} is waited for before the one before it is released", barriers), where);
  }
  void release(LocalArrayId barriers, SourceLocation where, State &state) {
    if (state.held.erase(barriers) == 0)
      found(fmt::format("a stage of ${} is released that is not there", barriers), where);
  }
  void read(LocalArrayId array, SourceLocation where, const State &state) {
    const auto ring = barriers_of_.find(array);
    if (ring != barriers_of_.end() && !state.held.contains(ring->second))
      found(fmt::format("${} is read before its stage is waited for, or after its release", array), where);
  }

  void walk(const Block &block, State &state) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const Stmt &stmt = block[i], *next = i + 1 < block.size() ? &block[i + 1] : nullptr;
      if (!running_.empty() && !stmt.as<WindowProduct>())
        found("a statement follows a product that runs into the next one", stmt.where());
      visit(
          stmt, [&](const WindowProduct &product) { multiplied(product, next, stmt.where(), state); },
          [&](const MainLoop &loop) {
            if (!loop.by_bulk_copies()) return;
            wait(loop.barriers->array, stmt.where(), state);
            release(loop.barriers->array, stmt.where(), state);
          },
          [&](const BringWindows &bring) { wait(bring.barriers.array, stmt.where(), state); },
          [&](const ReleaseWindows &own) { release(own.barriers, stmt.where(), state); },
          [&](const Barrier &) {
            if (in_turns_)
              found("a warp group waits at a barrier for the others, which may wait for its turn", stmt.where());
          },
          [&](const If &branch) { either(branch, stmt.where(), state); },
          [&](const For &loop) { repeated(loop, stmt.where(), state); },
          [&](const While &loop) {
            const State before = state;
            walk(loop.condition_block, state);
            walk(loop.body, state);
            same_around(before, state, stmt.where());
          },
          [&](const auto &) { reads_of(stmt, state); });
    }
    running_.clear();
  }

  void multiplied(const WindowProduct &product, const Stmt *next, SourceLocation where, State &state) {
    const LocalArrayId barriers = product.barriers.array;
    if (running_.contains(product.result.array) || running_.contains(product.first.array))
      found(fmt::format("a product uses ${}, whose product has not ended",
                        running_.contains(product.result.array) ? product.result.array : product.first.array),
            where);
    if (!product.has_window) wait(barriers, where, state);
    read(product.second.ring.array, where, state);
    if (product.takes_turn && std::exchange(state.has_turn, true))
      found("a warp group takes a turn that it has", where);
    if (product.gives_turn && !std::exchange(state.has_turn, false))
      found("a warp group gives a turn that it does not have", where);
    if (!product.keeps_window) release(barriers, where, state);
    if (!product.runs_into) return running_.clear();
    running_.insert(product.result.array);
    const auto *following = next ? next->as<WindowProduct>() : nullptr;
    if (!following || following->result.array != *product.runs_into) {
      found(fmt::format("a product runs into one of ${}, which does not follow", *product.runs_into), where);
      running_.clear();
    }
  }

  // Tiles that a statement reads as a whole, or element by element.
  void reads_of(const Stmt &stmt, const State &state) {
    for_each_statement(Block{stmt}, [&](const Stmt &own) {
      if (const auto array = local_array_touched(own)) read(*array, own.where(), state);
      for_each_tile(own, [&](const TileMemory &tile, TileAccess access) {
        if (access == TileAccess::operand) read(tile.array, own.where(), state);
      });
    });
  }

  void either(const If &branch, SourceLocation where, State &state) {
    State otherwise = state;
    walk(branch.then_block, state);
    walk(branch.else_block, otherwise);
    if (!state.same_as(otherwise)) found("the sides of a branch leave other stages or turns behind", where);
  }

  void repeated(const For &loop, SourceLocation where, State &state) {
    if (loop.kind == LoopKind::Thread) return reads_of({loop, where}, state);
    const bool in_turns = loop.products.in_turns;
    if (in_turns && kernel_.block_threads < 2 * threads_of_group) found("one warp group takes turns", where);
    if (in_turns && std::exchange(state.has_turn, true)) found("a warp group takes a turn that it has", where);
    const bool outer = std::exchange(in_turns_, in_turns_ || in_turns);
    const State before = state;
    walk(loop.body, state);
    same_around(before, state, where);
    in_turns_ = outer;
    if (in_turns && !std::exchange(state.has_turn, false))
      found("a warp group gives a turn that it does not have", where);
  }

  void same_around(const State &before, State &after, SourceLocation where) {
    if (before.same_as(after)) return;
    found(before.has_turn == after.has_turn ? "an iteration leaves a stage to the next one"
                                            : "an iteration ends with another turn than it began",
          where);
    after = before;
  }

  const Kernel &kernel_;
  const SharesMemory &shares_memory_;
  std::map<LocalArrayId, LocalArrayId> barriers_of_;  // of rings
  std::set<LocalArrayId> rings_;                      // and their barriers
  std::set<LocalArrayId> running_;                    // sums of products in flight
  bool in_turns_ = false;
  std::vector<LocalId> around_;  // loops around the statement of a team
  int branches_ = 0, main_loops_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> unordered_roles(const Kernel &planned, const SharesMemory &shares_memory) {
  return RoleChecker(planned, shares_memory).check();
}

}  // namespace samite::passes
