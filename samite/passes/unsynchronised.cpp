#include "samite/passes/unsynchronised.h"

#include "samite/ir/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace samite::passes {
namespace {

using namespace ir;

// How a loop over elements deals them to the threads: one after another, or as a layout of registers has them.
struct Deal {
  bool by_registers = false;
  std::optional<FragmentLayout> layout;
  friend bool operator==(const Deal &, const Deal &) = default;
};

struct Access {
  enum class By : std::uint8_t { any, own_element, first_thread };

  bool array;           // of the kernel's parameters, else memory of the block
  std::uint32_t which;  // parameter or local array
  bool writes;
  By by;
  Deal deal;
  bool on_its_way = false;  // a copy that nothing has waited for
  SourceLocation where;

  auto key() const { return std::tuple(array, which, writes, by, on_its_way, where.line); }
};

class Checker {
 public:
  Checker(const Kernel &kernel, const SharesMemory &shares_memory) : kernel_(kernel), shares_memory_(shares_memory) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (auto *allocate = stmt.as<Allocate>(); allocate && allocate->of_block())
        memory_.emplace(allocate->array, *allocate);
    });
  }

  void walk(const Block &block, std::size_t from = 0) {
    for (const Stmt &stmt : std::span(block).subspan(from)) {
      where_ = stmt.where();
      visit(
          stmt, [&](const Let &let) { of_every_thread(let); }, [&](const TileCall &call) { called(call); },
          [&](const Barrier &barrier) { wait(barrier.copies); },
          [&](const If &branch) {
            const std::vector<Access> before = open_;
            walk(branch.then_block);
            std::vector<Access> after_first = std::exchange(open_, before);
            walk(branch.else_block);
            for (const Access &access : after_first) remember(access);
          },
          [&](const For &loop) { loops(loop); },
          [&](const While &loop) {
            for (int turn = 0; turn < 2; ++turn) walk(loop.condition_block), walk(loop.body);
            walk(loop.condition_block);
          },
          [&](const Store &store) { touch({true, store.array, true, Access::By::any, {}, false, where_}); },
          [&](const Accumulate &add) { touch({true, add.array, true, Access::By::any, {}, false, where_}); },
          [](const auto &) {});
    }
  }

  std::vector<std::string> found;

 private:
  bool in_registers(LocalArrayId array) const {
    const auto known = memory_.find(array);
    return known != memory_.end() && known->second.space == MemorySpace::registers;
  }
  bool in_shared(LocalArrayId array) const { return memory_.contains(array) && !in_registers(array); }

  void wait(bool copies) {
    std::erase_if(open_, [&](const Access &access) { return copies || !access.on_its_way; });
  }

  // What is outside of loops over elements is done by every thread.
  void of_every_thread(const Let &let) {
    const Operation &operation = let.value;
    if (operation.op == Op::Exchange || info(operation.op).typing == Typing::Atomic) return wait(false);
    if (operation.op == Op::LocalLoad && in_shared(operation.array)) local(operation.array, false);
    if (operation.op == Op::Load) touch({true, operation.array, false, Access::By::any, {}, false, where_});
  }

  void called(const TileCall &call) {
    if (call.op == Op::Load) {
      touch({true, call.array, false, Access::By::any, {}, false, where_});
      local(call.result.array, true, /*on_its_way=*/true);
      return;
    }
    const Typing typing = info(call.op).typing;
    const bool scratch = typing == Typing::Reduce || typing == Typing::Fourier;
    for (std::size_t i = 0; i < call.operands.size(); ++i) local(call.operands[i].array, scratch && i != 0);
    // A call reads what it writes over by itself, such as the sums of a product.
    const auto own = [&](const TileMemory &operand) { return operand.array == call.result.array; };
    if (std::ranges::none_of(call.operands, own)) local(call.result.array, true);
  }

  void loops(const For &loop) {
    if (loop.kind == LoopKind::Thread) return elements(loop);
    // What another block does is in no order anyway.
    if (loop.kind == LoopKind::Block) return walk(loop.body);
    for (int turn = 0; turn < 2; ++turn) {
      if (loop.ahead != 0) wait(true);
      walk(loop.body, loop.ahead);
    }
    if (loop.ahead != 0) wait(true);
  }

  void elements(const For &loop) {
    Deal deal;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      const auto array = local_array_of(stmt);
      if (!array || !in_registers(*array)) return;
      deal = {true, std::get<FragmentLayout>(memory_.at(*array).layout)};
    });
    const bool first_thread = loop.end.is_constant() && loop.end.as_int() == 1 && !deal.by_registers;
    std::vector<Access> all;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      if (const auto array = local_array_of(stmt); array && in_shared(*array)) {
        const LocalStore *store = stmt.as<LocalStore>();
        const Value &index = store ? store->index : stmt.as<Let>()->value.operands[0];
        const bool own = index.is_local() && index.id() == loop.index;
        const Access::By by = first_thread ? Access::By::first_thread : own ? Access::By::own_element : Access::By::any;
        all.push_back({false, *array, store != nullptr, by, deal, false, stmt.where()});
      }
      const Access::By by = first_thread ? Access::By::first_thread : Access::By::own_element;
      if (const auto array = array_read(stmt)) all.push_back({true, *array, false, by, deal, false, stmt.where()});
      if (const auto array = array_written(stmt)) all.push_back({true, *array, true, by, deal, false, stmt.where()});
    });
    // Within the loop: windows of arrays are taken to be apart.
    for (const Access &a : all)
      for (const Access &b : all)
        if (!a.array && !b.array && &a < &b) compare(a, b);
    for (Access &access : all) {
      // Another loop may have the element at another index.
      if (access.array && access.by == Access::By::own_element) access.by = Access::By::any;
    }
    const std::vector<Access> before = open_;
    for (const Access &access : all)
      for (const Access &other : before) compare(other, access);
    for (const Access &access : all) remember(access);
  }

  static std::optional<LocalArrayId> local_array_of(const Stmt &stmt) {
    if (const auto *store = stmt.as<LocalStore>()) return store->array;
    const Let *let = stmt.as<Let>();
    if (let && let->value.op == Op::LocalLoad) return let->value.array;
    return std::nullopt;
  }

  void local(LocalArrayId array, bool writes, bool on_its_way = false) {
    if (!in_registers(array)) touch({false, array, writes, Access::By::any, {}, on_its_way, where_});
  }

  void touch(const Access &access) {
    for (const Access &other : std::vector(open_)) compare(other, access);
    remember(access);
  }

  void remember(const Access &access) {
    if (std::ranges::none_of(
            open_, [&](const Access &other) { return other.key() == access.key() && other.deal == access.deal; }))
      open_.push_back(access);
  }

  bool same_memory(const Access &a, const Access &b) const {
    if (a.array != b.array) return false;
    if (a.which == b.which) return true;
    if (a.array) return a.writes ? shares_memory_(b.which, a.which) : shares_memory_(a.which, b.which);
    const auto first = bytes(a.which), second = bytes(b.which);
    return first && second && first->first < second->second && second->first < first->second;
  }

  // Where an array begins and ends in shared memory.
  std::optional<std::pair<std::int64_t, std::int64_t>> bytes(LocalArrayId array) const {
    const auto known = memory_.find(array);
    if (known == memory_.end() || !known->second.offset) return std::nullopt;
    const Allocate &own = known->second;
    return std::pair{
        *own.offset,
        *own.offset + buffer_bytes(own.layout, own.type.element(), own.size.as_int(), own.stages) * own.stages};
  }

  void compare(const Access &first, const Access &then) {
    if ((!first.writes && !then.writes) || !same_memory(first, then)) return;
    const bool one_thread = first.by == Access::By::first_thread && then.by == Access::By::first_thread;
    const bool own = first.by == Access::By::own_element && then.by == Access::By::own_element && !first.array &&
                     first.which == then.which && first.deal == then.deal;
    if (one_thread || own) return;
    const auto name = [&](const Access &access) {
      return access.array ? "@" + kernel_.parameters[access.which].name : fmt::format("${}", access.which);
    };
    found.push_back(fmt::format("{} is {}, and {} is {} with no barrier between them ({}, {})", name(first),
                                first.writes ? "written" : "read", name(then), then.writes ? "written" : "read",
                                first.where.to_string(), then.where.to_string()));
  }

  const Kernel &kernel_;
  const SharesMemory &shares_memory_;
  std::vector<Access> open_;                 // since the last barrier
  std::map<LocalArrayId, Allocate> memory_;  // of the block
  SourceLocation where_;
};

}  // namespace

std::vector<std::string> unsynchronised(const Kernel &planned, const SharesMemory &shares_memory) {
  Checker checker(planned, shares_memory);
  checker.walk(planned.body);
  return std::move(checker.found);
}

}  // namespace samite::passes
