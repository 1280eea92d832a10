#include "samite/passes/analysis/unsynchronised.h"

#include "samite/ir/load_ahead.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/own_elements.h"
#include "samite/passes/analysis/role_order.h"
#include "samite/passes/simplify/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

// The distribution of a loop's elements over the threads: consecutive, or by a register layout.
using Deal = std::optional<FragmentLayout>;

// The state of a copy: started; in a group; waited for by its thread. Empty for other accesses.
struct Copy {
  enum class State : std::uint8_t { started, in_group, arrived } state = State::started;
  int group = 0;
  friend bool operator==(const Copy &, const Copy &) = default;
};

// The own elements that a loop accesses: those of its first row, or those of a row whose number the loop does not
// change.
struct Row {
  std::int64_t length = 0;  // the number of the loop's elements, if it is known
  bool numbered = false;
  friend bool operator==(const Row &, const Row &) = default;

  // Whether each element is accessed by the same thread in both rows, or is in one of them only.
  bool same_threads(const Row &other) const { return numbered || other.numbered ? length == other.length : true; }
};

struct Access {
  // Every thread makes the same accesses, or each makes some of them.
  enum class By : std::uint8_t { every_thread, any, own_element, first_thread };

  bool array;           // a parameter of the kernel, else memory of the block
  std::uint32_t which;  // parameter or local array
  bool writes;
  By by;
  Deal deal = {};
  std::optional<Copy> copy = {};
  SourceLocation where;
  // The byte range in shared memory. Empty in device memory.
  std::optional<std::pair<std::int64_t, std::int64_t>> bytes = {};
  Row row = {};  // for own_element
  // A store whose index is that of the serial loop around it, and which execution of the loop it is in.
  std::pair<const LocalStore *, int> iterations = {};
  const For *threads = nullptr;  // the thread loop, in a scheduled kernel

  bool same_but_place(const Access &other) const {
    return std::tuple(array, which, writes, by, where.line) ==
               std::tuple(other.array, other.which, other.writes, other.by, other.where.line) &&
           deal == other.deal && copy == other.copy && bytes == other.bytes && row == other.row &&
           iterations == other.iterations && threads == other.threads;
  }
  bool is_in_flight() const { return copy && copy->state != Copy::State::arrived; }
};

// The locals' values if they are constants in the current iteration. Some represent others: those that depend on the
// index of an iteration that represents later ones.
class Known {
 public:
  Value operator()(const Value &value) const {
    const auto known = value.is_local() ? values_.find(value.id()) : values_.end();
    return known == values_.end() ? value : known->second;
  }
  bool stands_for_others(const Value &value) const { return value.is_local() && standing_.contains(value.id()); }
  void set(LocalId local, const Value &value, bool stands_for_others = false) {
    forget(local);
    if (!value.is_constant()) return;
    values_.insert_or_assign(local, value);
    if (stands_for_others) standing_.insert(local);
  }
  void forget(LocalId local) {
    values_.erase(local);
    standing_.erase(local);
  }
  void compute(const Let &let) {
    forget(let.local);
    if (!info(let.value.op).pure || let.value.operands.empty() || let.value.type.is_tile()) return;
    Operation operation = let.value;
    bool stands = false;
    for (Value &operand : operation.operands) {
      stands = stands || stands_for_others(operand);
      operand = (*this)(operand);
      if (!operand.is_constant()) return;
    }
    if (const auto value = fold(operation)) set(let.local, *value, stands);
  }

 private:
  std::map<LocalId, Value> values_;
  std::set<LocalId> standing_;
};

class Checker {
 public:
  Checker(const Kernel &kernel, const SharesMemory &shares_memory) : kernel_(kernel), shares_memory_(shares_memory) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      if (const auto *let = stmt.as<Let>()) definitions_.emplace(let->local, &let->value);
      auto *allocate = stmt.as<Allocate>();
      if (!allocate || !allocate->of_block()) return;
      memory_.emplace(allocate->array, *allocate);
      if (allocate->space == MemorySpace::registers) registers_.insert(allocate->array);
      // Enough to use each buffer twice.
      turns_ = std::max(turns_, 2 * allocate->stages + 1);
    });
  }

  void walk(const Block &block) {
    for (const Stmt &stmt : block) {
      where_ = stmt.where();
      visit(
          stmt, [&](const Let &let) { of_every_thread(let); }, [&](const TileCall &call) { called(call); },
          [&](const TileLoad &load) { loaded(load); }, [&](const ProductOfWindows auto &) { multiplied(stmt); },
          [&](const Barrier &) { barrier(); }, [&](const CommitCopies &) { commit(); },
          [&](const WaitForCopies &wait) { wait_for_copies(wait.groups); }, [&](const If &branch) { either(branch); },
          [&](const For &loop) { loops(loop); }, [&](const While &loop) { loops(loop); },
          [&](const Store &store) { array_touched(of_array(store.array, true)); },
          [&](const Accumulate &add) { array_touched(of_array(add.array, true)); },
          [&](const LocalStore &store) { stored(store); }, [](const auto &) {});
    }
  }

  Synchronisation found;

 private:
  bool in_registers(LocalArrayId array) const { return registers_.contains(array); }
  bool in_memory(LocalArrayId array) const { return memory_.contains(array) && !in_registers(array); }

  Access of_array(std::uint32_t array, bool writes, Access::By by = Access::By::any, const Deal &deal = {}) const {
    return {true, array, writes, by, deal, {}, where_};
  }
  Access of_block(LocalArrayId array, bool writes, Access::By by = Access::By::any, const Deal &deal = {}) const {
    return {false, array, writes, by, deal, {}, where_, bytes(array)};
  }

  // The range of an array in shared memory.
  std::optional<std::pair<std::int64_t, std::int64_t>> bytes(LocalArrayId array) const {
    const auto known = memory_.find(array);
    if (known == memory_.end()) return std::nullopt;
    const Allocate &own = known->second;
    const Allocate &all = own.buffer ? memory_.at(own.buffer->of) : own;
    if (!all.offset || all.sized_at_launch()) return std::nullopt;
    const std::int64_t each = buffer_bytes(all.layout, all.type.element(), all.size.as_int(), all.stages);
    if (own.buffer && known_(own.buffer->number).is_constant()) {
      const std::int64_t first = *all.offset + each * known_(own.buffer->number).as_int();
      return std::pair{first, first + each};
    }
    return std::pair{*all.offset, *all.offset + each * all.stages};
  }

  void barrier() {
    std::erase_if(open_,
                  [](const Access &access) { return !access.copy || access.copy->state == Copy::State::arrived; });
  }
  void commit() {
    for (Access &access : open_)
      if (access.copy && access.copy->state == Copy::State::started) access.copy = Copy{Copy::State::in_group, groups_};
    ++groups_;
  }
  void wait_for_copies(int groups) {
    for (Access &access : open_)
      if (access.copy && access.copy->state == Copy::State::in_group && access.copy->group < groups_ - groups)
        access.copy = Copy{Copy::State::arrived, 0};
  }

  // Every thread runs the code outside of loops over elements.
  void of_every_thread(const Let &let) {
    known_.compute(let);
    const Operation &operation = let.value;
    // One thread of a tile kernel's block runs it for all, between its own barriers.
    if (operation.op == Op::Exchange || info(operation.op).typing == Typing::Atomic) {
      if (!kernel_.scheduled) barrier();
      return;
    }
    if (operation.op == Op::LocalLoad && in_memory(operation.array)) touch(of_block(operation.array, false));
    if (operation.op == Op::Load) array_touched(of_array(operation.array, false));
  }
  // A schedule leaves each element of an array to one thread of a kernel.
  void array_touched(const Access &access) {
    if (!kernel_.scheduled) touch(access);
  }

  void stored(const LocalStore &store) {
    if (!in_memory(store.array)) return;
    Access access = of_block(store.array, true, Access::By::every_thread);
    const auto run = store.index.is_local() ? runs_.find(store.index.id()) : runs_.end();
    if (run != runs_.end()) access.iterations = {&store, run->second};
    touch(access);
  }

  void loaded(const TileLoad &load) {
    Access from = of_array(load.array, false), to = of_block(load.result.array, true);
    // A copy reads the array until it has arrived.
    if (in_memory(load.result.array)) from.copy = to.copy = Copy{};
    if (!load.stream) touch(from);
    if (to.copy) touch(to);
  }

  void called(const TileCall &call) {
    const Typing typing = info(call.op).typing;
    const bool scratch = typing == Typing::Reduce || typing == Typing::Fourier;
    for (std::size_t i = 0; i < call.operands.size(); ++i)
      if (in_memory(call.operands[i].array)) touch(of_block(call.operands[i].array, scratch && i != 0));
    // Each thread reads all threads' writes.
    if (exchanges_parts(call, registers_)) {
      barrier();
      touch(of_block(call.operands[1].array, false));
    }
    // A call orders its own reads and writes of one tile, such as the sums of a product.
    const auto own = [&](const TileMemory &operand) { return operand.array == call.result.array; };
    if (in_memory(call.result.array) && std::ranges::none_of(call.operands, own))
      touch(of_block(call.result.array, true));
  }

  // Copies write to the rings of its factors. If producers start them, only the product uses these rings, whose
  // barriers order the accesses; otherwise all copies have been used at its end.
  void multiplied(const Stmt &stmt) {
    const auto *loop = stmt.as<MainLoop>();
    const auto *product = stmt.as<WindowProduct>();
    if (loop)
      for (const Transfer &factor : loop->factors) touch(of_array(factor.array, false));
    if (product) touch(of_array(product->second.array, false));
    const bool has_roles = kernel_.roles.producers != 0;
    for_each_tile(stmt, [&](const TileMemory &tile, TileAccess access) {
      const bool filled = access == TileAccess::ring || access == TileAccess::barriers;
      if (access != TileAccess::result && in_memory(tile.array) && !(filled && has_roles))
        touch(of_block(tile.array, filled));
    });
    if (!has_roles) barrier();
    if (const TileMemory &result = *result_of(stmt); in_memory(result.array)) touch(of_block(result.array, true));
  }

  void either(const If &branch) {
    const Value condition = known_(branch.condition);
    const bool known = condition.is_constant(), taken = known && condition.bits() != 0;
    const bool may_differ =
        known_.stands_for_others(branch.condition) && !(taken && holds_from_now_on(branch.condition));
    if (known && !may_differ) {
      walk(taken ? branch.then_block : branch.else_block);
    } else {
      const std::vector<Access> before = open_;
      walk(branch.then_block);
      const std::vector<Access> after_first = std::exchange(open_, before);
      walk(branch.else_block);
      for (const Access &access : after_first) remember(access);
    }
    for (const BranchResult &result : branch.results) {
      const Value &value = taken ? result.then_value : result.else_value;
      if (known)
        known_.set(result.local, known_(value), may_differ || known_.stands_for_others(value));
      else
        known_.forget(result.local);
    }
  }

  // Whether a condition that holds in an iteration holds in all later ones: the loop's index is at least a constant.
  bool holds_from_now_on(const Value &condition) const {
    const Operation *compared = definition(condition, Op::GreaterEqual);
    if (!compared) compared = definition(condition, Op::Greater);
    return compared && compared->operands[0].is_local() && growing_.contains(compared->operands[0].id()) &&
           compared->operands[1].is_constant();
  }

  void begin(const std::vector<Carried> &carried, bool with_values) {
    for (const Carried &value : carried) {
      known_.forget(value.inner);
      if (with_values) known_.set(value.inner, known_(value.initial), known_.stands_for_others(value.initial));
    }
  }
  // `stand_for_others`: in the next iteration.
  void advance(const std::vector<Carried> &carried, bool with_values, bool stand_for_others) {
    std::vector<std::pair<Value, bool>> next;
    for (const Carried &value : carried)
      next.emplace_back(known_(value.next), stand_for_others || known_.stands_for_others(value.next));
    for (std::size_t i = 0; i < carried.size(); ++i) {
      known_.forget(carried[i].inner);
      if (with_values) known_.set(carried[i].inner, next[i].first, next[i].second);
    }
  }

  void loops(const For &loop) {
    if (loop.kind == LoopKind::Thread) return elements(loop);
    // Accesses of different blocks are unordered anyway.
    if (loop.kind == LoopKind::Block) return walk(loop.body);
    const Value first = known_(loop.begin), end = known_(loop.end);
    const bool constant = first.is_constant() && loop.step.is_constant(), ends = constant && end.is_constant();
    std::vector<Access> left = open_;  // at the loop's end, after any number of iterations
    begin(loop.carried, constant);
    runs_.insert_or_assign(loop.index, ++run_count_);
    if (constant && loop.step.as_int() > 0) growing_.insert(loop.index);
    for (int turn = 0; turn < turns_ + (constant ? 2 : 0); ++turn) {
      known_.forget(loop.index);
      if (constant) {
        const std::int64_t index = first.as_int() + turn * loop.step.as_int();
        if (ends && (loop.step.as_int() > 0 ? index >= end.as_int() : index <= end.as_int())) break;
        // The last two iterations represent all later ones, in which conditions may differ.
        known_.set(loop.index, Value::constant(loop.type, index),
                   turn >= turns_ || known_.stands_for_others(loop.begin));
      }
      walk(loop.body);
      advance(loop.carried, constant, turn + 1 >= turns_);
      left.insert(left.end(), open_.begin(), open_.end());
    }
    if (ends) return;
    for (const Access &access : left) remember(access);
  }
  void loops(const While &loop) {
    begin(loop.carried, false);
    walk(loop.condition_block);
    const std::vector<Access> without_turns = open_;
    for (int turn = 0; turn < 2; ++turn) walk(loop.body), walk(loop.condition_block);
    for (const Access &access : without_turns) remember(access);
  }

  // Elements of a scheduled kernel's memory. Within one loop the schedule leaves each of them to one thread.
  void elements_of_schedule(const For &loop) {
    std::set<LocalId> ahead;  // loads whose copies the stores of their values start
    std::vector<Access> all;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      where_ = stmt.where();
      const auto *let = stmt.as<Let>();
      const auto *store = stmt.as<LocalStore>();
      if (let && elements_ahead(let->value) != 0) ahead.insert(let->local);
      const auto array = local_array_touched(stmt);
      if (!array || !in_memory(*array)) return;
      all.push_back(of_block(*array, store != nullptr));
      all.back().threads = &loop;
      if (store && store->value.is_local() && ahead.contains(store->value.id())) all.back().copy = Copy{};
    });
    accessed_in_loop(all);
  }

  // The accesses of a loop over elements to memory of the block, compared with each other and with earlier ones.
  void accessed_in_loop(const std::vector<Access> &all) {
    for (const Access &a : all)
      for (const Access &b : all)
        if (!a.array && !b.array && &a < &b && !a.threads) compare(a, b);
    const std::vector<Access> before = open_;
    for (const Access &access : all)
      for (const Access &other : before) compare(other, access);
    for (const Access &access : all) remember(access);
  }

  void elements(const For &loop) {
    if (kernel_.scheduled) return elements_of_schedule(loop);
    Deal deal;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      const auto array = local_array_touched(stmt);
      if (!array || !in_registers(*array)) return;
      const auto &layout = std::get<FragmentLayout>(memory_.at(*array).layout);
      if (!layout.in_every_thread()) deal = layout;
    });
    const bool first_thread = loop.end.is_constant() && loop.end.as_int() == 1 && !deal;
    std::vector<Access> all;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      where_ = stmt.where();
      if (const auto array = local_array_touched(stmt); array && in_memory(*array)) {
        const LocalStore *store = stmt.as<LocalStore>();
        const Value &index = store ? store->index : stmt.as<Let>()->value.operands[0];
        const std::optional<Row> own = row_of(index, loop);
        const Access::By by = first_thread ? Access::By::first_thread : own ? Access::By::own_element : Access::By::any;
        all.push_back(of_block(*array, store != nullptr, by, deal));
        all.back().row = own.value_or(Row{});
      }
      // Another loop may access the element at another index.
      const Access::By by = first_thread ? Access::By::first_thread : Access::By::any;
      if (const auto array = array_read(stmt)) all.push_back(of_array(*array, false, by, deal));
      if (const auto array = array_written(stmt)) all.push_back(of_array(*array, true, by, deal));
    });
    note_assumptions(loop);
    accessed_in_loop(all);
  }

  // The row of a loop's own elements that an index in it is of. Empty if the index may be of another thread's element.
  std::optional<Row> row_of(const Value &index, const For &loop) const {
    const std::int64_t length = loop.end.is_constant() ? loop.end.as_int() : 0;
    if (is_index(index, loop)) return Row{length, false};
    const Operation *sum = definition(index, Op::Add);
    if (!sum || length == 0) return std::nullopt;
    for (const int number : {0, 1})
      if (is_index(sum->operands[1 - number], loop) && is_multiple(sum->operands[number], length) &&
          !is_defined_in(loop, sum->operands[number]))
        return Row{length, true};
    return std::nullopt;
  }
  bool is_index(const Value &value, const For &loop) const {
    if (value.is_local() && value.id() == loop.index) return true;
    const Operation *widened = definition(value, Op::Cast);
    return widened && widened->type.element() == ScalarType::Int64 && is_index(widened->operands[0], loop);
  }
  bool is_multiple(const Value &value, std::int64_t length) const {
    if (value.is_constant()) return value.as_int() % length == 0;
    const Operation *product = definition(value, Op::Mul);
    const auto is_length = [&](const Value &factor) { return factor.is_constant() && factor.as_int() == length; };
    return product && std::ranges::any_of(product->operands, is_length);
  }
  static bool is_defined_in(const For &loop, const Value &value) {
    bool found = false;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      for_each_definition(stmt,
                          [&](LocalId local, Type) { found = found || (value.is_local() && local == value.id()); });
    });
    return found;
  }
  const Operation *definition(const Value &value, Op op) const {
    const auto known = value.is_local() ? definitions_.find(value.id()) : definitions_.end();
    return known != definitions_.end() && known->second->op == op ? known->second : nullptr;
  }

  // Loads, at other indices, from an array that the loop stores to.
  void note_assumptions(const For &loop) {
    std::map<std::uint32_t, std::vector<Value>> stored;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      if (auto *store = stmt.as<Store>()) stored.emplace(store->array, store->indices);
      if (auto *add = stmt.as<Accumulate>(); add && !add->atomic) stored.emplace(add->array, add->indices);
    });
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      auto *let = stmt.as<Let>();
      if (!let || let->value.op != Op::Load) return;
      const auto own = stored.find(let->value.array);
      if (own == stored.end() || own->second == let->value.operands) return;
      const std::string text = fmt::format("{} is loaded at other indices than it is stored at ({})",
                                           "@" + kernel_.parameters[let->value.array].name, stmt.where().to_string());
      if (std::ranges::find(found.assumed, text) == found.assumed.end()) found.assumed.push_back(text);
    });
  }

  void touch(const Access &access) {
    for (const Access &other : std::vector(open_)) compare(other, access);
    remember(access);
  }

  void remember(const Access &access) {
    const auto same = [&](const Access &other) { return other.same_but_place(access); };
    if (std::ranges::none_of(open_, same)) open_.push_back(access);
  }

  bool same_memory(const Access &a, const Access &b) const {
    if (a.array != b.array) return false;
    if (a.array && a.which == b.which) return true;
    if (a.array) return a.writes ? shares_memory_(b.which, a.which) : shares_memory_(a.which, b.which);
    if (!a.bytes || !b.bytes) return a.which == b.which;
    return a.bytes->first < b.bytes->second && b.bytes->first < a.bytes->second;
  }

  void compare(const Access &first, const Access &then) {
    if ((!first.writes && !then.writes) || !same_memory(first, then)) return;
    const bool one_thread = first.by == Access::By::first_thread && then.by == Access::By::first_thread;
    const bool own = first.by == Access::By::own_element && then.by == Access::By::own_element && !first.array &&
                     first.which == then.which && first.deal == then.deal && first.row.same_threads(then.row);
    // A thread that reads has stored all that others may still store.
    const bool own_store = first.by == Access::By::every_thread && !then.writes && first.which == then.which;
    const bool apart = first.threads && then.threads && !first.is_in_flight() && !then.is_in_flight() &&
                       first.which == then.which && own_.apart(*first.threads, *then.threads, then.which);
    const bool other_iteration = first.iterations.first && first.iterations == then.iterations;
    if (one_thread || own || own_store || apart || other_iteration) return;
    const auto name = [&](const Access &access) {
      return access.array ? "@" + kernel_.parameters[access.which].name : fmt::format("${}", access.which);
    };
    const std::string text = fmt::format(
        "{} is {}, and {} is {} with no barrier between them ({}, {})", name(first), first.writes ? "written" : "read",
        name(then), then.writes ? "written" : "read", first.where.to_string(), then.where.to_string());
    if (std::ranges::find(found.missing, text) == found.missing.end()) found.missing.push_back(text);
  }

  const Kernel &kernel_;
  const SharesMemory &shares_memory_;
  std::vector<Access> open_;  // since the last barrier
  Known known_;
  int groups_ = 0;               // of copies, so far
  int turns_ = 2;                // number of simulated iterations of a loop
  std::map<LocalId, int> runs_;  // the latest execution of each serial loop, by its index
  int run_count_ = 0;
  std::set<LocalId> growing_;                // indices of serial loops
  std::map<LocalArrayId, Allocate> memory_;  // of the block
  std::set<LocalArrayId> registers_;
  std::map<LocalId, const Operation *> definitions_;
  OwnElements own_;
  SourceLocation where_;
};

}  // namespace

Synchronisation unsynchronised(const Kernel &planned, const SharesMemory &shares_memory) {
  Checker checker(planned, shares_memory);
  checker.walk(planned.body);
  std::ranges::move(unordered_roles(planned, shares_memory), std::back_inserter(checker.found.missing));
  return std::move(checker.found);
}

}  // namespace samite::passes
