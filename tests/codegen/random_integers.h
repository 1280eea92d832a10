// Random programs of integers, with branches and loops nested to three levels, and an interpreter that runs one
// instance after another.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/ir/visit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace samite::test::random_integers {

using namespace ir;
using ir::CustomAdjoint;
using ir::Kernel;  // also where the library's own Kernel is declared

inline constexpr std::int64_t table_size = 64, slots = 4, shared_size = 16;

// Writes kernels over @out (a row of four for each instance), @table, whose size is a power of two, and @shared, which
// all instances add to.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Kernel make() {
    kernel_.name = "random";
    kernel_.parameters = {{"out", ScalarType::Int32, 2},
                          {"table", ScalarType::Int32, 1, true},
                          {"n", ScalarType::Int32},
                          {"shared", ScalarType::Int32, 1}};
    Block body;
    numbers_.push_back(define(body, {Op::ThreadIndex, ScalarType::Int32, {}}));
    index_ = numbers_[0];
    numbers_.push_back(Value::parameter(ScalarType::Int32, 2));
    statements(body, 3, below(8));
    together(body, 1 + below(3));
    statements(body, 2, below(5));
    for (std::int64_t slot = 0; slot < slots; ++slot) body.push_back(store(slot));
    kernel_.body = std::move(body);
    return std::move(kernel_);
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  Value number() {
    if (below(5) == 0) return Value::constant(ScalarType::Int32, std::int64_t{below(20) - 5});
    return numbers_[static_cast<std::size_t>(below(static_cast<int>(numbers_.size())))];
  }
  Value fresh(ScalarType type) { return Value::local(type, kernel_.local_count++); }
  Value define(Block &block, Operation operation) {
    const Value result = fresh(operation.type);
    block.emplace_back(Let{result.id(), std::move(operation)}, SourceLocation{});
    return result;
  }
  Value small(Block &block, int bound) {
    return define(
        block, {Op::And, ScalarType::Int32, {number(), Value::constant(ScalarType::Int32, std::int64_t{bound - 1})}});
  }
  Value condition(Block &block) {
    const Op ops[] = {Op::Less, Op::Equal, Op::GreaterEqual};
    return define(block, {ops[below(3)], ScalarType::Bool, {number(), number()}});
  }
  Stmt store(std::int64_t slot) {
    return Stmt(Store{0, {index_, Value::constant(ScalarType::Int32, slot)}, number()}, {});
  }

  void statements(Block &block, int depth, int count) {
    for (int i = 0; i < count; ++i) statement(block, depth);
  }

  void statement(Block &block, int depth) {
    switch (below(depth > 0 ? 16 : 12)) {
      case 0: block.push_back(store(below(slots))); return;
      case 1: {
        const Value at = small(block, table_size);
        numbers_.push_back(define(block, {Op::Load, ScalarType::Int32, {at}, 1}));
        return;
      }
      case 2:
        numbers_.push_back(define(block, {Op::Load,
                                          ScalarType::Int32,
                                          {index_, Value::constant(ScalarType::Int32, std::int64_t{below(slots)})},
                                          0}));
        return;
      case 3: {
        const Value at = small(block, slots);
        block.emplace_back(Accumulate{0, {index_, at}, number(), below(2) == 0}, SourceLocation{});
        return;
      }
      case 4: return local_array(block);
      case 5: return local_store(block);
      case 6: return local_load(block);
      case 7: return add_to_shared(block);
      case 12: return branch(block, depth);
      case 13:
      case 14: return counted(block, depth);
      case 15: return conditional(block, depth);
      default: {
        const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem, Op::Min, Op::Max, Op::Xor, Op::ShiftRight};
        numbers_.push_back(define(block, {ops[below(9)], ScalarType::Int32, {number(), number()}}));
      }
    }
  }

  // With four elements, or 4 to 7, on the stack or not; initialised, because it has no values at first.
  void local_array(Block &block) {
    const Value four = Value::constant(ScalarType::Int32, std::int64_t{slots});
    const Value size = below(2) ? four : define(block, {Op::Add, ScalarType::Int32, {small(block, 4), four}});
    const LocalArrayId array = kernel_.local_array_count++;
    block.emplace_back(Allocate{array, ScalarType::Int32, size}, SourceLocation{});
    const Value index = fresh(ScalarType::Int32), value = number();
    For loop{
        index.id(), ScalarType::Int32, Value::zero(ScalarType::Int32), size, Value::constant(ScalarType::Int32, 1), {},
        {}};
    loop.body.emplace_back(LocalStore{array, index, below(2) ? index : value}, SourceLocation{});
    block.emplace_back(std::move(loop), SourceLocation{});
    arrays_.push_back(array);
  }
  // An index that all lanes share, or not.
  Value slot(Block &block) {
    return below(2) ? Value::constant(ScalarType::Int32, std::int64_t{below(slots)}) : small(block, slots);
  }
  void local_store(Block &block) {
    if (arrays_.empty()) return local_array(block);
    const Value at = slot(block);
    const LocalArrayId array = arrays_[static_cast<std::size_t>(below(static_cast<int>(arrays_.size())))];
    block.emplace_back(LocalStore{array, at, number()}, SourceLocation{});
  }
  void local_load(Block &block) {
    if (arrays_.empty()) return local_array(block);
    const Value at = slot(block);
    const LocalArrayId array = arrays_[static_cast<std::size_t>(below(static_cast<int>(arrays_.size())))];
    numbers_.push_back(define(block, {Op::LocalLoad, ScalarType::Int32, {at}, array}));
  }

  // A block that forgets its definitions at its end, except for one value that was in scope there.
  template <class Fill>
  std::pair<Block, std::vector<Value>> nested(int results, Fill fill) {
    const std::size_t before = numbers_.size(), arrays_before = arrays_.size();
    Block block;
    fill(block);
    std::vector<Value> values;
    for (int i = 0; i < results; ++i) values.push_back(number());
    numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(before), numbers_.end());
    arrays_.resize(arrays_before);
    return {std::move(block), std::move(values)};
  }

  // Either all lanes add to one element, or each to a different one.
  void add_to_shared(Block &block) {
    const Value some = indices_.empty() || below(4) == 0 ? number() : indices_[indices_.size() - 1 - below_half()];
    const Value at =
        define(block, {Op::And, ScalarType::Int32, {some, Value::constant(ScalarType::Int32, shared_size - 1)}});
    block.emplace_back(Accumulate{3, {at}, number(), true}, SourceLocation{});
  }
  // The innermost loops' indices more often.
  std::size_t below_half() { return below(3) ? 0 : static_cast<std::size_t>(below(static_cast<int>(indices_.size()))); }

  void branch(Block &block, int depth) {
    If branch{condition(block), {}, {}, {}};
    const int results = below(3), then_count = below(5), else_count = below(4);
    auto [then_block, then_values] = nested(results, [&](Block &b) { statements(b, depth - 1, then_count); });
    auto [else_block, else_values] = nested(results, [&](Block &b) { statements(b, depth - 1, else_count); });
    branch.then_block = std::move(then_block);
    branch.else_block = std::move(else_block);
    for (int i = 0; i < results; ++i) {
      const Value local = fresh(ScalarType::Int32);
      branch.results.push_back({local.id(), ScalarType::Int32, then_values[static_cast<std::size_t>(i)],
                                else_values[static_cast<std::size_t>(i)]});
      numbers_.push_back(local);
    }
    block.emplace_back(std::move(branch), SourceLocation{});
  }

  std::vector<Carried> carried(int count) {
    std::vector<Carried> values;
    for (int i = 0; i < count; ++i)
      values.push_back(
          {fresh(ScalarType::Int32).id(), fresh(ScalarType::Int32).id(), ScalarType::Int32, number(), number()});
    return values;
  }
  void enter(const std::vector<Carried> &values) {
    for (const Carried &value : values) numbers_.push_back(Value::local(ScalarType::Int32, value.inner));
  }
  void leave(std::vector<Carried> &values, const std::vector<Value> &next) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].next = next[i];
      numbers_.push_back(Value::local(ScalarType::Int32, values[i].result));
    }
  }

  // Loops that all instances run together, adding to the same elements; sometimes only a part of the instances.
  void together(Block &block, int depth) {
    if (below(4) == 0) {
      If branch{condition(block), {}, {}, {}};
      auto [then_block, then_values] = nested(1, [&](Block &b) { together(b, depth); });
      auto [else_block, else_values] = nested(1, [&](Block &b) { statements(b, 1, below(3)); });
      branch.then_block = std::move(then_block);
      branch.else_block = std::move(else_block);
      const Value local = fresh(ScalarType::Int32);
      branch.results.push_back({local.id(), ScalarType::Int32, then_values[0], else_values[0]});
      numbers_.push_back(local);
      block.emplace_back(std::move(branch), SourceLocation{});
      return;
    }
    auto constant = [](std::int64_t number) { return Value::constant(ScalarType::Int32, number); };
    const std::int64_t begin = below(3);
    For loop{fresh(ScalarType::Int32).id(),
             ScalarType::Int32,
             constant(begin),
             constant(begin + below(4)),
             constant(1),
             {},
             carried(below(4))};
    auto [body, next] = nested(static_cast<int>(loop.carried.size()), [&](Block &b) {
      indices_.push_back(Value::local(ScalarType::Int32, loop.index));
      numbers_.push_back(indices_.back());
      enter(loop.carried);
      statements(b, below(2), below(5));
      if (depth > 1) together(b, depth - 1);
      add_to_shared(b);
      statements(b, 0, below(4));
    });
    indices_.pop_back();
    loop.body = std::move(body);
    leave(loop.carried, next);
    block.emplace_back(std::move(loop), SourceLocation{});
  }

  void counted(Block &block, int depth) {
    const bool same_for_all = below(3) != 0;
    auto bound = [&] {
      return same_for_all ? Value::constant(ScalarType::Int32, std::int64_t{below(8)}) : small(block, 8);
    };
    const Value begin = below(2) ? bound() : Value::constant(ScalarType::Int32, std::int64_t{0});
    const Value end = bound();
    const bool down = below(3) == 0;
    For loop{fresh(ScalarType::Int32).id(),
             ScalarType::Int32,
             down ? end : begin,
             down ? begin : end,
             Value::constant(ScalarType::Int32, std::int64_t{down ? -1 - below(2) : 1 + below(2)}),
             {},
             carried(below(4))};
    auto [body, next] = nested(static_cast<int>(loop.carried.size()), [&](Block &b) {
      numbers_.push_back(Value::local(ScalarType::Int32, loop.index));
      indices_.push_back(Value::local(ScalarType::Int32, loop.index));
      enter(loop.carried);
      statements(b, depth - 1, 1 + below(5));
    });
    indices_.pop_back();
    loop.body = std::move(body);
    leave(loop.carried, next);
    block.emplace_back(std::move(loop), SourceLocation{});
  }

  // Counts to some number, so that it ends, and may end before.
  void conditional(Block &block, int depth) {
    const Value limit = small(block, 8);
    While loop{{}, Value::boolean(false), {}, carried(1 + below(3))};
    loop.carried[0].initial = Value::constant(ScalarType::Int32, std::int64_t{0});
    const Value counter = Value::local(ScalarType::Int32, loop.carried[0].inner);
    auto [body, next] = nested(static_cast<int>(loop.carried.size()), [&](Block &b) {
      enter(loop.carried);
      Value go = define(loop.condition_block, {Op::Less, ScalarType::Bool, {counter, limit}});
      if (below(2)) {
        const Value other = condition(loop.condition_block);
        go = define(loop.condition_block, {Op::And, ScalarType::Bool, {go, other}});
      }
      loop.condition = go;
      statements(b, depth - 1, 1 + below(4));
    });
    next[0] =
        define(body, {Op::Add, ScalarType::Int32, {counter, Value::constant(ScalarType::Int32, std::int64_t{1})}});
    loop.body = std::move(body);
    leave(loop.carried, next);
    block.emplace_back(std::move(loop), SourceLocation{});
  }

  std::mt19937 random_;
  Kernel kernel_;
  std::vector<Value> numbers_, indices_;  // indices_: of the loops that are open
  std::vector<LocalArrayId> arrays_;
  Value index_ = Value::boolean(false);
};

// One instance, in order.
class Interpreter {
 public:
  Interpreter(std::vector<int> &out, const std::vector<int> &table, std::vector<int> &shared, int n, int instance)
      : out_(out), table_(table), shared_(shared), n_(n), instance_(instance) {}

  void run(const Block &block) {
    for (const Stmt &stmt : block) {
      visit(
          stmt, [&](const Let &let) { values_[let.local] = evaluate(let.value); }, [](const CapturedOnly auto &) {},
          [](const CustomAdjoint &) { FAIL() << "random programs have no custom adjoints"; },
          [&](const Store &store) { element(store.indices) = get(store.value); },
          [&](const Accumulate &add) {
            int &sum = add.array == 0 ? element(add.indices) : shared_[static_cast<std::size_t>(get(add.indices[0]))];
            sum = wrap(get(add.value), sum, Op::Add);
          },
          [&](const Allocate &array) { arrays_[array.array].assign(static_cast<std::size_t>(get(array.size)), 0); },
          [&](const LocalStore &store) {
            arrays_[store.array].at(static_cast<std::size_t>(get(store.index))) = get(store.value);
          },
          [](const LoweredOnly auto &) {}, [](const Print &) {}, [](const Check &) {},
          [&](const If &branch) {
            const bool taken = get(branch.condition) != 0;
            run(taken ? branch.then_block : branch.else_block);
            for (const BranchResult &result : branch.results)
              values_[result.local] = get(taken ? result.then_value : result.else_value);
          },
          [&](const For &loop) {
            begin(loop.carried);
            const int end = get(loop.end), step = get(loop.step);
            for (int i = get(loop.begin); step > 0 ? i < end : i > end; i += step) {
              values_[loop.index] = i;
              run(loop.body);
              next(loop.carried);
            }
            finish(loop.carried);
          },
          [&](const While &loop) {
            begin(loop.carried);
            while (run(loop.condition_block), get(loop.condition) != 0) {
              run(loop.body);
              next(loop.carried);
            }
            finish(loop.carried);
          });
    }
  }

 private:
  int get(const Value &value) const {
    if (value.is_constant()) return static_cast<int>(value.as_int());
    return value.is_local() ? values_.at(value.id()) : n_;
  }
  int &element(const std::vector<Value> &indices) {
    return out_[static_cast<std::size_t>(get(indices[0]) * slots + get(indices[1]))];
  }
  static int wrap(int a, int b, Op op) {
    const auto x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
    return static_cast<int>(op == Op::Add ? x + y : op == Op::Sub ? x - y : x * y);
  }

  int evaluate(const Operation &operation) {
    if (operation.op == Op::ThreadIndex) return instance_;
    const int a = get(operation.operands[0]), b = operation.operands.size() > 1 ? get(operation.operands[1]) : 0;
    switch (operation.op) {
      case Op::LocalLoad: return arrays_[operation.array].at(static_cast<std::size_t>(a));
      case Op::Load: return operation.array == 0 ? element(operation.operands) : table_[static_cast<std::size_t>(a)];
      case Op::Div: return b == 0 ? 0 : b == -1 ? wrap(0, a, Op::Sub) : a / b;
      case Op::Rem: return b == 0 ? a : b == -1 ? 0 : a % b;
      case Op::Min: return std::min(a, b);
      case Op::Max: return std::max(a, b);
      case Op::And: return a & b;
      case Op::Xor: return a ^ b;
      case Op::ShiftRight: return a >> (b & 31);
      case Op::Less: return a < b;
      case Op::Equal: return a == b;
      case Op::GreaterEqual: return a >= b;
      default: return wrap(a, b, operation.op);
    }
  }

  void begin(const std::vector<Carried> &carried) {
    for (const Carried &value : carried) values_[value.inner] = get(value.initial);
  }
  void next(const std::vector<Carried> &carried) {
    std::vector<int> all;
    for (const Carried &value : carried) all.push_back(get(value.next));
    for (std::size_t i = 0; i < all.size(); ++i) values_[carried[i].inner] = all[i];
  }
  void finish(const std::vector<Carried> &carried) {
    for (const Carried &value : carried) values_[value.result] = values_[value.inner];
  }

  std::map<LocalId, int> values_;
  std::map<LocalArrayId, std::vector<int>> arrays_;
  std::vector<int> &out_;
  const std::vector<int> &table_;
  std::vector<int> &shared_;
  int n_, instance_;
};

}  // namespace samite::test::random_integers
