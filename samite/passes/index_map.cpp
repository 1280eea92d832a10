#include "samite/passes/index_map.h"

#include "samite/ir/visit.h"

namespace samite::passes {
namespace {

using namespace ir;

// The extent of a dimension less a constant.
struct ExtentLess {
  ArrayDimension of;
  std::int64_t less;
};

class IndexAnalysis {
 public:
  explicit IndexAnalysis(const Kernel &kernel) : maps(kernel.local_count), extents_(kernel.local_count) {
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      if (!let || !is_integer(let->value.type)) return;
      maps[let->local] = map(let->value);
      extents_[let->local] = extent(let->value);
    });
  }

  std::vector<std::optional<IndexMap>> maps;

 private:
  template <class Known>
  static std::optional<Known> of(const Value &value, const std::vector<std::optional<Known>> &known) {
    return value.is_local() ? known[value.id()] : std::nullopt;
  }

  // Only widening casts keep different indices different.
  static bool widens(const Operation &operation) {
    return operation.op == Op::Cast && is_integer(operation.operands[0].type()) &&
           size_of(operation.type) >= size_of(operation.operands[0].type());
  }

  // The constant that an addition or subtraction adds to its other operand, which comes first.
  static std::optional<std::pair<Value, std::int64_t>> sum(const Operation &operation) {
    if (operation.op != Op::Add && operation.op != Op::Sub) return std::nullopt;
    const Value &a = operation.operands[0], &b = operation.operands[1];
    if (b.is_constant()) return std::pair{a, operation.op == Op::Add ? b.as_int() : -b.as_int()};
    if (operation.op == Op::Add && a.is_constant()) return std::pair{b, a.as_int()};
    return std::nullopt;
  }

  std::optional<IndexMap> map(const Operation &operation) const {
    if (operation.op == Op::ThreadIndex) return IndexMap{operation.attribute};
    if (widens(operation)) return of(operation.operands[0], maps);
    if (auto moved = sum(operation)) {
      auto base = of(moved->first, maps);
      if (!base || base->from_first || base->until) return std::nullopt;
      base->offset += moved->second;
      return base;
    }
    if (operation.op != Op::Max && operation.op != Op::Min) return std::nullopt;
    const Value &a = operation.operands[0], &b = operation.operands[1];
    auto base = of(a, maps);
    const Value &bound = base ? b : a;
    if (!base) base = of(b, maps);
    return base ? bounded(operation.op, *base, bound) : std::nullopt;
  }

  std::optional<IndexMap> bounded(Op op, IndexMap base, const Value &bound) const {
    if (op == Op::Max) {
      if (!bound.is_constant() || bound.as_int() != 0) return std::nullopt;
      base.from_first = true;
      return base;
    }
    const auto last = of(bound, extents_);
    if (!last || last->less != 1 || base.until) return std::nullopt;
    base.until = last->of;
    return base;
  }

  std::optional<ExtentLess> extent(const Operation &operation) const {
    if (operation.op == Op::Extent) return ExtentLess{{operation.array, operation.attribute}, 0};
    if (widens(operation)) return of(operation.operands[0], extents_);
    if (auto moved = sum(operation)) {
      auto base = of(moved->first, extents_);
      if (base) base->less -= moved->second;
      return base;
    }
    return std::nullopt;
  }

  std::vector<std::optional<ExtentLess>> extents_;
};

}  // namespace

std::vector<std::optional<IndexMap>> index_maps(const Kernel &structured) { return IndexAnalysis(structured).maps; }

}  // namespace samite::passes
