// Random well-formed kernels, for tests of properties that hold for every kernel.
//
// Each uses the whole IR: every operation, statement, loop kind, type and kind of constant may occur, names need
// quotes, locals are numbered with gaps and out of order, and locations are present or not. One seed is one kernel, on
// every machine: nothing here depends on the standard library's distributions.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/ir/verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>

namespace samite::ir {

class RandomKernel {
 public:
  RandomKernel(std::uint32_t seed, Form form) : random_(seed), form_(form) {}

  Kernel make() {
    kernel_ = {};
    kernel_.name = pick({"step", "_a1", "two words", "\"quoted\\\"", "новый\n", "2d"});
    kernel_.launch_rank = 1 + below(maximum_rank);
    kernel_.where = location();
    make_parameters();
    free_ids_.resize(4000);
    std::iota(free_ids_.begin(), free_ids_.end(), 0u);
    for (std::size_t i = free_ids_.size(); i > 1; --i) std::swap(free_ids_[i - 1], free_ids_[random_() % i]);
    kernel_.body = block(3, 4 + below(12));
    kernel_.local_count = 4000;
    kernel_.local_array_count += static_cast<LocalArrayId>(below(3));
    return std::move(kernel_);
  }

 private:
  struct Visible {
    LocalId id;
    ScalarType type;
    bool assignable;
  };
  struct VisibleArray {
    LocalArrayId id;
    ScalarType type;
  };
  // The current scope, to return to it later.
  struct Scope {
    std::size_t locals, arrays;
  };

  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint32_t>(bound)); }
  bool chance(int percent) { return below(100) < percent; }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

  static constexpr ScalarType types[] = {
      ScalarType::Bool,     ScalarType::Int8,    ScalarType::Int16,  ScalarType::Int32,  ScalarType::Int64,
      ScalarType::UInt8,    ScalarType::UInt16,  ScalarType::UInt32, ScalarType::UInt64, ScalarType::Float16,
      ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64};

  static constexpr Op operations[] = {
#define SAMITE_ENUMERATOR(name, text, arity, typing, pure) Op::name,
      SAMITE_OPS(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
  };

  ScalarType any_type() { return types[below(std::size(types))]; }
  ScalarType arithmetic_type() { return types[1 + below(std::size(types) - 1)]; }
  ScalarType integer_type() { return types[1 + below(8)]; }
  ScalarType floating_type() {
    return pick({ScalarType::Float16, ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float64});
  }
  ScalarType index_type() { return pick({ScalarType::Int32, ScalarType::Int64}); }

  SourceLocation location() {
    if (chance(10)) return {};
    return {pick({"a.cpp", "dir with space/\"b\".cpp", "c\\d\t.cu", ""}), 1 + static_cast<std::uint32_t>(below(9999))};
  }

  void make_parameters() {
    // At least one array of floats that may be written, so that every statement has something to work on.
    kernel_.parameters.push_back({"out", ScalarType::Float32, 1 + below(maximum_rank)});
    for (int i = below(6); i > 0; --i) {
      std::string name = std::string(pick({"x", "value of ", "ж", "q\"", "_"})) + std::to_string(i);
      int rank = below(maximum_rank + 1);
      kernel_.parameters.push_back({name, any_type(), rank, rank > 0 && chance(40)});
      kernel_.parameters.back().distinct = rank > 0 && chance(30);
    }
    for (std::size_t i = 0, count = kernel_.parameters.size(); i < count; ++i) {
      Parameter primal = kernel_.parameters[i];
      if (!is_floating(primal.type) || chance(50)) continue;
      kernel_.parameters.push_back({primal.name + "_gradient", primal.type, std::max(primal.rank, 1), false,
                                    Role::Gradient, static_cast<std::uint32_t>(i)});
    }
  }

  LocalId fresh() {
    LocalId id = free_ids_.back();
    free_ids_.pop_back();
    return id;
  }

  Value constant(ScalarType type) {
    std::uint64_t bits = (std::uint64_t{random_()} << 32) | random_();
    if (!is_floating(type)) return Value::constant(type, std::bit_cast<std::int64_t>(chance(50) ? bits : bits % 10));
    if (chance(30)) return Value::constant(type, pick({0.0, -0.0, 1.0, 0.1, 1e30, -1e-40, HUGE_VAL, -HUGE_VAL}));
    if (type == ScalarType::Float64) return Value::from_bits(type, bits);
    return Value::constant(type, double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
  }

  Value value(ScalarType type) {
    std::vector<Value> choices;
    for (const Visible &local : visible_)
      if (local.type == type) choices.push_back(Value::local(type, local.id));
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i)
      if (!kernel_.parameters[i].is_array() && kernel_.parameters[i].type == type)
        choices.push_back(Value::parameter(type, static_cast<std::uint32_t>(i)));
    if (choices.empty() || chance(25)) return constant(type);
    return choices[below(static_cast<int>(choices.size()))];
  }

  std::vector<Value> values(ScalarType type, int count) {
    std::vector<Value> values;
    for (; count > 0; --count) values.push_back(value(type));
    return values;
  }

  std::uint32_t array(bool written) {
    for (;;) {
      auto index = static_cast<std::uint32_t>(below(static_cast<int>(kernel_.parameters.size())));
      const Parameter &parameter = kernel_.parameters[index];
      if (parameter.is_array() && !(written && (parameter.read_only || parameter.type == ScalarType::Bool)))
        return index;
    }
  }

  std::vector<Value> indices(std::uint32_t array) {
    std::vector<Value> indices;
    for (int i = 0; i < kernel_.parameters[array].rank; ++i) indices.push_back(value(index_type()));
    return indices;
  }

  Operation operation() {
    const auto op = static_cast<Op>(below(static_cast<int>(std::size(operations))));
    if (info(op).typing >= Typing::Coordinate) return operation();
    const int arity = info(op).arity < 0 ? 1 + below(5) : info(op).arity;
    if (op == Op::BitCast) return bit_cast();
    switch (info(op).typing) {
      case Typing::Same: return same(op, arithmetic_type(), arity);
      case Typing::Floating: return same(op, floating_type(), arity);
      case Typing::Integer: return same(op, integer_type(), arity);
      case Typing::Bits: return same(op, chance(50) ? ScalarType::Bool : integer_type(), arity);
      case Typing::Copy:
        if (op == Op::Unavailable && form_ == Form::lowered) return operation();
        if (op == Op::Unavailable) return {op, any_type(), {}, 0, below(100)};
        return same(op, any_type(), arity);
      case Typing::Compare: return {op, ScalarType::Bool, values(any_type(), 2)};
      case Typing::Cast: return {op, any_type(), values(any_type(), 1)};
      case Typing::Select: {
        ScalarType type = any_type();
        return {op, type, {value(ScalarType::Bool), value(type), value(type)}};
      }
      case Typing::Index: return {op, index_type(), {}, 0, below(kernel_.launch_rank)};
      case Typing::Extent: {
        std::uint32_t index = array(false);
        return {op, index_type(), {}, index, below(kernel_.parameters[index].rank)};
      }
      case Typing::LocalLoad: {
        if (arrays_.empty()) return same(Op::Copy, any_type(), 1);
        VisibleArray from = arrays_[below(static_cast<int>(arrays_.size()))];
        return {op, from.type, {value(index_type())}, from.id};
      }
      case Typing::Atomic: return atomic(op);
      default: break;
    }
    std::uint32_t index = array(op == Op::Exchange);
    return {op, kernel_.parameters[index].type, indices(index), index, op == Op::Exchange ? below(2) : 0};
  }

  Operation bit_cast() {
    const auto [from, to] =
        pick({std::pair{ScalarType::Float32, ScalarType::UInt32}, std::pair{ScalarType::Int64, ScalarType::Float64},
              std::pair{ScalarType::UInt16, ScalarType::Int16}});
    return {Op::BitCast, to, values(from, 1)};
  }

  Operation atomic(Op op) {
    std::uint32_t to = array(true);
    ScalarType type = kernel_.parameters[to].type;
    if (info(combination(op)).typing == Typing::Bits && is_floating(type)) op = Op::AtomicExchange;
    Operation operation{op, type, indices(to), to};
    for (int count = op == Op::AtomicCompareExchange ? 2 : 1; count > 0; --count)
      operation.operands.push_back(value(type));
    return operation;
  }

  Operation same(Op op, ScalarType type, int arity) { return {op, type, values(type, arity)}; }

  LocalId define(ScalarType type, bool assignable = false) {
    LocalId id = fresh();
    visible_.push_back({id, type, assignable});
    return id;
  }

  Block block(int depth, int count) {
    Block block;
    for (; count > 0; --count) block.push_back(statement(depth));
    return block;
  }

  Stmt statement(int depth) {
    if (form_ == Form::captured && !labels_.empty() && chance(8)) return leave_label();
    if (form_ == Form::captured && depth > 0 && chance(8)) return labelled(depth, location());
    int choice = below(depth > 0 ? 18 : 14);
    SourceLocation where = location();
    if (choice < 8) return let(where);
    if (choice == 8) return assign(where);
    if (choice < 12) return write(where);
    if (choice == 12) return allocate(where);
    if (choice == 13) return chance(60) ? local_store(where) : say(where);
    if (choice < 16) return branch(depth, where);
    return choice == 16 ? for_loop(depth, where) : while_loop(depth, where);
  }

  Stmt let(SourceLocation where) {
    Operation value = operation();
    LocalId id = define(value.type, true);
    return Stmt(Let{id, std::move(value)}, where);
  }

  Stmt assign(SourceLocation where) {
    std::vector<Visible> choices;
    for (const Visible &local : visible_)
      if (local.assignable) choices.push_back(local);
    if (form_ != Form::captured || choices.empty()) return let(where);
    Visible local = choices[below(static_cast<int>(choices.size()))];
    return Stmt(Assign{local.id, value(local.type)}, where);
  }

  Stmt write(SourceLocation where) {
    std::uint32_t to = array(true);
    ScalarType type = kernel_.parameters[to].type;
    if (chance(50)) return Stmt(Store{to, indices(to), value(type)}, where);
    return Stmt(Accumulate{to, indices(to), value(type), chance(50)}, where);
  }

  Stmt allocate(SourceLocation where) {
    // Constant: a local that holds a negative number would be an ill-formed size once it is folded.
    Value size = Value::constant(index_type(), below(9));
    arrays_.push_back({kernel_.local_array_count++, any_type()});
    return Stmt(Allocate{arrays_.back().id, arrays_.back().type, size}, where);
  }

  Stmt local_store(SourceLocation where) {
    if (arrays_.empty()) return allocate(where);
    VisibleArray to = arrays_[below(static_cast<int>(arrays_.size()))];
    return Stmt(LocalStore{to.id, value(index_type()), value(to.type)}, where);
  }

  Stmt say(SourceLocation where) {
    Message message;
    for (int i = below(4); i > 0; --i) {
      if (chance(50)) message.texts.back() += pick({"x = ", "\"", " \\n", "\t"});
      message.values.push_back(value(any_type()));
      message.texts.emplace_back();
    }
    if (chance(50)) message.texts.back() += "end";
    if (chance(50)) return Stmt(Print{std::move(message)}, where);
    const bool race = message.values.size() == 2;
    return Stmt(Check{value(ScalarType::Bool), std::move(message), {}, race}, where);
  }

  // Results and carried values: their types, and their values if `visible_` is in scope.
  std::vector<ScalarType> result_types() {
    std::vector<ScalarType> types;
    if (form_ == Form::captured && chance(60)) return types;  // so that jumps may cross the statement
    for (int i = below(4); i > 0; --i) types.push_back(any_type());
    return types;
  }

  std::vector<Value> values(const std::vector<ScalarType> &types) {
    std::vector<Value> values;
    for (ScalarType type : types) values.push_back(value(type));
    return values;
  }

  Stmt branch(int depth, SourceLocation where) {
    Value condition = value(ScalarType::Bool);
    std::vector<ScalarType> types = result_types();
    Scope outer = scope();
    Barrier barrier(*this, !types.empty());
    Block then_block = block(depth - 1, below(4));
    std::vector<Value> then_values = values(types);
    leave(outer);
    Block else_block = block(depth - 1, below(4));
    std::vector<Value> else_values = values(types);
    leave(outer);
    std::vector<BranchResult> results;
    for (std::size_t i = 0; i < types.size(); ++i)
      results.push_back({define(types[i]), types[i], then_values[i], else_values[i]});
    return Stmt(If{condition, std::move(then_block), std::move(else_block), std::move(results)}, where);
  }

  Stmt for_loop(int depth, SourceLocation where) {
    ScalarType type = integer_type();
    LoopKind kind = LoopKind::Serial;
    if (form_ == Form::lowered) kind = pick({LoopKind::Serial, LoopKind::Serial, LoopKind::Block, LoopKind::Thread});
    Value begin = value(type), end = value(type), step = value(type);
    if (kind != LoopKind::Serial)
      step = Value::constant(type, std::int64_t{kind == LoopKind::Thread ? 1 + below(4) : 1});
    else if (step.is_constant() && step.bits() == 0)
      step = Value::constant(type, std::int64_t{-1});
    std::vector<ScalarType> types = kind == LoopKind::Serial ? result_types() : std::vector<ScalarType>{};
    std::vector<Value> initial = values(types);
    Scope outer = scope();
    LocalId index = define(type);
    std::vector<LocalId> inner;
    for (ScalarType each : types) inner.push_back(define(each));
    Barrier barrier(*this, kind != LoopKind::Serial || !types.empty());
    Block body = block(depth - 1, below(5));
    std::vector<Value> next = values(types);
    leave(outer);
    return Stmt(For{index, type, begin, end, step, std::move(body), carried(types, inner, initial, next), kind}, where);
  }

  Stmt while_loop(int depth, SourceLocation where) {
    std::vector<ScalarType> types = result_types();
    std::vector<Value> initial = values(types);
    Scope outer = scope();
    std::vector<LocalId> inner;
    for (ScalarType each : types) inner.push_back(define(each));
    Block condition_block = condition(depth - 1);
    Value condition = value(ScalarType::Bool);
    Barrier barrier(*this, !types.empty());
    Block body = block(depth - 1, below(4));
    std::vector<Value> next = values(types);
    leave(outer);
    return Stmt(While{std::move(condition_block), condition, std::move(body), carried(types, inner, initial, next)},
                where);
  }

  Block condition(int depth) {
    Barrier barrier(*this, true);
    return block(depth, below(3));
  }

  // During its lifetime, and if it `holds`, no outer label is left.
  class Barrier {
   public:
    Barrier(RandomKernel &kernel, bool holds) : kernel_(kernel), outer_(kernel.labels_) {
      if (holds) kernel.labels_.clear();
    }
    ~Barrier() { kernel_.labels_ = outer_; }
    Barrier(const Barrier &) = delete;
    Barrier &operator=(const Barrier &) = delete;

   private:
    RandomKernel &kernel_;
    std::vector<LabelId> outer_;
  };

  Stmt labelled(int depth, SourceLocation where) {
    Scope outer = scope();
    labels_.push_back(next_label_ += static_cast<LabelId>(1 + below(3)));
    LabelId label = labels_.back();
    Block body = block(depth - 1, 1 + below(5));
    labels_.pop_back();
    leave(outer);
    return Stmt(Labelled{label, std::move(body)}, where);
  }

  Stmt leave_label() {
    return Stmt(Leave{labels_[static_cast<std::size_t>(below(static_cast<int>(labels_.size())))]}, location());
  }

  std::vector<Carried> carried(const std::vector<ScalarType> &types, const std::vector<LocalId> &inner,
                               const std::vector<Value> &initial, const std::vector<Value> &next) {
    std::vector<Carried> carried;
    for (std::size_t i = 0; i < types.size(); ++i)
      carried.push_back({inner[i], define(types[i]), types[i], initial[i], next[i]});
    return carried;
  }

  Scope scope() const { return {visible_.size(), arrays_.size()}; }

  void leave(Scope outer) {
    visible_.erase(visible_.begin() + static_cast<std::ptrdiff_t>(outer.locals), visible_.end());
    arrays_.erase(arrays_.begin() + static_cast<std::ptrdiff_t>(outer.arrays), arrays_.end());
  }

  std::mt19937 random_;
  Form form_;
  Kernel kernel_;
  std::vector<LocalId> free_ids_;
  std::vector<Visible> visible_;
  std::vector<VisibleArray> arrays_;
  std::vector<LabelId> labels_;  // that may be left here
  LabelId next_label_ = 0;
};

}  // namespace samite::ir
