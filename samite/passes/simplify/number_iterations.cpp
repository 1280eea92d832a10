#include "samite/passes/simplify/number_iterations.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

using Wide = __int128;

std::pair<Wide, Wide> numbers_of(ScalarType type) {
  const int bits = static_cast<int>(size_of(type)) * 8;
  if (class_of(type) == ScalarClass::Signed) return {-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1};
  return {0, (Wide{1} << bits) - 1};
}

Wide number_of(const Value &constant) {
  if (class_of(constant.type().element()) == ScalarClass::Unsigned)
    return static_cast<std::uint64_t>(constant.as_int()) &
           static_cast<std::uint64_t>(numbers_of(constant.type().element()).second);
  return constant.as_int();
}

class Numbering {
 public:
  explicit Numbering(const Kernel &captured) : build_(captured.local_count), kernel_(captured) {}

  Kernel run() {
    find_constants();
    Kernel kernel = kernel_;
    kernel.body = rewritten(kernel_.body);
    kernel.local_count = build_.local_count();
    return kernel;
  }

 private:
  // The bounds of a range are locals that copy the user's values.
  void find_constants() {
    constant_.resize(kernel_.local_count);
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      auto *let = stmt.as<Let>();
      if (let && let->value.op == Op::Copy && let->value.operands[0].is_constant())
        constant_[let->local] = let->value.operands[0];
    });
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      if (auto *assign = stmt.as<Assign>()) constant_[assign->local] = std::nullopt;
    });
  }
  Value known(const Value &value) const {
    return value.is_local() && value.id() < constant_.size() && constant_[value.id()] ? *constant_[value.id()] : value;
  }

  bool stays_in_type(const For &loop) const {
    if (loop.kind != LoopKind::Serial || !loop.step.is_constant()) return true;
    const Wide step = loop.step.as_int();
    if (step == 1 || step == -1) return true;
    const Value begin = known(loop.begin), end = known(loop.end);
    if (!begin.is_constant() || !end.is_constant()) return false;
    const Wide first = number_of(begin), last = number_of(end), size = step < 0 ? -step : step;
    const Wide distance = step > 0 ? last - first : first - last;
    const Wide after = distance <= 0 ? first : first + (distance + size - 1) / size * step;
    const auto [least, most] = numbers_of(loop.type.element());
    return after >= least && after <= most;
  }

  Block rewritten(const Block &block) {
    Block outer = build_.open();
    for (const Stmt &stmt : block) {
      build_.at(stmt.where());
      rewrite(stmt);
    }
    return build_.close(std::move(outer));
  }

  void rewrite(const Stmt &stmt) {
    visit(
        stmt,
        [&](const For &loop) {
          if (!stays_in_type(loop)) return number(loop, stmt.where());
          rewrite_blocks(stmt);
        },
        [&](Labelled labelled) {
          labelled.body = rewritten(labelled.body);
          build_.append({std::move(labelled), stmt.where()});
        },
        [&](CustomAdjoint custom) {
          for (Block *nested : {&custom.primal, &custom.replay, &custom.adjoint}) *nested = rewritten(*nested);
          build_.append({std::move(custom), stmt.where()});
        },
        [&](AdjointCall call) {
          call.primal = rewritten(call.primal);
          build_.append({std::move(call), stmt.where()});
        },
        [&](const auto &) { rewrite_blocks(stmt); });
  }
  void rewrite_blocks(const Stmt &stmt) {
    build_.append(with_blocks(stmt, [&](const Block &inner) { return rewritten(inner); }));
  }

  void number(const For &loop, SourceLocation where) {
    const ScalarType type = loop.type.element();
    const Value begin = known(loop.begin), end = known(loop.end);
    const ScalarType counter = type_of_counter(loop, begin);
    const Value zero = Value::zero(counter), one = Value::constant(counter, 1);
    const Value trips = count(loop, begin, end, counter);
    For numbered{build_.new_local(), counter, zero, trips, one, {}, loop.carried, loop.kind, loop.stages};
    Block outer = build_.open();
    const Value moved = build_(Op::Mul, {build_.cast(type, Value::local(counter, numbered.index)), loop.step});
    build_.append({Let{loop.index, {Op::Add, loop.type, {begin, moved}}}, where});
    for (const Stmt &stmt : loop.body) {
      build_.at(stmt.where());
      rewrite(stmt);
    }
    numbered.body = build_.close(std::move(outer));
    build_.append({std::move(numbered), where});
  }

  // Between two i32 there are fewer than 2^31 steps of 3 or more, but possibly 2^31 steps of 2.
  ScalarType type_of_counter(const For &loop, const Value &begin) const {
    const ScalarType type = loop.type.element();
    if (class_of(type) != ScalarClass::Signed || size_of(type) != 4) return ScalarType::Int64;
    const std::int64_t step = loop.step.as_int();
    const auto [least, most] = numbers_of(type);
    const bool begins_inside = begin.is_constant() && number_of(begin) != (step > 0 ? least : most);
    return step > 2 || step < -2 || begins_inside ? ScalarType::Int32 : ScalarType::Int64;
  }

  // ceil((end - begin) / step), or none.
  Value count(const For &loop, const Value &begin, const Value &end, ScalarType counter) {
    const ScalarType type = loop.type.element(), wide = size_of(type) > 4 ? ScalarType::UInt64 : ScalarType::UInt32;
    const bool down = loop.step.as_int() < 0;
    auto constant = [&](std::uint64_t number) { return Value::constant(wide, static_cast<std::int64_t>(number)); };
    const auto step = static_cast<std::uint64_t>(loop.step.as_int()), size = down ? std::uint64_t{0} - step : step;
    const Value from = build_.cast(wide, down ? end : begin), to = build_.cast(wide, down ? begin : end);
    const Value distance = build_(Op::Sub, {build_(Op::Sub, {to, from}), constant(1)});
    Value before = build_(Op::Div, {distance, constant(size)});  // iterations before the last one
    if (wide == ScalarType::UInt64) {
      constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
      before = build_(Op::Min, {before, constant(most - 1)});
    }
    const Value trips = build_(Op::Add, {build_.cast(counter, before), Value::constant(counter, 1)});
    const Value any = build_(down ? Op::Greater : Op::Less, {begin, end});
    return build_.select(any, trips, Value::zero(counter));
  }

  Builder build_;
  const Kernel &kernel_;
  std::vector<std::optional<Value>> constant_;  // by local: its constant value
};

}  // namespace

Kernel number_iterations(const Kernel &captured) {
  bool any = false;
  for_each_statement(captured.body, [&](const Stmt &stmt) {
    auto *loop = stmt.as<For>();
    any = any || (loop && !(loop->step.is_constant() && (loop->step.as_int() == 1 || loop->step.as_int() == -1)));
  });
  return any ? Numbering(captured).run() : captured;
}

}  // namespace samite::passes
