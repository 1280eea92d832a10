// Random kernels like those that users write: few arrays and few numbers, which come up again and again.
//
// `RandomKernel` (tests/ir) covers the whole IR, but its kernels hardly ever compute something twice or read values
// after writing them. Here the same loads, sums and branches recur, so that values that a pass shares, keeps or carries
// affect the result. Captured form. One seed is one kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace samite::test {

class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed) : random_(seed) {}

  ir::Kernel make() {
    using enum ScalarType;
    kernel_.name = "program";
    kernel_.parameters = {{"a", Int32, 1}, {"b", Int32, 1}, {"x", Float32, 1}, {"n", Int32}, {"f", Float32}};
    ir::Value index = let({ir::Op::ThreadIndex, Int32, {}}, kernel_.body);
    ir::Value a = let({ir::Op::Load, Int32, {index}, 0}, kernel_.body);
    ir::Value x = let({ir::Op::Load, Float32, {index}, 2}, kernel_.body);
    let({ir::Op::Less, Bool, {a, ir::Value::parameter(Int32, 3)}}, kernel_.body);
    let({ir::Op::Less, Bool, {ir::Value::parameter(Float32, 4), x}}, kernel_.body);
    block(3, 15 + below(25), kernel_.body);
    // All computed values are visible in the results.
    for (std::size_t i = 0; i < visible_.size(); ++i) show(visible_[i], static_cast<int>(i), kernel_.body);
    kernel_.local_count = next_;
    return std::move(kernel_);
  }

 private:
  struct Local {
    ir::LocalId id;
    ScalarType type;
    bool assignable;
  };

  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint32_t>(bound)); }

  ir::Value constant(ScalarType type) {
    if (type == ScalarType::Float32) return ir::Value::constant(type, 0.5 * below(5));
    return ir::Value::constant(type, below(4) - (type == ScalarType::Int32));
  }

  ir::Value value(ScalarType type) {
    std::vector<ir::Value> known;
    for (const Local &local : visible_)
      if (local.type == type) known.push_back(ir::Value::local(type, local.id));
    if (type == ScalarType::Int32) known.push_back(ir::Value::parameter(type, 3));
    if (type == ScalarType::Float32) known.push_back(ir::Value::parameter(type, 4));
    if (known.empty() || below(type == ScalarType::Bool ? 20 : 6) == 0) return constant(type);
    // The first ones more often, so that operations come up again.
    int choices = static_cast<int>(known.size());
    return known[static_cast<std::size_t>(below(2) ? below(choices) : below(std::min(choices, 2)))];
  }

  ir::LocalId define(ScalarType type, bool assignable) {
    visible_.push_back({next_, type, assignable});
    return next_++;
  }

  ir::Value let(ir::Operation operation, ir::Block &block) {
    ScalarType type = operation.type;
    ir::LocalId local = define(type, true);
    block.emplace_back(ir::Let{local, std::move(operation)}, SourceLocation());
    return ir::Value::local(type, local);
  }

  ScalarType any_type() {
    using enum ScalarType;
    constexpr ScalarType types[] = {Int32, Int32, Float32, Bool};
    return types[below(4)];
  }
  std::uint32_t any_array() { return static_cast<std::uint32_t>(std::max(0, below(5) - 2)); }
  ScalarType element_type(std::uint32_t array) { return array == 2 ? ScalarType::Float32 : ScalarType::Int32; }
  ir::Value index() {
    return below(4) ? ir::Value::constant(ScalarType::Int32, below(3) / 2) : value(ScalarType::Int32);
  }

  ir::Operation operation() {
    using ir::Op;
    ScalarType type = any_type();
    constexpr Op arithmetic[] = {Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::Add, Op::Sub};
    constexpr Op logic[] = {Op::And, Op::Or, Op::Xor};
    constexpr Op comparisons[] = {Op::Less, Op::GreaterEqual, Op::Equal, Op::NotEqual};
    switch (below(7)) {
      case 0:
      case 1:
      case 2: {
        std::uint32_t array = any_array();
        Op op = below(4) == 0 ? Op::Exchange : Op::Load;
        if (below(5) == 0) return atomic(array);
        return {op, element_type(array), {index()}, array, 0};
      }
      case 3: return {Op::Select, type, {value(ScalarType::Bool), value(type), value(type)}};
      case 4: {
        ScalarType compared = below(2) ? ScalarType::Int32 : ScalarType::Float32;
        return {comparisons[below(4)], ScalarType::Bool, {value(compared), value(compared)}};
      }
      default: break;
    }
    if (type == ScalarType::Bool) return {logic[below(3)], type, {value(type), value(type)}};
    return {arithmetic[below(7)], type, {value(type), value(type)}};
  }

  ir::Operation atomic(std::uint32_t array) {
    using ir::Op;
    constexpr Op operations[] = {Op::AtomicAdd, Op::AtomicMin,      Op::AtomicMax,
                                 Op::AtomicAdd, Op::AtomicExchange, Op::AtomicCompareExchange};
    ScalarType type = element_type(array);
    ir::Operation operation{operations[below(6)], type, {index(), value(type)}, array};
    if (operation.op == Op::AtomicCompareExchange) operation.operands.push_back(value(type));
    return operation;
  }

  void show(const Local &local, int at, ir::Block &block) {
    using enum ScalarType;
    ir::Value value = ir::Value::local(local.type, local.id);
    if (local.type == Bool) {
      block.emplace_back(ir::Let{next_, {ir::Op::Cast, Int32, {value}}}, SourceLocation());
      value = ir::Value::local(Int32, next_++);
    }
    block.emplace_back(ir::Accumulate{value.type() == Float32 ? 2u : 1u, {ir::Value::constant(Int32, at)}, value, true},
                       SourceLocation());
  }

  void block(int depth, int count, ir::Block &block) {
    for (; count > 0; --count) statement(depth, block);
  }

  ir::Block nested(int depth) {
    ir::Block nested;
    block(depth - 1, 2 + below(5), nested);
    return nested;
  }

  void statement(int depth, ir::Block &block) {
    if (!labels_.empty() && below(10) == 0) return jump(block);
    int choice = below(depth > 0 ? 27 : 22);
    if (choice < 18) return compute(block);
    if (choice < 22) return write(block);
    std::size_t outer = visible_.size();
    if (choice < 24) {
      ir::If branch{value(ScalarType::Bool), nested(depth), {}, {}};
      leave(outer);
      if (below(2)) branch.else_block = nested(depth);
      block.emplace_back(std::move(branch), SourceLocation());
    } else if (choice == 26) {
      labels_.push_back(next_label_++);
      ir::Labelled labelled{labels_.back(), nested(depth)};
      labels_.pop_back();
      block.emplace_back(std::move(labelled), SourceLocation());
    } else if (choice == 24) {
      ir::Value zero = ir::Value::constant(ScalarType::Int32, 0),
                end = below(2) ? ir::Value::constant(zero.type(), 2) : ir::Value::parameter(zero.type(), 3);
      ir::For loop{0, zero.type(), zero, end, ir::Value::constant(zero.type(), 1), {}, {}};
      loop.index = define(zero.type(), false);
      LoopLabels labels = open_loop();
      loop.body = labelled(labels.iteration, nested(depth));
      close_loop(labels, ir::Stmt(std::move(loop), SourceLocation()), block);
    } else {
      ir::While loop{{}, ir::Value::boolean(false), {}, {}};
      // The condition of a `while` does not change outer locals.
      std::size_t assigned_before = std::exchange(first_assigned_, outer);
      std::vector<ir::LabelId> around = std::exchange(labels_, {});
      loop.condition_block = nested(0);
      labels_ = std::move(around);
      loop.condition = value(ScalarType::Bool);
      first_assigned_ = assigned_before;
      LoopLabels labels = open_loop();
      loop.body = labelled(labels.iteration, nested(depth));
      close_loop(labels, ir::Stmt(std::move(loop), SourceLocation()), block);
    }
    leave(outer);
  }

  // `break` and `continue`, as the front end records them.
  struct LoopLabels {
    ir::LabelId whole, iteration;
  };

  LoopLabels open_loop() {
    LoopLabels labels{next_label_, next_label_ + 1};
    next_label_ += 2;
    labels_.push_back(labels.whole);
    labels_.push_back(labels.iteration);
    return labels;
  }

  void close_loop(LoopLabels labels, ir::Stmt loop, ir::Block &block) {
    labels_.resize(labels_.size() - 2);
    for (ir::Stmt &stmt : labelled(labels.whole, {std::move(loop)})) block.push_back(std::move(stmt));
  }

  static ir::Block labelled(ir::LabelId label, ir::Block body) {
    bool left = false;
    ir::for_each_statement(body, [&](const ir::Stmt &stmt) {
      if (auto *leave = stmt.as<ir::Leave>()) left = left || leave->label == label;
    });
    if (!left) return body;
    ir::Block block;
    block.emplace_back(ir::Labelled{label, std::move(body)}, SourceLocation());
    return block;
  }

  // Mostly for only some of the instances, by a condition.
  void jump(ir::Block &block) {
    ir::Stmt leave(ir::Leave{labels_[static_cast<std::size_t>(below(static_cast<int>(labels_.size())))]},
                   SourceLocation());
    if (below(6) == 0) return block.push_back(std::move(leave));
    ir::If branch{value(ScalarType::Bool), {}, {}, {}};
    branch.then_block.push_back(std::move(leave));
    block.emplace_back(std::move(branch), SourceLocation());
  }

  void leave(std::size_t outer) {
    visible_.erase(visible_.begin() + static_cast<std::ptrdiff_t>(outer), visible_.end());
  }

  // Mostly, computed values are also assigned to an earlier local, and so are visible after the block.
  void compute(ir::Block &block) {
    ir::Value result = below(4) ? let(operation(), block) : value(any_type());
    std::vector<ir::LocalId> choices;
    for (std::size_t i = first_assigned_; i < visible_.size(); ++i)
      if (visible_[i].assignable && visible_[i].type == result.type()) choices.push_back(visible_[i].id);
    if (choices.empty() || below(3) == 0) return;
    ir::LocalId target = choices[static_cast<std::size_t>(below(static_cast<int>(choices.size())))];
    block.emplace_back(ir::Assign{target, result}, SourceLocation());
  }

  void write(ir::Block &block) {
    std::uint32_t array = any_array();
    ir::Value to = index(), what = value(element_type(array));
    if (below(8) == 0) {
      ir::Message message{{"", " at ", ""}, {what, to}};
      if (below(2))
        block.emplace_back(ir::Print{std::move(message)}, SourceLocation());
      else
        block.emplace_back(ir::Check{value(ScalarType::Bool), std::move(message), {}}, SourceLocation());
      return;
    }
    if (below(3) == 0)
      block.emplace_back(ir::Accumulate{array, {to}, what, true}, SourceLocation());
    else
      block.emplace_back(ir::Store{array, {to}, what}, SourceLocation());
  }

  std::mt19937 random_;
  ir::Kernel kernel_;
  std::vector<Local> visible_;
  ir::LocalId next_ = 0;
  std::vector<ir::LabelId> labels_;  // that may be left here
  ir::LabelId next_label_ = 0;
  std::size_t first_assigned_ = 0;  // in `visible_`: those before may not be assigned here
};

}  // namespace samite::test
