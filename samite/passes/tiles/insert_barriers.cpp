#include "samite/passes/tiles/insert_barriers.h"

#include "samite/passes/analysis/index_number.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

class Inserter {
 public:
  Inserter(const Kernel &kernel, std::set<LocalId> after_reads)
      : after_reads_(std::move(after_reads)),
        next_local_(kernel.local_count),
        registers_(arrays_without_barriers(kernel)),
        shared_(arrays_in(kernel, {MemorySpace::shared, MemorySpace::device})) {
    note_changes(kernel.body, false);
  }

  Block with_barriers(const Block &block, std::size_t from = 0) {
    Block made(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(from));
    std::size_t parts = 0;  // of `made`: after the last call whose threads may be reading exchanged parts
    for (const Stmt &stmt : std::span(block).subspan(from)) {
      if (copies_ && !goes_beside_copies(stmt)) wait_for_copies(made, stmt.where());
      add(stmt, made);
      const TileCall *call = stmt.as<TileCall>();
      if (call && exchanges_parts(*call, registers_)) parts = made.size();
    }
    if (copies_) wait_for_copies(made, block.back().where());
    // The memory of the parts is in use up to a barrier of this block (passes/analysis/tile_uses.h).
    if (parts != 0 && std::none_of(made.begin() + static_cast<std::ptrdiff_t>(parts), made.end(), is_barrier))
      barrier(made, block.back().where());
    return made;
  }

  LocalId local_count() const { return next_local_; }

 private:
  static bool is_barrier(const Stmt &stmt) { return stmt.as<Barrier>() != nullptr; }

  // Skipped if memory was not accessed since the last one.
  static void barrier(Block &made, SourceLocation where) {
    const auto last = std::find_if_not(made.rbegin(), made.rend(), touches_no_memory);
    if (last == made.rend() || !last->as<Barrier>()) made.emplace_back(Barrier{}, where);
  }

  void wait_for_copies(Block &made, SourceLocation where) {
    made.emplace_back(CommitCopies{}, where);
    made.emplace_back(WaitForCopies{0}, where);
    made.emplace_back(Barrier{}, where);
    copies_ = false;
  }

  void add(const Stmt &stmt, Block &made) {
    const SourceLocation where = stmt.where();
    if (const Let *let = stmt.as<Let>()) {
      made.push_back(stmt);
      if (let->value.op == Op::LocalLoad && shared_.contains(let->value.array)) barrier(made, where);
    } else if (stmt.as<Store>() || stmt.as<Accumulate>() || stmt.as<Print>() || stmt.as<Check>()) {
      barrier(made, where);
      made.emplace_back(by_one_thread(stmt), where);
      barrier(made, where);
    } else if (const TileLoad *load = stmt.as<TileLoad>()) {
      made.push_back(stmt);
      copies_ = copies_ || !registers_.contains(load->result.array);
    } else if (result_of(stmt)) {
      made.push_back(stmt);
      if (&stmt.kind() != waited_for_ && (!is_in_registers(stmt, registers_) || reads_what_changes(stmt)))
        barrier(made, where);
    } else if (const For *loop = stmt.as<For>()) {
      add_loop(*loop, stmt, made);
    } else {
      made.push_back(with_blocks(stmt, [&](const Block &inner) { return with_barriers(inner); }));
    }
  }

  void add_loop(const For &loop, const Stmt &stmt, Block &made) {
    const SourceLocation where = stmt.where();
    if (loop.kind == LoopKind::Thread) {
      if (after_reads_.contains(loop.index)) barrier(made, where);
      made.push_back(stmt);
      if (others_see(loop, registers_)) barrier(made, where);
      return;
    }
    For copy = loop;
    if (loop.ahead != 0 && multiplies(loop.body.back()) && registers_.contains(result_of(loop.body.back())->array))
      waited_for_ = &loop.body.back().kind();
    copy.body = with_barriers(loop.body, loop.ahead);
    made.emplace_back(std::move(copy), where);
  }

  // Tiles that are written again after a read: by loops over elements, or by a load in a loop.
  void note_changes(const Block &block, bool in_loop) {
    for (const Stmt &stmt : block) {
      if (const auto *store = stmt.as<LocalStore>()) changing_.insert(store->array);
      if (const TileMemory *result = result_of(stmt); result && (in_loop || !stmt.as<TileLoad>()))
        changing_.insert(result->array);
      if (const auto *branch = stmt.as<If>())
        note_changes(branch->then_block, in_loop), note_changes(branch->else_block, in_loop);
      if (const auto *loop = stmt.as<For>()) note_changes(loop->body, in_loop || loop->kind == LoopKind::Serial);
      if (const auto *loop = stmt.as<While>())
        note_changes(loop->condition_block, true), note_changes(loop->body, true);
    }
  }
  bool reads_what_changes(const Stmt &stmt) const {
    const auto *product = stmt.as<WindowProduct>();
    return product && shared_.contains(product->first.array) && changing_.contains(product->first.array);
  }

  For by_one_thread(const Stmt &stmt) {
    For loop{next_local_++, ScalarType::Int32, index_number(0), index_number(1), index_number(1), {stmt}, {}};
    loop.kind = LoopKind::Thread;
    return loop;
  }

  std::set<LocalId> after_reads_;
  LocalId next_local_;
  const std::set<LocalArrayId> registers_, shared_;
  std::set<LocalArrayId> changing_;
  bool copies_ = false;                   // copies to shared memory are in flight
  const StmtKind *waited_for_ = nullptr;  // the threads synchronise before any other statement follows it
};

}  // namespace

Kernel insert_barriers(Kernel placed, const SharesMemory &shares_memory) {
  if (!is_tile_kernel(placed)) return placed;
  Inserter inserter(placed, loops_after_reads(placed, shares_memory));
  placed.body = inserter.with_barriers(placed.body);
  placed.local_count = inserter.local_count();
  return placed;
}

}  // namespace samite::passes
