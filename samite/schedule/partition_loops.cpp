#include "samite/schedule/partition_loops.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/fold.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace samite::schedules {
namespace {

using namespace ir;

// Begin and middle end after a multiple of this many bytes: whole vectors, for any number of lanes.
constexpr std::int64_t largest_vector = 64;
// More statements than that are not copied.
constexpr std::size_t most_copied = 2000;

const Type index_type = ScalarType::Int32;
Value integer(std::int64_t value) { return Value::constant(index_type, value); }

class Partition {
 public:
  Partition(Kernel &kernel, const For &loop, SourceLocation where) : kernel_(kernel), loop_(loop), where_(where) {
    inside_.insert(loop.index);
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      ++statements_;
      if (const Let *let = stmt.as<Let>()) {
        lets_.emplace(let->local, let);
        if (let->value.op == Op::Load || let->value.op == Op::LocalLoad) touched(let->value.type);
      }
      if (const Store *store = stmt.as<Store>()) touched(store->value.type());
      if (const LocalStore *store = stmt.as<LocalStore>()) touched(store->value.type());
      for_each_definition(stmt, [&](LocalId local, Type) { inside_.insert(local); });
    });
  }

  // The parts, and the computation of their bounds; empty if no clamp depends on the loop's index.
  std::optional<Block> made() {
    if (statements_ > most_copied) return std::nullopt;
    for_each_statement(loop_.body, [&](const Stmt &stmt) {
      if (const Let *let = stmt.as<Let>()) look_at(*let);
    });
    if (instead_.empty()) return std::nullopt;
    const Value begin = loop_.begin, end = loop_.end;
    const Value lower = lower_ ? *lower_ : begin;
    const Value upper = upper_ ? (*this)(Op::Min, *upper_, end) : end;
    const bool one_vector = begin.is_constant() && end.is_constant() && end.as_int() - begin.as_int() <= unit();
    if (one_vector) {
      const Value from_begin = (*this)(Op::LessEqual, lower, begin), to_end = (*this)(Op::GreaterEqual, upper, end);
      If branch{(*this)(Op::And, from_begin, to_end), {}, {}, {}};
      branch.then_block.emplace_back(middle(begin, end), where_);
      branch.else_block.emplace_back(loop_, where_);
      found_.emplace_back(std::move(branch), where_);
      return std::move(found_);
    }
    const Value before = rounded(Op::Add, (*this)(Op::Max, (*this)(Op::Sub, lower, begin), integer(0)));
    const Value from = (*this)(Op::Min, (*this)(Op::Add, begin, before), end);
    const Value whole = rounded(Op::Copy, (*this)(Op::Max, (*this)(Op::Sub, upper, from), integer(0)));
    const Value all = (*this)(Op::GreaterEqual, upper, end);
    const Value to = made({Op::Select, index_type, {all, end, (*this)(Op::Add, from, whole)}});
    if (lower_ && from != begin) found_.emplace_back(copy(begin, from, {}), where_);
    found_.emplace_back(middle(from, to), where_);
    if (upper_ && to != end) found_.emplace_back(copy(to, end, {}), where_);
    return std::move(found_);
  }

 private:
  // A vector has as many lanes as the narrowest elements fill one with, and no fewer than 32 bits do.
  void touched(ScalarType type) {
    if (!is_floating(type)) narrowest_ = std::min(narrowest_, static_cast<std::int64_t>(size_of(type)));
  }
  std::int64_t unit() const { return largest_vector / narrowest_; }

  // Operations before the loop.
  Value made(Operation operation) {
    if (const auto folded = passes::fold(operation)) return *folded;
    const Type type = operation.type;
    found_.emplace_back(Let{kernel_.local_count, std::move(operation)}, where_);
    return Value::local(type, kernel_.local_count++);
  }
  Value operator()(Op op, Value a, Value b) {
    return made({op, info(op).typing == Typing::Compare ? Type(ScalarType::Bool) : a.type(), {a, b}});
  }
  // To a multiple of the unit, up or down.
  Value rounded(Op up, Value value) {
    if (up == Op::Add) value = (*this)(Op::Add, value, integer(unit() - 1));
    return (*this)(Op::And, value, integer(-unit()));
  }

  // The same value before the loop, if it does not depend on the loop.
  std::optional<Value> outside(const Value &value) {
    if (!value.is_local() || !inside_.contains(value.id())) return value;
    if (const auto known = outside_.find(value.id()); known != outside_.end()) return known->second;
    const auto let = lets_.find(value.id());
    if (let == lets_.end() || !info(let->second->value.op).pure) return std::nullopt;
    Operation operation = let->second->value;
    for (Value &operand : operation.operands) {
      const auto before = outside(operand);
      if (!before) return std::nullopt;
      operand = *before;
    }
    return outside_.insert_or_assign(value.id(), made(std::move(operation))).first->second;
  }

  // The least index for which an increasing integer is at least `bound`.
  std::optional<Value> first_at_least(const Value &value, const Value &bound) {
    if (!value.is_local()) return std::nullopt;
    if (value.id() == loop_.index) return bound;
    if (const auto instead = instead_.find(value.id()); instead != instead_.end())
      return first_at_least(instead->second, bound);
    const auto let = lets_.find(value.id());
    if (let == lets_.end() || value.type() != index_type) return std::nullopt;
    const Operation &of = let->second->value;
    if (of.operands.empty()) return std::nullopt;
    const Value &a = of.operands[0];
    if (of.op == Op::Copy) return first_at_least(a, bound);
    if (of.operands.size() != 2) return std::nullopt;
    const Value &b = of.operands[1];
    const auto known_a = outside(a), known_b = outside(b);
    if (known_a.has_value() == known_b.has_value()) return std::nullopt;
    switch (of.op) {
      case Op::Add:
        return known_b ? first_at_least(a, (*this)(Op::Sub, bound, *known_b))
                       : first_at_least(b, (*this)(Op::Sub, bound, *known_a));
      case Op::Sub:
        if (!known_b) return std::nullopt;
        return first_at_least(a, (*this)(Op::Add, bound, *known_b));
      case Op::Mul: {
        const Value &factor = known_b ? b : a;
        if (!factor.is_constant() || factor.as_int() < 1 || (factor.as_int() & (factor.as_int() - 1)) != 0)
          return std::nullopt;
        const Value up = (*this)(Op::Add, bound, integer(factor.as_int() - 1));
        return first_at_least(
            known_b ? a : b,
            (*this)(Op::ShiftRight, up, integer(__builtin_ctzll(static_cast<unsigned long long>(factor.as_int())))));
      }
      case Op::ShiftRight:
        if (!b.is_constant()) return std::nullopt;
        return first_at_least(a, (*this)(Op::ShiftLeft, bound, b));
      default: return std::nullopt;
    }
  }

  void at_least_from(const Value &first) { lower_ = lower_ ? (*this)(Op::Max, *lower_, first) : first; }
  void only_before(const Value &first) { upper_ = upper_ ? (*this)(Op::Min, *upper_, first) : first; }

  // In the middle a clamp equals one of its operands, and a comparison is true.
  void look_at(const Let &let) {
    const Op op = let.value.op;
    if (let.value.operands.size() != 2 || let.value.operands[0].type() != index_type) return;
    const bool clamp = op == Op::Min || op == Op::Max;
    const bool less = op == Op::Less || op == Op::LessEqual, greater = op == Op::Greater || op == Op::GreaterEqual;
    if (!clamp && !less && !greater) return;
    const Value &a = let.value.operands[0], &b = let.value.operands[1];
    const auto known_a = outside(a), known_b = outside(b);
    if (known_a.has_value() == known_b.has_value()) return;
    const Value &index = known_b ? a : b, known = known_b ? *known_b : *known_a;
    const bool below = op == Op::Min || (less && known_b) || (greater && known_a);
    // Below: index <= known, or index < known. Else index >= known, or index > known.
    const bool strict = op == Op::Less || op == Op::Greater;
    const Value bound = strict != below ? (*this)(Op::Add, known, integer(1)) : known;
    const auto first = first_at_least(index, bound);
    if (!first) return;
    if (below)
      only_before(*first);
    else
      at_least_from(*first);
    instead_.insert_or_assign(let.local, clamp ? index : Value::boolean(true));
  }

  // The loop with other bounds and some values replaced.
  For copy(const Value &begin, const Value &end, const std::unordered_map<LocalId, Value> &instead) {
    std::unordered_map<LocalId, LocalId> locals;
    std::unordered_map<LocalArrayId, LocalArrayId> arrays;
    const auto local = [&](LocalId id) {
      const auto [made, fresh] = locals.emplace(id, kernel_.local_count);
      if (fresh) ++kernel_.local_count;
      return made->second;
    };
    For made = loop_;
    made.begin = begin;
    made.end = end;
    made.index = local(loop_.index);
    for_each_statement(loop_.body, [&](const Stmt &stmt) {
      if (const Allocate *allocate = stmt.as<Allocate>()) arrays.emplace(allocate->array, kernel_.local_array_count++);
    });
    passes::Renaming renaming;
    renaming.value = [&](const Value &value) {
      if (!value.is_local() || !inside_.contains(value.id())) return value;
      Value of = value;
      for (auto other = instead.find(of.id()); other != instead.end();
           other = of.is_local() ? instead.find(of.id()) : instead.end())
        of = other->second;
      return of.is_local() && inside_.contains(of.id()) ? Value::local(of.type(), local(of.id())) : of;
    };
    renaming.local = local;
    renaming.local_array = [&](LocalArrayId id) { return arrays.contains(id) ? arrays.at(id) : id; };
    renaming.statement = [&](const Stmt &before, Stmt renamed) -> Block {
      const Let *let = before.as<Let>();
      if (let && instead.contains(let->local)) return {};
      return {std::move(renamed)};
    };
    made.body = passes::renamed(loop_.body, renaming);
    return made;
  }
  For middle(const Value &begin, const Value &end) { return copy(begin, end, instead_); }

  Kernel &kernel_;
  const For &loop_;
  SourceLocation where_;
  std::size_t statements_ = 0;
  std::int64_t narrowest_ = 4;
  std::unordered_set<LocalId> inside_;
  std::unordered_map<LocalId, const Let *> lets_;
  std::unordered_map<LocalId, Value> outside_, instead_;
  std::optional<Value> lower_, upper_;
  Block found_;
};

}  // namespace

void partition_loops(Kernel &kernel) {
  kernel.body = passes::rewrite(kernel.body, [&](const Stmt &stmt, Block &block) {
    const For *loop = stmt.as<For>();
    const bool of_vectors = loop && loop->kind == LoopKind::Thread && loop->type == index_type &&
                            loop->carried.empty() && loop->step == integer(1);
    auto pieces = of_vectors ? Partition(kernel, *loop, stmt.where()).made() : std::nullopt;
    if (!pieces) return block.push_back(stmt);
    for (Stmt &piece : *pieces) block.push_back(std::move(piece));
  });
}

}  // namespace samite::schedules
