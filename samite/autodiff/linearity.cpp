#include "samite/autodiff/linearity.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <unordered_map>

namespace samite::autodiff {
namespace {

using namespace ir;

// A value's dependence on the cotangents. Zero is both a number and linear.
enum class Degree : std::uint8_t { Zero, Number, Linear, Other };

// For a sum, or for a value that is one or the other.
Degree join(Degree a, Degree b) {
  if (a == Degree::Zero || a == b) return b;
  return b == Degree::Zero ? a : Degree::Other;
}

Degree product(Degree a, Degree b) {
  if (a == Degree::Zero || b == Degree::Zero) return Degree::Zero;
  if (a == Degree::Number) return b;
  return b == Degree::Number ? a : Degree::Other;
}

bool is_number(Degree degree) { return degree == Degree::Zero || degree == Degree::Number; }

class Degrees {
 public:
  explicit Degrees(const CustomAdjoint &custom) {
    for (const CustomResult &result : custom.results) of_local_[result.cotangent] = Degree::Linear;
    do {
      changed_ = false;
      block(custom.adjoint);
    } while (changed_);
  }

  Degree of(const Value &value) const {
    if (value.is_constant()) return value.is_constant(0.0) ? Degree::Zero : Degree::Number;
    auto known = value.is_local() ? of_local_.find(value.id()) : of_local_.end();
    return known == of_local_.end() ? Degree::Number : known->second;
  }

  std::optional<SourceLocation> blame;

 private:
  // Degrees only go up, so that the iteration over loops ends.
  void set(Degree &degree, Degree more, SourceLocation where) {
    if (steered_ && more != Degree::Zero) more = Degree::Other;
    const Degree joined = join(degree, more);
    if (joined == Degree::Other && !blame) blame = where;
    changed_ = changed_ || joined != degree;
    degree = joined;
  }
  void set(LocalId local, Degree degree, SourceLocation where) { set(of_local_[local], degree, where); }

  void block(const Block &statements) {
    for (const Stmt &stmt : statements) {
      const SourceLocation where = stmt.where();
      visit(
          stmt, [&](const Let &let) { set(let.local, of(let.value), where); },
          [&](const Accumulate &accumulate) {
            const Degree added = of(accumulate.value);
            const bool linear = added == Degree::Linear && !steered_ && numbers(accumulate.indices);
            if (!linear && added != Degree::Zero && !blame) blame = where;
          },
          [&](const LocalStore &store) {
            set(of_array_[store.array], is_number(of(store.index)) ? of(store.value) : Degree::Other, where);
          },
          [&](const If &branch) {
            steered(!is_number(of(branch.condition)), [&] { block(branch.then_block), block(branch.else_block); });
            steered(!is_number(of(branch.condition)), [&] {
              for (const BranchResult &result : branch.results)
                set(result.local, join(of(result.then_value), of(result.else_value)), where);
            });
          },
          [&](const For &loop) {
            steered(!numbers({loop.begin, loop.end, loop.step}),
                    [&] { carried(loop.carried, where, [&] { block(loop.body); }); });
          },
          [&](const While &loop) {
            carried(loop.carried, where, [&] {
              block(loop.condition_block);
              steered(!is_number(of(loop.condition)), [&] { block(loop.body); });
            });
          },
          [](const auto &) {});
    }
  }

  template <class F>
  void steered(bool by_cotangents, const F &f) {
    const bool outer = steered_;
    steered_ = steered_ || by_cotangents;
    f();
    steered_ = outer;
  }

  template <class F>
  void carried(const std::vector<Carried> &values, SourceLocation where, const F &iteration) {
    for (const Carried &value : values) set(value.inner, of(value.initial), where);
    iteration();
    for (const Carried &value : values) {
      set(value.inner, of(value.next), where);
      set(value.result, of_local_[value.inner], where);
    }
  }

  bool numbers(const std::vector<Value> &values) const {
    return std::ranges::all_of(values, [&](const Value &value) { return is_number(of(value)); });
  }

  Degree of(const Operation &operation) {
    const auto &operands = operation.operands;
    if (operation.op == Op::LocalLoad && numbers(operands)) return of_array_[operation.array];
    if (numbers(operands)) return Degree::Number;
    switch (operation.op) {
      case Op::Copy:
      case Op::Neg:
      case Op::StopGradient: return of(operands[0]);
      case Op::Cast: return is_floating(operation.type) ? of(operands[0]) : Degree::Other;
      case Op::Add:
      case Op::Sub: return join(of(operands[0]), of(operands[1]));
      case Op::Mul: return product(of(operands[0]), of(operands[1]));
      case Op::Div: return is_number(of(operands[1])) ? of(operands[0]) : Degree::Other;
      case Op::Select: return is_number(of(operands[0])) ? join(of(operands[1]), of(operands[2])) : Degree::Other;
      default: return Degree::Other;
    }
  }

  std::unordered_map<LocalId, Degree> of_local_;
  std::unordered_map<LocalArrayId, Degree> of_array_;
  bool changed_ = false, steered_ = false;
};

}  // namespace

std::optional<SourceLocation> nonlinear_in_cotangents(const CustomAdjoint &custom, SourceLocation where) {
  const Degrees degrees(custom);
  if (degrees.blame) return degrees.blame;
  for (const CustomOperand &each : custom.operands)
    if (degrees.of(each.gradient) == Degree::Number) return where;
  return std::nullopt;
}

}  // namespace samite::autodiff
