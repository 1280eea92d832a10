#include "samite/passes/insert_barriers.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

class Inserter {
 public:
  Inserter(const Kernel &kernel, TilePlacement &placement, std::set<const For *> after_reads)
      : placement_(placement), after_reads_(std::move(after_reads)), next_local_(kernel.local_count) {}

  Block with_barriers(const Block &block, std::size_t from = 0) {
    Block made(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(from));
    for (const Stmt &stmt : std::span(block).subspan(from)) {
      if (copies_ && !goes_beside_copies(stmt)) wait_for_copies(made, stmt.where());
      add(stmt, made);
    }
    if (copies_) wait_for_copies(made, block.back().where());
    return made;
  }

  LocalId local_count() const { return next_local_; }

 private:
  static void barrier(Block &made, SourceLocation where) { made.emplace_back(Barrier{}, where); }

  void wait_for_copies(Block &made, SourceLocation where) {
    made.emplace_back(Barrier{.copies = true}, where);
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
    } else if (const Allocate *allocate = stmt.as<Allocate>()) {
      if (allocate->shared) shared_.insert(allocate->array);
      made.push_back(stmt);
    } else if (const TileCall *call = stmt.as<TileCall>()) {
      made.push_back(stmt);
      if (call->op == Op::Load)
        copies_ = copies_ || !placement_.registers.contains(call->result.array);
      else if (call != waited_for_)
        barrier(made, where);
    } else if (const If *branch = stmt.as<If>()) {
      If copy = *branch;
      copy.then_block = with_barriers(branch->then_block);
      copy.else_block = with_barriers(branch->else_block);
      made.emplace_back(std::move(copy), where);
    } else if (const While *loop = stmt.as<While>()) {
      While copy = *loop;
      copy.condition_block = with_barriers(loop->condition_block);
      copy.body = with_barriers(loop->body);
      made.emplace_back(std::move(copy), where);
    } else if (const For *loop = stmt.as<For>()) {
      add_loop(*loop, stmt, made);
    } else {
      made.push_back(stmt);
    }
  }

  void add_loop(const For &loop, const Stmt &stmt, Block &made) {
    const SourceLocation where = stmt.where();
    if (loop.kind == LoopKind::Thread) {
      if (after_reads_.contains(&loop)) barrier(made, where);
      made.push_back(stmt);
      if (others_see(loop)) barrier(made, where);
      return;
    }
    For copy = loop;
    const auto staged = placement_.staged.find(&loop);
    if (staged == placement_.staged.end()) {
      copy.body = with_barriers(loop.body);
      made.emplace_back(std::move(copy), where);
      return;
    }
    const auto *last = loop.body.back().as<TileCall>();
    if (last && last->op == Op::MatMul && placement_.registers.contains(last->result.array)) waited_for_ = last;
    copy.body = with_barriers(loop.body, staged->second.ahead);
    made.emplace_back(std::move(copy), where);
    auto of_loop = placement_.staged.extract(staged);
    of_loop.key() = made.back().as<For>();
    placement_.staged.insert(std::move(of_loop));
  }

  // Whether a loop over elements touches more than tiles in registers and arrays that it reads.
  bool others_see(const For &loop) const {
    bool registers = false, shared = false;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      const LocalStore *store = stmt.as<LocalStore>();
      if (store || (let && let->value.op == Op::LocalLoad)) {
        const bool own = placement_.registers.contains(store ? store->array : let->value.array);
        (own ? registers : shared) = true;
      }
      shared = shared || array_written(stmt);
    });
    return shared || !registers;
  }

  For by_one_thread(const Stmt &stmt) {
    const auto number = [](std::int64_t value) { return Value::constant(ScalarType::Int32, value); };
    For loop{next_local_++, ScalarType::Int32, number(0), number(1), number(1), {stmt}, {}};
    loop.kind = LoopKind::Thread;
    return loop;
  }

  TilePlacement &placement_;
  std::set<const For *> after_reads_;
  LocalId next_local_;
  std::set<LocalArrayId> shared_;
  bool copies_ = false;                   // tiles are on their way to shared memory
  const TileCall *waited_for_ = nullptr;  // the threads wait for each other before anything else comes after it
};

}  // namespace

Kernel insert_barriers(const Kernel &lowered, TilePlacement &placement, const SharesMemory &shares_memory) {
  Inserter inserter(lowered, placement, loops_after_reads(lowered, placement, shares_memory));
  Kernel made = lowered;
  made.body = inserter.with_barriers(lowered.body);
  made.local_count = inserter.local_count();
  return made;
}

}  // namespace samite::passes
