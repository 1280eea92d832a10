#include "samite/passes/threads/interchange.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/threads/distribute.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t vectors_side_by_side = 4;
constexpr std::size_t largest_jammed = 96;

// A strip's values should fit the first-level cache, together with the arrays that a loop reads. A strip consists of
// whole groups of jammed vectors, which have up to 16 lanes.
constexpr std::int64_t kept_bytes = 24 << 10, smallest_strip = 16 * vectors_side_by_side, largest_strip = 512;

// Operations with long code, which hide the latency of a single vector.
bool is_long(Op op) { return (op >= Op::Cbrt && op <= Op::Fmod) || op == Op::Lgamma || op == Op::Digamma; }

class Interchange {
 public:
  Interchange(Kernel &kernel, const For &loop, SourceLocation where, const Uniformity &uniformity,
              const DistributedLoop &distributed, const std::vector<bool> &only_added_to, const FactsOfArrays &arrays)
      : kernel_(kernel),
        loop_(loop),
        where_(where),
        uniformity_(uniformity),
        distributed_(distributed),
        only_added_to_(only_added_to),
        arrays_(arrays),
        types_(local_types(kernel)) {}

  Block run() {
    for_each_statement(loop_.body, [&](const Stmt &stmt) {
      if (const Let *let = stmt.as<Let>()) let_of_[let->local] = let;
    });
    Block around;
    const std::int64_t size = strip_size();
    for (LocalId local = 0; local < distributed_.slot.size(); ++local) {
      if (distributed_.slot[local] != local) continue;
      array_of_[local] = kernel_.local_array_count++;
      around.emplace_back(
          Allocate{array_of_[local], types_[local], Value::constant(ScalarType::Int32, size), MemorySpace::strip},
          where_);
    }
    // Strips are counted, since an index of their starts might overflow.
    const Value strip_length = Value::constant(loop_.type, size), zero = Value::zero(loop_.type);
    const Value one = Value::constant(loop_.type, std::int64_t{1});
    const Value instances = let(around, Op::Sub, {loop_.end, loop_.begin});
    const Value rest = let(around, Op::Rem, {instances, strip_length});
    const Value is_more = let(around, ScalarType::Bool, Op::Greater, {rest, zero});
    const Value whole = let(around, Op::Div, {instances, strip_length});
    const Value more = let(around, loop_.type, Op::Cast, {is_more});
    const Value strips = let(around, Op::Add, {whole, more});

    const LocalId strip = kernel_.local_count++;
    Block body;
    const Value before = let(body, Op::Mul, {Value::local(loop_.type, strip), strip_length});
    strip_.first = let(body, Op::Add, {loop_.begin, before});
    const Value left = let(body, Op::Sub, {loop_.end, strip_.first});
    strip_.length = let(body, Op::Min, {left, strip_length});
    write(distributed_.steps, body);
    around.emplace_back(For{strip, loop_.type, zero, strips, one, std::move(body), {}}, where_);
    return around;
  }

 private:
  struct Guard {
    Value condition;
    bool holds;
  };
  struct Strip {
    Value first = Value::boolean(false), length = first;
  };
  struct Run {
    Value place = Value::boolean(false);        // of an instance in the strip
    std::unordered_map<LocalId, Value> inside;  // the names here of outer definitions
    std::set<LocalId> defined;
  };

  Value let(Block &to, Type type, Op op, std::vector<Value> operands, std::uint32_t array = 0) {
    const LocalId local = kernel_.local_count++;
    to.emplace_back(Let{local, {op, type, std::move(operands), array}}, where_);
    return Value::local(type, local);
  }
  Value let(Block &to, Op op, std::vector<Value> operands) { return let(to, loop_.type, op, std::move(operands)); }

  bool uniform(const Value &value) const { return uniformity_.of(value) == Shape::Uniform; }
  bool uniform(LocalId local) const { return uniformity_.of(local) == Shape::Uniform; }

  // ---- the number of instances in a strip

  std::int64_t strip_size() const {
    if (any_strided(distributed_.steps, false)) return smallest_strip;
    std::int64_t bytes = 0;
    for (LocalId local = 0; local < distributed_.slot.size(); ++local) {
      if (distributed_.slot[local] != local) continue;
      const auto own = static_cast<std::int64_t>(size_of(types_[local].element()));
      bytes += is_floating(types_[local].element()) ? std::max<std::int64_t>(own, 4) : own;
    }
    const std::int64_t fitting = kept_bytes / std::max<std::int64_t>(bytes, 1);
    return std::clamp(fitting, smallest_strip, largest_strip) / smallest_strip * smallest_strip;
  }

  bool strided(std::uint32_t array, std::span<const Value> indices) const {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Shape shape = uniformity_.of(indices[d]);
      if (shape == Shape::Uniform) continue;
      if (d + 1 < indices.size() || shape == Shape::Varying || !facts_of(arrays_, array).unit_stride) return true;
    }
    return false;
  }

  // Whether an opened loop accesses a different cache line for each instance: many would not fit the cache.
  bool any_strided(const std::vector<DistributedStep> &steps, bool in_loop) const {
    bool found = false;
    for (const DistributedStep &step : steps) {
      if (in_loop)
        for_each_statement(step.statements, [&](const Stmt &stmt) {
          if (const Let *let = stmt.as<Let>(); let && array_read(stmt))
            found = found || strided(let->value.array, element_indices(let->value));
          if (const Store *store = stmt.as<Store>()) found = found || strided(store->array, store->indices);
          if (const Accumulate *add = stmt.as<Accumulate>()) found = found || strided(add->array, add->indices);
        });
      const bool inside = in_loop || (step.opened && step.opened->as<For>());
      found = found || any_strided(step.body, inside) || any_strided(step.otherwise, inside);
    }
    return found;
  }

  // ---- code outside of the thread loops

  // A value that is the same for all instances, by its name outside of the runs.
  Value outside(const Value &value) const {
    auto found = value.is_local() ? outside_.find(value.id()) : outside_.end();
    return found == outside_.end() ? value : found->second;
  }

  void write(const std::vector<DistributedStep> &steps, Block &to) {
    for (const DistributedStep &step : steps) {
      if (!step.opened)
        write_run(step, to);
      else if (const For *loop = step.opened->as<For>())
        open(*loop, step, to);
      else
        open(*step.opened->as<If>(), step, to);
    }
  }

  // Values that differ between instances are in memory of the strip.
  void open(const For &loop, const DistributedStep &step, Block &to) {
    For opened = loop;
    opened.begin = outside(loop.begin);
    opened.end = outside(loop.end);
    opened.step = outside(loop.step);
    std::erase_if(opened.carried, [&](const Carried &carried) { return !uniform(carried.inner); });
    for (Carried &carried : opened.carried) carried.initial = outside(carried.initial);
    opened.body.clear();
    ++loops_;
    write(step.body, opened.body);
    --loops_;
    for (Carried &carried : opened.carried) carried.next = outside(carried.next);
    to.emplace_back(std::move(opened), step.opened->where());
  }

  void open(const If &branch, const DistributedStep &step, Block &to) {
    const SourceLocation where = step.opened->where();
    if (!uniform(branch.condition)) {
      open_side(step.body, {branch.condition, true}, where, to);
      open_side(step.otherwise, {branch.condition, false}, where, to);
      return;
    }
    If opened = branch;
    opened.condition = outside(branch.condition);
    std::erase_if(opened.results, [&](const BranchResult &result) { return !uniform(result.local); });
    opened.then_block.clear();
    opened.else_block.clear();
    write(step.body, opened.then_block);
    for (BranchResult &result : opened.results) result.then_value = outside(result.then_value);
    write(step.otherwise, opened.else_block);
    for (BranchResult &result : opened.results) result.else_value = outside(result.else_value);
    to.emplace_back(std::move(opened), where);
  }

  // A side of a divergent branch runs if some instance of the strip takes it.
  void open_side(const std::vector<DistributedStep> &steps, Guard guard, SourceLocation where, Block &to) {
    if (steps.empty()) return;
    guards_.push_back(guard);
    const Value zero = Value::constant(ScalarType::Int32, std::int64_t{0});
    const LocalArrayId some = kernel_.local_array_count++;
    to.emplace_back(Allocate{some, ScalarType::Bool, Value::constant(ScalarType::Int32, std::int64_t{1})}, where);
    to.emplace_back(LocalStore{some, zero, Value::boolean(false)}, where);
    thread_loop(to, where, 1,
                [&](Block &body) { body.emplace_back(LocalStore{some, zero, Value::boolean(true)}, where); });
    If taken{let(to, ScalarType::Bool, Op::LocalLoad, {zero}, some), {}, {}, {}};
    write(steps, taken.then_block);
    to.emplace_back(std::move(taken), where);
    guards_.pop_back();
  }

  // ---- runs

  // The statements without uniform ones, which move outside.
  Block without_shared(const Block &block, Block &to) const {
    Block rest;
    std::set<LocalId> left;
    bool written = false;
    for (const Stmt &stmt : block) {
      const Let *let = stmt.as<Let>();
      const bool shared = let && uniform(let->local) && !(written && info(let->value.op).typing == Typing::Load) &&
                          std::ranges::all_of(let->value.operands, [&](const Value &value) {
                            return uniform(value) && !(value.is_local() && left.contains(value.id()));
                          });
      if (shared) {
        to.push_back(map_operands(stmt, [&](const Value &value) { return outside(value); }));
        continue;
      }
      rest.push_back(stmt);
      for_each_statement({stmt}, [&](const Stmt &inner) {
        written = written || array_written(inner);
        for_each_definition(inner, [&](LocalId local, Type) { left.insert(local); });
      });
    }
    return rest;
  }

  // Whether the statements have no effect if they run for no instance.
  bool harmless_without_instances(const Block &block, const std::set<LocalId> &defined) const {
    auto shared = [&](std::span<const Value> indices) {
      return std::ranges::all_of(indices, [&](const Value &index) { return uniform(index); });
    };
    auto summed = [&](const Accumulate &add) {
      return only_added_to_[add.array] && std::ranges::none_of(add.indices, [&](const Value &index) {
               return index.is_local() && defined.contains(index.id());
             });
    };
    return std::ranges::all_of(block, [&](const Stmt &stmt) {
      if (const Let *let = stmt.as<Let>()) return !array_written(stmt) || !shared(element_indices(let->value));
      if (const Store *store = stmt.as<Store>()) return !shared(store->indices);
      if (const Accumulate *add = stmt.as<Accumulate>()) return !shared(add->indices) || summed(*add);
      return false;
    });
  }

  int jam(const Block &block, const std::set<LocalId> &defined) const {
    if (loops_ == 0 || block.size() > largest_jammed || !harmless_without_instances(block, defined)) return 1;
    const bool calls = std::ranges::any_of(block, [](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      return let && is_long(let->value.op);
    });
    return calls ? 1 : static_cast<int>(vectors_side_by_side);
  }

  void write_run(const DistributedStep &step, Block &to) {
    const Block rest = without_shared(step.statements, to);
    if (rest.empty() && step.leaves.empty()) return;
    std::set<LocalId> defined;
    std::vector<LocalId> kept, shared;
    for_each_statement(rest, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, Type) {
        defined.insert(local);
        if (distributed_.shared[local]) shared.push_back(local);
        if (distributed_.slot[local] == local) kept.push_back(local);
      });
    });
    const Value zero = Value::constant(ScalarType::Int32, std::int64_t{0});
    std::vector<LocalArrayId> array_of_shared;
    for (LocalId local : shared) {
      array_of_shared.push_back(kernel_.local_array_count++);
      to.emplace_back(
          Allocate{array_of_shared.back(), types_[local], Value::constant(ScalarType::Int32, std::int64_t{1})}, where_);
    }
    const SourceLocation where = rest.empty() ? where_ : rest.front().where();
    thread_loop(to, where, jam(rest, defined), [&](Block &body) {
      run_.defined = defined;
      Block statements = map_operands(rest, [&](const Value &value) { return inside(value, body); });
      std::vector<Value> leaving;
      for (const RunAssignment &assignment : step.leaves) leaving.push_back(inside(assignment.value, body));
      body.insert(body.end(), std::make_move_iterator(statements.begin()), std::make_move_iterator(statements.end()));
      for (LocalId local : kept) keep(local, Value::local(types_[local], local), body);
      for (std::size_t i = 0; i < shared.size(); ++i)
        body.emplace_back(LocalStore{array_of_shared[i], zero, Value::local(types_[shared[i]], shared[i])}, where_);
      for (std::size_t i = 0; i < leaving.size(); ++i) keep(step.leaves[i].target, leaving[i], body);
    });
    for (std::size_t i = 0; i < shared.size(); ++i)
      outside_.insert_or_assign(shared[i], let(to, types_[shared[i]], Op::LocalLoad, {zero}, array_of_shared[i]));
  }

  void keep(LocalId slot, const Value &value, Block &to) const {
    to.emplace_back(LocalStore{array_of_.at(slot), run_.place, value}, where_);
  }

  // A thread loop over the strip, for the instances that the open branches select.
  template <class Write>
  void thread_loop(Block &to, SourceLocation where, int jam, const Write &write) {
    run_.place = Value::local(loop_.type, kernel_.local_count++);
    const Value zero = Value::zero(loop_.type), one = Value::constant(loop_.type, std::int64_t{1});
    For loop{run_.place.id(), loop_.type, zero, strip_.length, one, {}, {}, LoopKind::Thread};
    loop.jam = jam;
    run_.inside.clear();
    run_.defined.clear();
    loop.body = guarded(0, std::move(loop.body), write);
    to.emplace_back(std::move(loop), where);
  }

  template <class Write>
  Block guarded(std::size_t depth, Block block, const Write &write) {
    if (depth == guards_.size()) {
      write(block);
      return block;
    }
    Value condition = inside(guards_[depth].condition, block);
    if (!guards_[depth].holds) condition = let(block, ScalarType::Bool, Op::Not, {condition});
    block.emplace_back(If{condition, guarded(depth + 1, {}, write), {}, {}}, where_);
    return block;
  }

  // A value by its name in the current run, whose statements so far are in `to`.
  Value inside(const Value &value, Block &to) {
    if (!value.is_local() || run_.defined.contains(value.id())) return value;
    if (uniform(value)) return outside(value);
    if (auto known = run_.inside.find(value.id()); known != run_.inside.end()) return known->second;
    Value found = value;
    if (value.id() == loop_.index) {
      found = let(to, Op::Add, {strip_.first, run_.place});
    } else if (const auto &slot = distributed_.slot[value.id()]) {
      found = let(to, value.type(), Op::LocalLoad, {run_.place}, array_of_.at(*slot));
    } else if (auto known = let_of_.find(value.id()); known != let_of_.end()) {
      std::vector<Value> operands;
      for (const Value &operand : known->second->value.operands) operands.push_back(inside(operand, to));
      found = let(to, value.type(), known->second->value.op, std::move(operands));
    }
    run_.inside.emplace(value.id(), found);
    return found;
  }

  Kernel &kernel_;
  const For &loop_;
  const SourceLocation where_;
  const Uniformity &uniformity_;
  const DistributedLoop &distributed_;
  const std::vector<bool> &only_added_to_;
  const FactsOfArrays &arrays_;
  const std::vector<Type> types_;
  std::unordered_map<LocalId, LocalArrayId> array_of_;
  std::unordered_map<LocalId, const Let *> let_of_;
  std::unordered_map<LocalId, Value> outside_;  // the outer names of definitions in runs
  std::vector<Guard> guards_;                   // open divergent branches
  Strip strip_;
  Run run_;        // the current one
  int loops_ = 0;  // enclosing ones
};

}  // namespace

Kernel interchange(Kernel lowered, const FactsOfArrays &arrays) {
  if (is_tile_kernel(lowered)) return lowered;
  const Uniformity uniform = uniformity(lowered);
  const std::vector<bool> only_added_to = arrays_only_added_to(lowered);
  const Block body = lowered.body;
  lowered.body = rewrite(body, [&](const Stmt &stmt, Block &to) {
    const For *loop = stmt.as<For>();
    if (loop && loop->kind == LoopKind::Thread) {
      if (const auto distributed = distribute(lowered, *loop, uniform, only_added_to)) {
        Block made = Interchange(lowered, *loop, stmt.where(), uniform, *distributed, only_added_to, arrays).run();
        to.insert(to.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
        return;
      }
    }
    to.push_back(stmt);
  });
  return lowered;
}

}  // namespace samite::passes
